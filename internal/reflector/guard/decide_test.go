package guard_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		old, candidate string
		score          float64
		want           guard.Action
		why            string
	}{
		{"The user prefers tabs", "The user prefers tabs.", 1, guard.Noop, guard.ReasonExactDuplicate},
		{"The user prefers tabs in Go code", "The user prefers tabs in the Go code", 0.97, guard.Noop,
			guard.ReasonNearDuplicate},
		{"We use Postgres 14", "We use Postgres 15", 0.97, guard.Update, guard.ReasonChangedValue},
		{"We use Postgres", "We use Postgres 15", 0.7, guard.Update, guard.ReasonChangedValue},
		{"We use Postgres 15", "We use Postgres", 0.7, guard.Noop, guard.ReasonNearDuplicate},
		{"We use Postgres 14", "We use Redis 7", 0.5, guard.Add, ""},
		{"We use Redis", "We use Postgres", 0.5, guard.Add, ""},
		{"We use Redis for caching", "We use Memcached for caching", 0.7, guard.Update, guard.ReasonChangedValue},
		{"The user prefers tabs", "The user prefers spaces", 0.6, guard.Update, guard.ReasonChangedValue},
		{"The user prefers tabs", "The user prefers dark mode", 0.6, guard.Add, ""},
		{"The user prefers Python", "The user prefers Berlin", 0.6, guard.Add, ""},
		{"The user prefers tabs over spaces", "The user prefers spaces over tabs", 0.97, guard.Update,
			guard.ReasonChangedValue},
		{"The user prefers Go for services", "The user prefers Rust for services", 0.7, guard.Update,
			guard.ReasonChangedValue},
		{"The user's name is Tom", "The user's name is Tim", 0.7, guard.Update, guard.ReasonChangedValue},
		{"The user's name is Tim", "The user's name is Timothy", 0.7, guard.Update, guard.ReasonChangedValue},
		{"The user lives in Berlin", "I live in Hamburg", 0.5, guard.Update, guard.ReasonChangedValue},
		{"The user works at Acme as an engineer", "The user works at Acme", 0.8, guard.Noop, guard.ReasonNearDuplicate},
		{"The user works at Acme", "The user works at Globex", 0.8, guard.Update, guard.ReasonChangedValue},
		{"The user likes tea", "The user does not like tea", 0.9, guard.Update, guard.ReasonContradicted},
		{"The user does not like tea", "The user likes tea", 0.9, guard.Update, guard.ReasonContradicted},
		{"The user likes long walks on the beach", "The user likes long walks on the beach at sunset", 0.8,
			guard.Update, guard.ReasonRefined},
		{"The user likes long walks", "The user likes long walks, but not in the rain", 0.8, guard.Update,
			guard.ReasonRefined},
		{"用户喜欢爬山", "用户喜欢爬山，但是不喜欢露营", 0.8, guard.Update, guard.ReasonRefined},
		{"The user likes long walks", "The user likes no long walks in the rain", 0.8, guard.Add, ""},
		{"The user likes tea", "The user likes coffee", 0.6, guard.Update, guard.ReasonChangedValue},
		{"The user likes hiking", "The user likes chess", 0.6, guard.Add, ""},
		{"Our database is Postgres", "Our database is MySQL", 0.6, guard.Update, guard.ReasonChangedValue},
		{"The API is at https://a.example.com", "The API is at https://b.example.com", 0.8, guard.Update,
			guard.ReasonChangedValue},
		{"The API is slow on Mondays", "The API is at https://b.example.com", 0.4, guard.Add, ""},
		{"用户叫张三", "用户叫李四", 0.5, guard.Update, guard.ReasonChangedValue},
		{"用户住在北京", "用户住在上海", 0.6, guard.Update, guard.ReasonChangedValue},
		{"用户住在北京海淀", "用户住在北京", 0.8, guard.Noop, guard.ReasonNearDuplicate},
		{"用户喜欢喝茶", "用户不喜欢喝茶", 0.9, guard.Update, guard.ReasonContradicted},
		{"用户喜欢喝茶", "用户喜欢喝茶，尤其是龙井茶", 0.7, guard.Update, guard.ReasonRefined},
		{"用户喜欢茶", "用户喜欢喝奶茶和果汁", 0.6, guard.Add, ""},
		{"用户喜欢爬山", "用户喜欢下棋", 0.6, guard.Add, ""},
		{"项目用的是 Postgres 14", "项目用的是 Postgres 15", 0.9, guard.Update, guard.ReasonChangedValue},
		{"我们的数据库是 MySQL", "我们的数据库是 Postgres", 0.7, guard.Update, guard.ReasonChangedValue},
		{"用户在腾讯工作", "用户在阿里工作", 0.7, guard.Update, guard.ReasonChangedValue},
		{"Deploys run on Fly.io", "Deployment runs on Render", 0.6, guard.Update, guard.ReasonChangedValue},
		// what is measured or dated has one value at a time
		{"The API gateway listens on port 7001", "The API gateway listens on port 7002", 0.9, guard.Update, guard.ReasonChangedValue},
		{"Our staging server runs Ubuntu 22.04", "Our staging server runs Ubuntu 24.04", 0.9, guard.Update, guard.ReasonChangedValue},
		{"The build needs Node 18", "The build needs Node 20", 0.96, guard.Update, guard.ReasonChangedValue},
		{"The build needs Node 18", "The build needs Python 3", 0.8, guard.Add, ""},
		{"The rate limit is 100 requests per minute", "The rate limit is 200 requests per minute", 0.9, guard.Update,
			guard.ReasonChangedValue},
		{"Max upload size is 10 MB", "Max upload size is 25 MB", 0.9, guard.Update, guard.ReasonChangedValue},
		{"The retro is on Mondays", "The retro is on Thursdays at noon", 0.8, guard.Update, guard.ReasonChangedValue},
		{"Renew the certificate by Friday", "Renew the certificate by Monday", 0.9, guard.Update, guard.ReasonChangedValue},
		{"Renew the certificate by Friday", "Renew the passport by Monday", 0.7, guard.Add, ""},
		{"接口限流为每分钟 100 次", "接口限流为每分钟 200 次", 0.9, guard.Update, guard.ReasonChangedValue},
		{"会议室在 3 楼", "会议室在 5 楼", 0.9, guard.Update, guard.ReasonChangedValue},
		{"会议在每周二上午十点", "会议改到每周三上午十点", 0.8, guard.Update, guard.ReasonChangedValue},
		{"周五前提交报销单", "周三前提交报销单", 0.9, guard.Update, guard.ReasonChangedValue},
		{"周五前提交报销单", "周五前提交周报", 0.8, guard.Add, ""},
		{"周五前提交报销单", "待办：2026-11-25前提交报销单", 0.8, guard.Update, guard.ReasonChangedValue},
		// a number may belong to the name, tell of one day, or be one of several
		{"Server 7 is 2 years old", "Server 8 is 3 years old", 0.9, guard.Add, ""},
		{"The user ran a marathon in 2019", "The user ran a marathon in 2021", 0.9, guard.Add, ""},
		{"The team meets on Mondays", "The team meets on Thursdays", 0.9, guard.Add, ""},
		{"用户在周三去打球", "用户在周五去看电影", 0.7, guard.Add, ""},
		{"Max upload size is 900 MB", "Max upload size is 1 GB", 0.9, guard.Update, guard.ReasonChangedValue},
		{"The timeout is 30 s", "The timeout is 1 min", 0.9, guard.Update, guard.ReasonChangedValue},
		{"The connection timeout is 30 s", "The connection timeout is 1 min", 0.9, guard.Update, guard.ReasonChangedValue},
		{"The server is 8 years old", "The server is 9 years old", 0.9, guard.Update, guard.ReasonChangedValue},
		{"The server is 8 years old", "The server is 2 units high", 0.9, guard.Add, ""},
		{"The server is 2 units high", "The server is 8 years old", 0.9, guard.Add, ""},
		{"The port of the billing database is 5432.", "The port of the billing database is 6543.", 0.9, guard.Update,
			guard.ReasonChangedValue},
		// what is measured in other units is something else
		{"The user is 34 years old", "The user is 182 cm tall", 0.8, guard.Add, ""},
		{"The room is 5 m long", "The room is 4 m wide", 0.9, guard.Add, ""},
		{"The session limit is 1 hour", "The session limit is 2 hours", 0.9, guard.Update, guard.ReasonChangedValue},
		{"宿舍楼是 8 层", "宿舍楼是 32 米", 0.8, guard.Add, ""},
		{"限速是每秒 10 次", "限速是每天 900 次", 0.8, guard.Add, ""},
		// a number in words is part of the value
		{"The user's favorite number is three", "The user's favorite number is five", 0.9, guard.Update, guard.ReasonChangedValue},
		// other words of the same meaning
		{"The user likes pizza", "The user loves pizza.", 0.8, guard.Noop, guard.ReasonNearDuplicate},
		{"用户偏好简洁的代码风格", "用户喜欢简洁的代码风格", 0.9, guard.Noop, guard.ReasonNearDuplicate},
		{"用户偏好简洁的代码风格", "用户不喜欢简洁的代码风格", 0.9, guard.Update, guard.ReasonContradicted},
		// an unknown subject is never overwritten
		{"Order 17 was shipped on day 3", "Order 17 was shipped on day 4", 0.96, guard.Add, ""},
	} {
		t.Run(tt.old+" / "+tt.candidate, func(t *testing.T) {
			old := &memory.Memory{ID: "m1", Revision: 7, Category: memory.General, Content: tt.old,
				Status: memory.Active}
			view := fakeView{"m1": old}
			c := guard.Item{Memory: memory.Memory{Content: tt.candidate, Category: memory.General}}
			got := guard.Decide(c, []guard.Neighbour{{Memory: old, Score: tt.score}})
			if got.Action != tt.want || got.Reason != tt.why {
				t.Fatalf("got %s %s, want %s %s", got.Action, got.Reason, tt.want, tt.why)
			}
			accepted, rejected := guard.Guard(guard.Plan{Items: []guard.Item{got}}, view)
			if len(rejected) != 0 || accepted.Items[0].Action != tt.want {
				t.Errorf("the guard disagrees: %+v %+v", accepted.Items, rejected)
			}
		})
	}
}

