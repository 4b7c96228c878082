package reflector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
)

// saturday is the day of the test's messages: 2026-02-21.
var saturday = time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC)

func user(texts ...string) (out []*memory.Message) {
	for i, t := range texts {
		out = append(out, &memory.Message{Seq: int64(i + 1), At: saturday, Role: "user", Content: t})
	}
	return out
}

func learnt(messages []*memory.Message) []string {
	var out []string
	for _, it := range reflector.Reflect(reflector.Input{Session: "s1", Messages: messages, Now: saturday}).Items {
		out = append(out, it.Memory.Category+": "+it.Memory.Content)
	}
	return out
}

func TestStatements(t *testing.T) {
	for _, tt := range []struct{ say, want string }{
		// Explicit requests.
		{"Remember that our staging server is eu-2.", "facts: Our staging server is eu-2"},
		{"Please remember that I prefer short answers", "preferences: The user prefers short answers"},
		{"Can you remember that my dog is called Rex?", "facts: The user's dog is called Rex"},
		{"please note that the demo account expires in June", "facts: The demo account expires in June"},
		{"Please keep in mind that we never deploy on Fridays.", "facts: We never deploy on Fridays"},
		{"Please remember: always run the linter before committing",
			"procedural: The user's rule: always run the linter before committing"},
		{"记住：我们的发布分支是 release", "facts: 我们的发布分支是 release"},
		{"请记住我不吃香菜", "preferences: 用户不吃香菜"},
		{"请记一下，服务器的端口是 8443。", "facts: 服务器的端口是 8443"},
		{"请帮我记住明天开会", "general: 2026-02-22开会"},
		// Preferences.
		{"I prefer tabs", "preferences: The user prefers tabs"},
		{"Btw, I really like dark mode.", "preferences: The user really likes dark mode"},
		{"I always use pnpm for my projects", "preferences: The user always uses pnpm for their projects"},
		{"I don't like long meetings", "preferences: The user does not like long meetings"},
		{"I never use semicolons in JavaScript.", "preferences: The user never uses semicolons in JavaScript"},
		{"My favorite editor is Helix", "preferences: The user's favorite editor is Helix"},
		{"I'm allergic to peanuts", "preferences: The user is allergic to peanuts"},
		{"I prefer `snake_case` names", "preferences: The user prefers `snake_case` names"},
		{"我喜欢喝龙井茶", "preferences: 用户喜欢喝龙井茶"},
		{"另外，我比较偏好简洁的代码。", "preferences: 用户比较偏好简洁的代码"},
		{"我习惯用 vim", "preferences: 用户习惯用 vim"},
		{"我不喜欢开长会", "preferences: 用户不喜欢开长会"},
		{"我最喜欢的颜色是蓝色", "preferences: 用户最喜欢的颜色是蓝色"},
		{"我对花生过敏", "preferences: 用户对花生过敏"},
		{"我喜欢《三体》", "preferences: 用户喜欢《三体》"},
		// Facts about the user.
		{"Hello, my name is Emily.", "facts: The user's name is Emily"},
		{"Call me Max", "facts: The user's name is Max"},
		{"I work at Acme as a backend engineer", "facts: The user works at Acme as a backend engineer"},
		{"I'm a senior backend engineer", "facts: The user is a senior backend engineer"},
		{"I live in Berlin", "facts: The user lives in Berlin"},
		{"I just moved to Lisbon", "facts: The user lives in Lisbon"},
		{"My birthday is May 4", "facts: The user's birthday is May 4"},
		{"I have two cats", "facts: The user has two cats"},
		{"你好，我叫张曼婷，很高兴认识你。", "facts: 用户叫张曼婷"},
		{"你好，我叫张曼婷。", "facts: 用户叫张曼婷"},
		{"我在腾讯工作", "facts: 用户在腾讯工作"},
		{"我是一名后端工程师", "facts: 用户是后端工程师"},
		{"我住在上海", "facts: 用户住在上海"},
		{"我的生日是5月4日", "facts: 用户的生日是5月4日"},
		// Facts about the project.
		{"We use Postgres 14.", "facts: We use Postgres 14"},
		{"Our database is Postgres 15", "facts: Our database is Postgres 15"},
		{"The API is at https://api.example.com/v2", "facts: The API is at https://api.example.com/v2"},
		{"This project uses Bazel", "facts: This project uses Bazel"},
		{"Deploys run on Fly.io", "facts: Deploys run on Fly.io"},
		{"deploy runs on Fly.io", "facts: Deploy runs on Fly.io"},
		{"项目用的是 Postgres 14", "facts: 项目用的是 Postgres 14"},
		{"我们的数据库是 MySQL 8", "facts: 我们的数据库是 MySQL 8"},
		{"我们的测试环境部署在阿里云", "facts: 我们的测试环境部署在阿里云"},
		// Tasks.
		{"TODO: update the changelog", "tasks: To do: update the changelog"},
		{"Remind me to call Bob tomorrow", "tasks: To do: call Bob on 2026-02-22"},
		{"I need to send the report by next Friday", "tasks: To do: send the report by 2026-02-27"},
		{"Don't forget to renew the certificate in 3 days", "tasks: To do: renew the certificate on 2026-02-24"},
		{"待办：整理周报", "tasks: 待办：整理周报"},
		{"提醒我明天给王总打电话", "tasks: 待办：2026-02-22给王总打电话"},
		{"记得下周一交报告", "tasks: 待办：2026-02-23交报告"},
		{"明天要提交代码评审", "tasks: 待办：2026-02-22要提交代码评审"},
		// Corrections.
		{"Next time don't commit without asking me", "procedural: The user's rule: don't commit without asking me"},
		{"From now on, please answer in English.", "procedural: The user's rule: answer in English"},
		{"Don't touch the lock file again", "procedural: The user's rule: Don't touch the lock file again"},
		{"Stop adding comments to every line", "procedural: The user's rule: Stop adding comments to every line"},
		{"No, use pnpm instead", "procedural: The user's rule: use pnpm instead"},
		{"No. Use pnpm instead.", "procedural: The user's rule: Use pnpm instead"},
		{"Never push to main directly", "procedural: The user's rule: Never push to main directly"},
		{"下次不要直接推送到 main", "procedural: 用户的规则：不要直接推送到 main"},
		{"以后提交之前先跑测试", "procedural: 用户的规则：提交之前先跑测试"},
		{"以后别用 npm，用 pnpm", "procedural: 用户的规则：别用 npm，用 pnpm"},
		{"不对，应该用 UTC 时间", "procedural: 用户的规则：应该用 UTC 时间"},
		{"从现在起请用中文回答", "procedural: 用户的规则：请用中文回答"},
		{"别再改配置文件了", "procedural: 用户的规则：别再改配置文件了"},
	} {
		t.Run(tt.say, func(t *testing.T) {
			if got := strings.Join(learnt(user(tt.say)), "\n"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSeveralStatementsOfOneSentence(t *testing.T) {
	got := learnt(user("My name is Ann and I live in Oslo, but I don't like snow."))
	want := []string{"facts: The user's name is Ann", "facts: The user lives in Oslo",
		"preferences: The user does not like snow"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = learnt(user("我喜欢喝茶，我住在杭州"))
	if diff := cmp.Diff([]string{"preferences: 用户喜欢喝茶", "facts: 用户住在杭州"}, got); diff != "" {
		t.Error(diff)
	}
}

// Nothing is learnt from these.
func TestNotStatements(t *testing.T) {
	for _, s := range []string{
		// Questions.
		"Do I prefer tabs or spaces?", "What is my name?", "Do you remember that I like tea?",
		"Can you remember my name?", "Should we use Postgres 14?",
		"我喜欢什么颜色？", "你还记得我叫什么吗", "我们用的是什么数据库", "记住密码功能怎么做？", "Is our database Postgres?",
		// Hypotheticals, wishes, reports.
		"If I prefer tabs, what changes", "I would like a coffee", "I might prefer spaces", "Suppose my name is Bob",
		"Maybe we use Redis", "I wish I live in Paris",
		"如果我喜欢喝茶", "假设我叫李四", "也许我们用的是 MySQL", "He said that I prefer tabs", "She prefers tabs", "他喜欢喝咖啡",
		"I used to like jazz",
		// References to what nobody can see later.
		"I like it", "I like this approach", "I prefer the second option", "I don't like how it looks", "我喜欢这个方案",
		"我不喜欢那样", "I love you", "I like your answer", "I like the idea",
		"I love seeing them eat", "I love his tech", "I love to", "Nope, never been on a team", "Remember, just do it",
		"I think so", "I like to think about it", "we use it", "我们用这个吧", "我们用 Redis 吧",
		// Passing states.
		"Our build is broken", "The server is down", "Our API is slow today", "My dog is sick", "I'm tired",
		"I am a bit confused", "I live in fear", "I work at night", "我在努力工作", "我们的数据库挂了",
		// Orders for now, idle talk.
		"Fix the bug in main.go", "We need to fix this by refactoring", "Stop the server", "No, I think it's fine",
		"No, it should be fine", "Don't worry", "下次再说", "以后再聊", "我记得上次见过", "记得上次吗",
		"下次见", "不对", "不是", "call me back", "Call me crazy but this works", "I remember that film",
		"I can't remember the name", "我叫了外卖", "我叫你别动", "我记住了", "记不住", "I need to think",
		"In the future we might move", "In future it could rain",
		"Remember when we met", "Note that Go maps are unordered", "use the main branch", "run the tests", "添加一个按钮",
		"帮我看看这段代码",
		// Other people's words.
		"> I prefer tabs", "He wrote \"I prefer tabs\"", "```\nI prefer tabs\n```", "~~~\nmy name is Bob",
		"    I prefer tabs", "// TODO: fix me", "# I prefer tabs", "`I prefer tabs`",
		"Translate this: I like apples and my name is Bob", "翻译：我喜欢喝茶",
		"Here is the email:\nI prefer tabs\nMy name is Bob", "以下是日志：\n我喜欢喝茶", "User: I prefer tabs\nAssistant: ok",
		"From: bob@example.com\nI prefer tabs", "Dear Alice,\nmy name is Bob", "<doc>\nI prefer tabs\n</doc>",
		"2026-02-21 10:00:00 I prefer tabs", "Write a song that says: I like trains", "用“我喜欢喝茶”造句",
		"<private>I prefer tabs</private>", "| I prefer | tabs |", "\"I prefer tabs\"", "“我喜欢喝茶”",
	} {
		if got := learnt(user(s)); len(got) != 0 {
			t.Errorf("%q taught %q", s, got)
		}
	}
	for _, role := range []string{"assistant", "system", "tool"} {
		m := user("I prefer tabs. My name is Bob. Remember that we use Postgres.")
		m[0].Role = role
		if got := learnt(m); len(got) != 0 {
			t.Errorf("%s taught %q", role, got)
		}
	}
}

func TestListToRemember(t *testing.T) {
	got := learnt(user("Please remember the following:\n- The demo runs on port 9000\n- Bob owns billing\n\nNow fix " +
		"the bug."))
	want := []string{"facts: The demo runs on port 9000", "facts: Bob owns billing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPastedTextIsNotRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("I prefer tabs.\n\n")
	for range 100 {
		b.WriteString("In this chapter my name is Ishmael and we use harpoons. I live in Nantucket.\n")
	}
	b.WriteString("a\nb\nc\nd\nI like tea\n")
	got := learnt(user(b.String()))
	// The first and the last lines are the user's own, a few of the pasted ones beside the first excepted.
	if got[0] != "preferences: The user prefers tabs" || got[len(got)-1] != "preferences: The user likes tea" ||
		len(got) > 5 {
		t.Errorf("got %d: %q", len(got), got)
	}
}

func TestLaterStatementCounts(t *testing.T) {
	got := learnt(user("I prefer tabs", "I prefer tabs.", "Actually, I prefer spaces"))
	if diff := cmp.Diff([]string{"preferences: The user prefers spaces"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCorrectionOfWhatWasJustDone(t *testing.T) {
	m := []*memory.Message{
		{Seq: 1, At: saturday, Role: "user", Content: "clean up"},
		{Seq: 2, At: saturday, Role: "tool",
			Tool: &memory.ToolCall{Name: "terminal", Arguments: `{"cmd":"rm -rf build"}`, Result: "ok"}},
		{Seq: 3, At: saturday, Role: "user", Content: "Don't do that again!"},
	}
	got := reflector.Reflect(reflector.Input{Session: "s1", Messages: m}).Items
	if len(got) != 1 || got[0].Memory.Content != "The user's rule: Don't do that again (about: terminal rm -rf build)" ||
		got[0].Memory.Context().Tool != "terminal" || got[0].Memory.Context().LearnedFrom != "session_s1" ||
		got[0].Memory.Source != memory.SourceUserCorrection || got[0].Memory.Salience != 0.9 {
		t.Errorf("got %+v", got)
	}
	if got := learnt(user("下次不要这样")); len(got) != 0 {
		t.Errorf("nobody knows what this was about: %q", got)
	}
}

func TestNeighboursDecide(t *testing.T) {
	known := &memory.Memory{ID: "m1", Revision: 9, Category: memory.Facts, Content: "We use Postgres 14", Salience: 0.9,
		Status: memory.Active}
	in := reflector.Input{Session: "s1", Messages: user("We use Postgres 15", "We use Postgres 14."), Now: saturday,
		Similar: func(string) []guard.Neighbour { return []guard.Neighbour{{Memory: known, Score: 0.9}} }}
	got := reflector.Reflect(in).Items
	if len(got) != 1 || got[0].Action != guard.Noop || got[0].Target != "m1" {
		t.Errorf("back to the old value: %+v", got)
	}
	in.Messages = in.Messages[:1]
	got = reflector.Reflect(in).Items
	if len(got) != 1 || got[0].Action != guard.Update || got[0].Target != "m1" || got[0].TargetRevision != 9 ||
		got[0].Memory.Salience != 0.9 {
		t.Errorf("a new value: %+v", got)
	}
}

func FuzzReflect(f *testing.F) {
	f.Add("I prefer tabs", `{"a":1}`, "not found")
	f.Add("下次不要这样，明天要交报告", "", "exit code 1")
	f.Fuzz(func(t *testing.T, say, args, failure string) {
		m := append(user(say), &memory.Message{Seq: 2, Role: "tool",
			Tool: &memory.ToolCall{Name: "fetch", Arguments: args, Error: failure}})
		in := reflector.Input{Session: "s", Messages: m, Now: saturday}
		a, b := reflector.Reflect(in), reflector.Reflect(in)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("not deterministic:\n%s", diff)
		}
		if len(a.Entries) == 0 {
			t.Error("no session summary")
		}
	})
}
