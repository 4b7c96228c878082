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