// A statement about one value must not take with it what else the old memory says: the new one is added, and a person
// decides about the old one.
func TestDecideKeepsWhatElseIsSaid(t *testing.T) {
	for _, tt := range []struct {
		old, candidate string
		keeps          bool
	}{
		{"数据库的端口是 5432，不要改防火墙。", "数据库的端口改成 6543 了。", true},
		{"用户住在杭州，养了两只猫。", "用户住在上海。", true},
		{"The database port is 5432 behind nginx on web03.", "The database port is 6543.", true},
		{"The database port is 5432, do not touch the firewall.", "The database port is 6543.", true},
		{"The backup server is Debian 12 at rack 7; never reboot it.", "The backup server is Debian 13.", true},
		{"The backup server is Debian 12 at rack 7 in hall B.", "The backup server is Debian 13.", true},
		{"The database port is 5432.", "The database port is 6543.", false},
		{"The standup is at 18:15.", "The standup is at 19:00.", false},
		{"The user lives in Oslo, Norway.", "The user lives in Bergen.", false},
		{"用户住在杭州。", "用户住在上海。", false},
	} {
		old := &memory.Memory{ID: "m1", Category: memory.General, Content: tt.old, Status: memory.Active}
		c := guard.Item{Memory: memory.Memory{Content: tt.candidate, Category: memory.General}}
		got := guard.Decide(c, []guard.Neighbour{{Memory: old, Score: .7}})
		if want := guard.Update; !tt.keeps && got.Action != want {
			t.Errorf("%q over %q is %s, want %s", tt.candidate, tt.old, got.Action, want)
		}
		if tt.keeps && (got.Action != guard.Delete || !got.Unsure) {
			t.Errorf("%q over %q is %s (unsure: %v), want a retirement that a person decides", tt.candidate, tt.old,
				got.Action, got.Unsure)
		}
	}
}

