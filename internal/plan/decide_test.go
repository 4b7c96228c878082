package plan_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		old, candidate string
		score          float64
		want           plan.Action
		why            string
	}{
		{"The user prefers tabs", "The user prefers tabs.", 1, plan.Noop, plan.ReasonExactDuplicate},
		{"The user prefers tabs in Go code", "The user prefers tabs in the Go code", 0.97, plan.Noop, plan.ReasonNearDuplicate},
		{"We use Postgres 14", "We use Postgres 15", 0.97, plan.Update, plan.WhyChangedValue},
		{"We use Postgres", "We use Postgres 15", 0.7, plan.Update, plan.WhyChangedValue},
		{"We use Postgres 15", "We use Postgres", 0.7, plan.Noop, plan.ReasonNearDuplicate},
		{"We use Postgres 14", "We use Redis 7", 0.5, plan.Add, ""},
		{"We use Redis", "We use Postgres", 0.5, plan.Add, ""},
		{"We use Redis for caching", "We use Memcached for caching", 0.7, plan.Update, plan.WhyChangedValue},
		{"The user prefers tabs", "The user prefers spaces", 0.6, plan.Update, plan.WhyChangedValue},
		{"The user prefers tabs", "The user prefers dark mode", 0.6, plan.Add, ""},
		{"The user prefers Python", "The user prefers Berlin", 0.6, plan.Add, ""},
		{"The user prefers tabs over spaces", "The user prefers spaces over tabs", 0.97, plan.Update, plan.WhyChangedValue},
		{"The user prefers Go for services", "The user prefers Rust for services", 0.7, plan.Update, plan.WhyChangedValue},
		{"The user's name is Tom", "The user's name is Tim", 0.7, plan.Update, plan.WhyChangedValue},
		{"The user's name is Tim", "The user's name is Timothy", 0.7, plan.Update, plan.WhyChangedValue},
		{"The user lives in Berlin", "I live in Hamburg", 0.5, plan.Update, plan.WhyChangedValue},
		{"The user works at Acme as an engineer", "The user works at Acme", 0.8, plan.Noop, plan.ReasonNearDuplicate},
		{"The user works at Acme", "The user works at Globex", 0.8, plan.Update, plan.WhyChangedValue},
		{"The user likes tea", "The user does not like tea", 0.9, plan.Update, plan.WhyContradicted},
		{"The user does not like tea", "The user likes tea", 0.9, plan.Update, plan.WhyContradicted},
		{"The user likes long walks on the beach", "The user likes long walks on the beach at sunset", 0.8, plan.Update, plan.WhyRefined},
		{"The user likes tea", "The user likes coffee", 0.6, plan.Update, plan.WhyChangedValue},
		{"The user likes hiking", "The user likes chess", 0.6, plan.Add, ""},
		{"Our database is Postgres", "Our database is MySQL", 0.6, plan.Update, plan.WhyChangedValue},
		{"The API is at https://a.example.com", "The API is at https://b.example.com", 0.8, plan.Update, plan.WhyChangedValue},
		{"The API is slow on Mondays", "The API is at https://b.example.com", 0.4, plan.Add, ""},
		{"用户叫张三", "用户叫李四", 0.5, plan.Update, plan.WhyChangedValue},
		{"用户住在北京", "用户住在上海", 0.6, plan.Update, plan.WhyChangedValue},
		{"用户住在北京海淀", "用户住在北京", 0.8, plan.Noop, plan.ReasonNearDuplicate},
		{"用户喜欢喝茶", "用户不喜欢喝茶", 0.9, plan.Update, plan.WhyContradicted},
		{"用户喜欢喝茶", "用户喜欢喝茶，尤其是龙井茶", 0.7, plan.Update, plan.WhyRefined},
		{"用户喜欢茶", "用户喜欢喝奶茶和果汁", 0.6, plan.Add, ""},
		{"用户喜欢爬山", "用户喜欢下棋", 0.6, plan.Add, ""},
		{"项目用的是 Postgres 14", "项目用的是 Postgres 15", 0.9, plan.Update, plan.WhyChangedValue},
		{"我们的数据库是 MySQL", "我们的数据库是 Postgres", 0.7, plan.Update, plan.WhyChangedValue},
		{"用户在腾讯工作", "用户在阿里工作", 0.7, plan.Update, plan.WhyChangedValue},
		{"Deploys run on Fly.io", "Deployment runs on Render", 0.6, plan.Update, plan.WhyChangedValue},
		{"The build needs Node 18", "The build needs Node 20", 0.96, plan.Add, ""}, // an unknown subject is never overwritten
	} {
		t.Run(tt.old+" / "+tt.candidate, func(t *testing.T) {
			old := &memory.Memory{ID: "m1", Revision: 7, Category: memory.General, Content: tt.old, Status: memory.Active}
			view := fakeView{"m1": old}
			c := plan.Item{Memory: memory.Memory{Content: tt.candidate, Category: memory.General}}
			got := plan.Decide(c, []plan.Neighbour{{Memory: old, Score: tt.score}})
			if got.Action != tt.want || got.Why != tt.why {
				t.Fatalf("got %s %s, want %s %s", got.Action, got.Why, tt.want, tt.why)
			}
			accepted, rejected := plan.Guard(plan.Plan{Items: []plan.Item{got}}, view)
			if len(rejected) != 0 || accepted.Items[0].Action != tt.want {
				t.Errorf("the guard disagrees: %+v %+v", accepted.Items, rejected)
			}
		})
	}
}