func TestDecideNeverReachesForInactiveMemories(t *testing.T) {
	old := &memory.Memory{ID: "m1", Category: memory.General, Content: "We use Postgres 14", Status: memory.Retired}
	got := guard.Decide(guard.Item{Memory: memory.Memory{Content: "We use Postgres 14", Category: memory.General}},
		[]guard.Neighbour{{old, 1}})
	if got.Action != guard.Add {
		t.Errorf("got %s", got.Action)
	}
}

// TestDecideRefinements: a statement about the same subject changes the memory that is there, one about another is new.
func TestDecideRefinements(t *testing.T) {
	for _, tt := range []struct {
		old, candidate string
		want           guard.Action
	}{
		{"The staging database is Postgres 15", "The staging database is Postgres 16", guard.Update},
		{"The staging db is Postgres 15", "Our staging database is now Postgres 16", guard.Update},
		{"The production database is Postgres 15", "The staging database is Postgres 15", guard.Add},
		{"The production database is Postgres 15", "The database is Postgres 16", guard.Add},
		{"The staging database is Postgres 15", "The staging database is down", guard.Add},
		{"The staging database is Postgres 15", "The staging database is backed up every night", guard.Add},
		{"The staging database is Postgres 15", "The staging server is eu-2", guard.Add},
		{"The staging database is Postgres 15", "The staging database runs on perch", guard.Add},
		{"deploys run on Tuesday", "deploys run on Thursday", guard.Update},
		{"Deploys run on Tuesdays", "Deploys happen on Thursdays", guard.Update},
		{"Deploys run on Fly.io", "Deploys run on Thursday", guard.Add},
		{"Deploys run on Tuesday", "Backups run on Thursday", guard.Add},
		{"The API port is 8443", "The API port is 9443", guard.Update},
		{"The API listens on port 8443", "The API listens on port 9443", guard.Update},
		{"The API port is 8443", "The metrics port is 9443", guard.Add},
		{"We use Postgres", "We use Postgres 16 with pgvector", guard.Update},
		{"We use Postgres", "We use Postgres with pgvector", guard.Update},
		{"We use Postgres 16 with pgvector", "We use Postgres 16", guard.Noop},
		{"We use Redis", "We use Redis Sentinel", guard.Add},
		{"I prefer tabs", "I prefer spaces", guard.Update},
		{"The user prefers tabs", "The user prefers spaces", guard.Update},
		{"I prefer tabs", "My colleague prefers spaces", guard.Add},
		{"The user lives in Berlin", "I moved to Lisbon", guard.Update},
		{"The user prefers small commits with an imperative subject line, no emoji in commit messages",
			"The user likes small commits with imperative subjects and no emoji in the commit messages", guard.Noop},
		{"The user prefers small commits with an imperative subject line, no emoji in commit messages",
			"The user likes small commits with a long body", guard.Add},
		{"The user likes tea", "The user likes tea ceremonies", guard.Add},

		{"我住在北京", "我搬到上海了", guard.Update},
		{"用户住在北京", "用户住在上海", guard.Update},
		{"用户住在北京", "用户在上海出差", guard.Add},
		{"测试环境的数据库是 Postgres 15", "测试环境的数据库是 Postgres 16", guard.Update},
		{"测试数据库是 Postgres 15", "测试环境的数据库升级到 Postgres 16 了", guard.Update},
		{"生产数据库是 Postgres 15", "测试数据库是 Postgres 15", guard.Add},
		{"生产数据库是 Postgres 15", "生产数据库挂了", guard.Add},
		{"我们周二发版", "我们周四发版", guard.Update},
		{"接口端口是 8443", "接口端口是 9443", guard.Update},
		{"接口端口是 8443", "数据库端口是 9443", guard.Add},
		{"数据库的端口是 5432", "数据库的端口是 6543", guard.Update},
		{"数据库的端口是 5432", "数据库端口改成 6543 了", guard.Update},
		{"数据库的端口是 5432", "数据库端口：6543", guard.Update},
		{"数据库的端口是 5432", "数据库现在用 6543 端口", guard.Update},
		{"数据库的端口是 5432", "把数据库的端口改为 6543", guard.Update},
		{"数据库的端口是 5432", "数据库的端口从 5432 换成了 6543", guard.Update},
		{"生产数据库的端口是 5432", "测试数据库的端口是 6543", guard.Add},
		{"我们的端口是 8443", "我们的端口改成了 9443", guard.Update},
		{"我们用 Postgres", "我们用 Postgres 16，带 pgvector", guard.Update},
		{"用户喜欢用空格", "用户喜欢用制表符", guard.Update},
		{"用户喜欢用空格", "用户的同事喜欢用制表符", guard.Add},
	} {
		t.Run(tt.old+" / "+tt.candidate, func(t *testing.T) {
			old := &memory.Memory{ID: "m1", Revision: 7, Category: memory.Facts, Content: tt.old, Status: memory.Active}
			got := guard.Decide(guard.Item{Memory: memory.Memory{Content: tt.candidate, Category: memory.Facts}},
				[]guard.Neighbour{{Memory: old, Score: 0.8}})
			if got.Action != tt.want || tt.want != guard.Add && (got.Target != "m1" || got.TargetRevision != 7) {
				t.Fatalf("got %s %s of %q, want %s", got.Action, got.Reason, got.Target, tt.want)
			}
			_, rejected := guard.Guard(guard.Plan{Items: []guard.Item{got}}, fakeView{"m1": old})
			if len(rejected) != 0 {
				t.Errorf("the guard refuses it: %+v", rejected)
			}
		})
	}
}

// TestRepeatedIsTheTargetOfANoop compares Repeated with Decide: both must find the same memory, or none.
func TestRepeatedIsTheTargetOfANoop(t *testing.T) {
	known := []string{
		"Prefers tabs over spaces", "The staging port is 8443", "The user lives in Lisbon",
		"Deploys happen on Friday after lunch", "数据库在 staging 上运行", "Do not push to main",
	}
	var near []guard.Neighbour
	for i, text := range known {
		near = append(near, guard.Neighbour{Score: 0.6, Memory: &memory.Memory{
			ID: text, Content: text, Category: memory.Facts, Status: memory.Active, Revision: int64(i + 1),
		}})
	}
	noops := 0
	for _, text := range append(known, "the staging port is 8443.", "The staging port is 9000", "Push to main",
		"Deploys happen on Friday", "The user lives in Porto", "The user no longer lives in Lisbon", "Likes tea") {
		c := guard.Item{Memory: memory.Memory{Content: text, Category: memory.Facts}}
		want := ""
		if got := guard.Decide(c, near); got.Action == guard.Noop {
			want = got.Target
			noops++
		}
		if got := (guard.Claims{}).Repeated(c, near); got != want {
			t.Errorf("%q: repeats %q, and Decide says %q", text, got, want)
		}
	}
	if noops < len(known) {
		t.Errorf("only %d texts repeat a known one", noops)
	}
}