func TestDecideNeverReachesForInactiveMemories(t *testing.T) {
	old := &memory.Memory{ID: "m1", Category: memory.General, Content: "We use Postgres 14", Status: memory.Retired}
	got := plan.Decide(plan.Item{Memory: memory.Memory{Content: "We use Postgres 14", Category: memory.General}}, []plan.Neighbour{{old, 1}})
	if got.Action != plan.Add {
		t.Errorf("got %s", got.Action)
	}
}

// TestDecideRefinements: a statement about the same subject changes the memory that is there, one about another is new.
func TestDecideRefinements(t *testing.T) {
	for _, tt := range []struct {
		old, candidate string
		want           plan.Action
	}{
		{"The staging database is Postgres 15", "The staging database is Postgres 16", plan.Update},
		{"The staging db is Postgres 15", "Our staging database is now Postgres 16", plan.Update},
		{"The production database is Postgres 15", "The staging database is Postgres 15", plan.Add},
		{"The production database is Postgres 15", "The database is Postgres 16", plan.Add},
		{"The staging database is Postgres 15", "The staging database is down", plan.Add},
		{"The staging database is Postgres 15", "The staging database is backed up every night", plan.Add},
		{"The staging database is Postgres 15", "The staging server is eu-2", plan.Add},
		{"The staging database is Postgres 15", "The staging database runs on perch", plan.Add},
		{"deploys run on Tuesday", "deploys run on Thursday", plan.Update},
		{"Deploys run on Tuesdays", "Deploys happen on Thursdays", plan.Update},
		{"Deploys run on Fly.io", "Deploys run on Thursday", plan.Add},
		{"Deploys run on Tuesday", "Backups run on Thursday", plan.Add},
		{"The API port is 8443", "The API port is 9443", plan.Update},
		{"The API listens on port 8443", "The API listens on port 9443", plan.Update},
		{"The API port is 8443", "The metrics port is 9443", plan.Add},
		{"We use Postgres", "We use Postgres 16 with pgvector", plan.Update},
		{"We use Postgres", "We use Postgres with pgvector", plan.Update},
		{"We use Postgres 16 with pgvector", "We use Postgres 16", plan.Noop},
		{"We use Redis", "We use Redis Sentinel", plan.Add},
		{"I prefer tabs", "I prefer spaces", plan.Update},
		{"The user prefers tabs", "The user prefers spaces", plan.Update},
		{"I prefer tabs", "My colleague prefers spaces", plan.Add},
		{"The user lives in Berlin", "I moved to Lisbon", plan.Update},
		{"The user prefers small commits with an imperative subject line, no emoji in commit messages",
			"The user likes small commits with imperative subjects and no emoji in the commit messages", plan.Noop},
		{"The user prefers small commits with an imperative subject line, no emoji in commit messages", "The user likes small commits with a long body", plan.Add},
		{"The user likes tea", "The user likes tea ceremonies", plan.Add},

		{"我住在北京", "我搬到上海了", plan.Update},
		{"用户住在北京", "用户住在上海", plan.Update},
		{"用户住在北京", "用户在上海出差", plan.Add},
		{"测试环境的数据库是 Postgres 15", "测试环境的数据库是 Postgres 16", plan.Update},
		{"测试数据库是 Postgres 15", "测试环境的数据库升级到 Postgres 16 了", plan.Update},
		{"生产数据库是 Postgres 15", "测试数据库是 Postgres 15", plan.Add},
		{"生产数据库是 Postgres 15", "生产数据库挂了", plan.Add},
		{"我们周二发版", "我们周四发版", plan.Update},
		{"接口端口是 8443", "接口端口是 9443", plan.Add}, // which port this is is not understood
		{"我们的端口是 8443", "我们的端口改成了 9443", plan.Update},
		{"我们用 Postgres", "我们用 Postgres 16，带 pgvector", plan.Update},
		{"用户喜欢用空格", "用户喜欢用制表符", plan.Update},
		{"用户喜欢用空格", "用户的同事喜欢用制表符", plan.Add},
	} {
		t.Run(tt.old+" / "+tt.candidate, func(t *testing.T) {
			old := &memory.Memory{ID: "m1", Revision: 7, Category: memory.Facts, Content: tt.old, Status: memory.Active}
			got := plan.Decide(plan.Item{Memory: memory.Memory{Content: tt.candidate, Category: memory.Facts}}, []plan.Neighbour{{Memory: old, Score: 0.8}})
			if got.Action != tt.want || tt.want != plan.Add && (got.Target != "m1" || got.TargetRevision != 7) {
				t.Fatalf("got %s %s of %q, want %s", got.Action, got.Why, got.Target, tt.want)
			}
			_, rejected := plan.Guard(plan.Plan{Items: []plan.Item{got}}, fakeView{"m1": old})
			if len(rejected) != 0 {
				t.Errorf("the guard refuses it: %+v", rejected)
			}
		})
	}
}