// TestDecideFrequency: how often one thing happens has one value at a time, in words and in digits.
func TestDecideFrequency(t *testing.T) {
	for _, tt := range []struct {
		old, candidate string
		want           guard.Action
	}{
		{"I go to the gym three times a week", "I go to the gym five times a week", guard.Update},
		{"I go to the gym 3 times a week", "I go to the gym five times per week.", guard.Update},
		{"The user goes to the gym three times a week", "I now go to the gym 5x/week", guard.Update},
		{"The user waters the plants twice a week", "The user waters the plants once a week now", guard.Update},
		{"I see the dentist once every six months", "I see the dentist once every three months", guard.Update},
		{"The service polls the queue every 30 seconds", "The service polls the queue every 10 seconds", guard.Update},
		{"The user calls home every other day", "The user calls home every three days", guard.Update},
		{"Two of us swim two to three times a week", "Two of us swim three to four times a week", guard.Update},
		{"I take 2 pills three times a day", "I take 2 pills four times a day", guard.Update},
		{"Three times a week I walk to work", "Four times a week I walk to work", guard.Update},
		{"I go to the gym three times a week", "I go to the gym 3 times a week", guard.Noop},
		{"I go to the gym three times a week", "The user goes to the gym three times every week", guard.Noop},
		{"I see the dentist every second month", "I see the dentist every two months", guard.Noop},
		{"我每周三次去健身房", "我每周五次去健身房", guard.Update},
		{"我每周去三次健身房", "我现在每周去五次健身房了", guard.Update},
		{"用户每周去健身房三次", "我一周去健身房 5 次", guard.Update},
		{"我一周去健身房三次", "我每星期去健身房四次", guard.Update},
		{"我每三天浇一次花", "我每两天浇一次花", guard.Update},
		{"用户每个月回家一趟", "用户每个月回家两趟", guard.Update},
		{"我每周去健身房三次", "用户每周去健身房 3 次", guard.Noop},

		// another period, activity, person or time may be true beside it
		{"I go to the gym three times a week", "I go to the gym five times a month", guard.Add},
		{"I go to the gym three times a week", "I go to the pool five times a week", guard.Add},
		{"I go to the gym three times a week", "My brother goes to the gym five times a week", guard.Add},
		{"I go to the gym three times a week", "We go to the gym five times a week", guard.Add},
		{"I go to the gym three times a week", "I want to go to the gym five times a week", guard.Add},
		{"I go to the gym three times a week", "I went to the gym five times a week", guard.Add},
		{"I go to the gym three times a week", "I do not go to the gym five times a week", guard.Add},
		{"I feed three cats a day", "I feed five cats a day", guard.Add},
		{"I have three cats", "I go there three times a week", guard.Add},
		{"I take 2 pills three times a day", "I take 3 pills four times a day", guard.Add},
		{"The job polls every second", "The job polls every second day", guard.Add},
		{"Going to the gym three times a week is enough", "Going to the gym five times a week is enough", guard.Add},
		{"If I swim three times a week I sleep well", "If I swim five times a week I sleep well", guard.Add},
		{"One customer calls three times a day", "One customer calls five times a day", guard.Add},
		{"I swim once a week and run twice a week", "I swim once a week and run three times a week", guard.Add},
		{"I went to the gym three times", "I went to the gym five times", guard.Add},
		{"我每周去三次健身房", "我每月去五次健身房", guard.Add},
		{"我每周去三次健身房", "我每周去五次游泳馆", guard.Add},
		{"我每周去三次健身房", "我弟弟每周去五次健身房", guard.Add},
		{"我每周三次去健身房", "我每周三去健身房", guard.Add},
		{"我每周去三次健身房就够了", "我每周去五次健身房就够了", guard.Add},
		{"我每周三去健身房", "我每周五去健身房", guard.Add},
		{"有一天我去健身房三次", "有一天我去健身房五次", guard.Add},
		{"每周去三次健身房就够了", "每周去五次健身房就够了", guard.Add},
		{"我养了三只猫", "我每周去三次健身房", guard.Add},
	} {
		t.Run(tt.old+" / "+tt.candidate, func(t *testing.T) {
			old := &memory.Memory{ID: "m1", Revision: 7, Category: memory.Facts, Content: tt.old, Status: memory.Active}
			got := guard.Decide(guard.Item{Memory: memory.Memory{Content: tt.candidate, Category: memory.Facts}},
				[]guard.Neighbour{{Memory: old, Score: 0.9}})
			if got.Action != tt.want {
				t.Fatalf("got %s %s, want %s", got.Action, got.Reason, tt.want)
			}
			if _, rejected := guard.Guard(guard.Plan{Items: []guard.Item{got}}, fakeView{"m1": old}); len(rejected) != 0 {
				t.Errorf("the guard refuses it: %+v", rejected)
			}
		})
	}
}
