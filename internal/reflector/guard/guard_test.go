package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// fakeView holds memories by id; those without an id in the map's value are forgotten values.
type fakeView map[string]*memory.Memory

func (v fakeView) Memory(id string) *memory.Memory { return v[id] }
func (v fakeView) Equal(category, content string) *memory.Memory {
	for _, m := range v {
		if m != nil && m.IsActive() && m.Category == category &&
			memory.Normalize(m.Content) == memory.Normalize(content) {
			return m
		}
	}
	return nil
}
func (v fakeView) IsForgotten(content string) bool {
	_, ok := v["forgotten:"+memory.Normalize(content)]
	return ok
}

func (v fakeView) ReadOnly() bool { return false }

func world() fakeView {
	return fakeView{
		"a": {ID: "a", Revision: 3, Category: "facts",
			Content: "Alice deploys to port 8080 on Fridays, never on Mondays", Salience: 0.5, Confidence: 1,
			Source: "import"},
		"p": {ID: "p", Revision: 4, Category: "facts", Content: "pinned", Pinned: true,
			Salience: 0.5, Confidence: 1, Source: "import"},
		"r": {ID: "r", Revision: 5, Category: "facts", Content: "retired",
			Status: memory.Retired, Salience: 0.5, Confidence: 1, Source: "import"},
		"z": {ID: "z", Revision: 6, Category: "facts", Content: "用户不喜欢「红楼梦」，下午三点开会",
			Salience: 0.5, Confidence: 1, Source: "import"},
		"forgotten:the user is shy": nil,
	}
}

func update(id string, revision int64, content string) guard.Item {
	return guard.Item{Action: guard.Update, Target: id, TargetRevision: revision,
		Memory: memory.Memory{Content: content}}
}

func add(content string) guard.Item {
	return guard.Item{Action: guard.Add, Memory: memory.Memory{Category: "facts", Content: content}}
}

func TestGuard(t *testing.T) {
	said := add("The user keeps to himself")
	said.SourceSentence = "The user is shy"
	replaced := update("a", 3, "Alice deploys to port 9090 on Fridays, never on Mondays")
	replaced.Replaces = []string{"8080"}
	long := add(strings.Repeat("x", memory.MaxContent+1))
	slug := add("fine text")
	slug.Memory.Category = "Not A Slug"
	for _, tt := range []struct {
		name string
		item guard.Item
		want string // status and reason
	}{
		{"add", add("The sky is blue"), "applied ADDED"},
		{"add equal", add("alice deploys to port 8080 on fridays, never on mondays."), "duplicate EXACT_DUPLICATE"},
		{"add forgotten", add("the user is  shy."), "rejected FORGOTTEN"},
		{"add said forgotten", said, "rejected FORGOTTEN"},
		{"add secret", add("the old password=hunter2 still works"), "applied ADDED"},
		{"add hardly more than a secret", add("password=hunter2"), "rejected SECRET"},
		{"add only secret", add("ghp_" + strings.Repeat("a1", 20)), "rejected SECRET"},
		{"add blank", add("  "), "rejected REQUIRED"},
		{"add too long", long, "rejected TOO_LONG"},
		{"add bad category", slug, "rejected INVALID_SLUG"},
		{"update", update("a", 3, "Alice deploys to port 8080 on Fridays and Sundays, never on Mondays"),
			"applied UPDATED"},
		{"update reworded", update("a", 3, "On Fridays Alice deploys to port 8080. She doesn't on Mondays."),
			"applied UPDATED"},
		{"update lost number", update("a", 3, "Alice deploys on Fridays, never on Mondays"),
			"rejected REVIEW_LOST_NUMBER"},
		{"update other number", update("a", 3, "Alice deploys to port 80 on Fridays, never on Mondays"),
			"rejected REVIEW_LOST_NUMBER"},
		{"update replaces number", replaced, "applied UPDATED"},
		{"update lost name", update("a", 3, "Someone deploys to port 8080 on Fridays, never on Mondays"),
			"rejected REVIEW_LOST_NAME"},
		{"update lost negation", update("a", 3, "Alice deploys to port 8080 on Fridays and on Mondays"),
			"rejected REVIEW_LOST_NEGATION"},
		{"update lost chinese negation", update("z", 6, "用户喜欢「红楼梦」，下午三点开会"), "rejected REVIEW_LOST_NEGATION"},
		{"update lost chinese name", update("z", 6, "用户不喜欢古典小说，下午三点开会"), "rejected REVIEW_LOST_NAME"},
		{"update lost chinese numeral", update("z", 6, "用户不喜欢「红楼梦」，下午开会"), "rejected REVIEW_LOST_NUMBER"},
		{"update numeral as digit", update("z", 6, "用户不喜欢「红楼梦」，下午3点开会"), "applied UPDATED"},
		{"update emptied", update("a", 3, " \n"), "rejected EMPTIED"},
		{"update same", update("a", 3, ""), "duplicate UNCHANGED"},
		{"update stale", update("a", 2, "x"), "rejected TARGET_CHANGED"},
		{"update unknown", update("nobody", 2, "x"), "rejected TARGET_UNKNOWN"},
		{"update not shown", update("", 0, "x"), "rejected TARGET_NOT_SHOWN"},
		{"update pinned", update("p", 4, "pinned and more"), "rejected TARGET_PINNED"},
		{"update retired", update("r", 5, "retired and more"), "rejected TARGET_NOT_ACTIVE"},
		{"delete", guard.Item{Action: guard.Delete, Target: "a", TargetRevision: 3}, "applied RETIRED"},
		{"delete pinned", guard.Item{Action: guard.Delete, Target: "p", TargetRevision: 4}, "rejected TARGET_PINNED"},
		{"noop", guard.Item{Action: guard.Noop, Target: "a", Reason: "NEAR_DUPLICATE"}, "duplicate NEAR_DUPLICATE"},
		{"nonsense", guard.Item{Action: "DROP"}, "rejected UNKNOWN_ACTION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := guard.Plan{Items: []guard.Item{tt.item}}
			o := guard.Preview(p, world())[0]
			if got := o.Status + " " + o.Reason; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			_, rejected := guard.Guard(p, world())
			if (len(rejected) == 1) != (o.Status == journal.Rejected) {
				t.Errorf("Guard and Preview disagree: %+v", rejected)
			}
		})
	}
}

func TestGuardSeesItsOwnItems(t *testing.T) {
	other := add("Alice deploys to port 8080 on Fridays and Sundays, never on Mondays")
	var got []string
	for _, o := range guard.Preview(guard.Plan{Items: []guard.Item{
		add("one"), add("One."), update("a", 3, other.Memory.Content), update("a", 3, "again"), other,
	}}, world()) {
		got = append(got, o.Reason)
	}
	if diff := cmp.Diff([]string{guard.ReasonAdded, guard.ReasonExactDuplicate, guard.ReasonUpdated, guard.ReasonTwice,
		guard.ReasonExactDuplicate}, got); diff != "" {
		t.Error(diff)
	}
}

func TestGuardCapsOperations(t *testing.T) {
	var p guard.Plan
	for i := range guard.MaxItems + 3 {
		p.Items = append(p.Items, add(fmt.Sprint("fact number ", i)), guard.Item{Action: guard.Noop})
	}
	accepted, rejected := guard.Guard(p, world())
	if len(rejected) != 3 || rejected[0].Reason != guard.ReasonTooMany || rejected[0].Index != 2*guard.MaxItems {
		t.Errorf("rejected %+v", rejected)
	}
	if len(accepted.Items) != 2*guard.MaxItems+3 {
		t.Errorf("accepted %d", len(accepted.Items))
	}
}

func TestGuardCleans(t *testing.T) {
	p := guard.Plan{Items: []guard.Item{add("The staging password=hunter2 is old")}, Entries: []guard.DatedEntry{
		{Date: "2026-02-21", Entry: memory.Entry{Type: "event", Content: "token=abcd1234efgh <private>x</private>",
			Category: "Bad Slug"}},
		{Date: "2026-02-21", Entry: memory.Entry{Type: "event", Content: "<private>all of it</private>"}},
		{Date: "2026-02-21", Entry: memory.Entry{Type: "event", Content: strings.Repeat("长", memory.MaxContent+5)}},
	}}
	accepted, _ := guard.Guard(p, world())
	if got := accepted.Items[0].Memory.Content; got != "The staging password=[redacted:password] is old" {
		t.Errorf("got %q", got)
	}
	if len(accepted.Entries) != 2 || accepted.Entries[0].Entry.Content != "token=[redacted:secret]" ||
		accepted.Entries[0].Entry.Category != "" {
		t.Errorf("got %+v", accepted.Entries[0])
	}
	if n := len([]rune(accepted.Entries[1].Entry.Content)); n != memory.MaxContent {
		t.Errorf("%d characters", n)
	}
	if p.Items[0].Memory.Content != "The staging password=hunter2 is old" {
		t.Error("the plan was changed")
	}
}

func FuzzGuard(f *testing.F) {
	f.Add("UPDATE", "a", int64(3), "Alice 8080", "x")
	f.Add("ADD", "", int64(0), "用户不喜欢「红楼梦」", "y")
	f.Fuzz(func(t *testing.T, action, target string, revision int64, content, said string) {
		item := guard.Item{Action: guard.Action(action), Target: target, TargetRevision: revision, SourceSentence: said,
			Memory: memory.Memory{Category: "facts", Content: content}}
		view := world()
		item = guard.Decide(item, []guard.Neighbour{{Memory: view["a"], Score: 0.9}, {Memory: view["z"], Score: 0.5}})
		accepted, _ := guard.Guard(guard.Plan{Items: []guard.Item{item}}, view)
		for _, it := range accepted.Items {
			var c memory.Check
			c.Text("content", it.Memory.Content, memory.MaxContent, it.Action == guard.Add)
			if err := c.Err(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCutAdditions: a model's new memory that stops in the middle of a word or clause is refused; what the user said as
// it stands, other words for it and a part of it that keeps every value are not.
func TestCutAdditions(t *testing.T) {
	const said = "The backup server is Debian 12, never reboot it on Mondays. I like tea with milk.\n" +
		"Our song is The Way It Is. 备份服务器在 7 号机柜，周一不要重启。他今天不在"
	for text, cut := range map[string]bool{
		"The backup server is Deb":                       true,
		"The backup server is Debian":                    true, // 12 belongs to it
		"The backup server is Debian 12":                 false,
		"The backup server is Debian 12, never reboot":   true,
		"The backup server is Debian 12, never reboot i": true,
		"The user's server is a Debi":                    true,
		"The user likes tea with":                        true,
		"I like tea":                                     false,
		"The user asks for every":                        true,
		"The user keeps backups (on Debian":              true,
		"The user's song is The Way It Is":               false,
		"Our song is The Way It Is":                      false,
		"The user reboots":                               false,
		"The server may not be rebooted on a Monday":     false,
		"备份服务器在":                                         true,
		"备份服务器在 7 号机柜，周一不要":                              true,
		"备份服务器在 7 号机柜":                                   false,
		"他今天不在":                                          false,
		"用户说得对":                                          false,
		"机柜和":                                            true,
	} {
		plan := guard.Plan{Items: []guard.Item{{Action: guard.Add, Model: true, Said: said, Memory: memory.Memory{Content: text}}}}
		o := guard.Preview(plan, fakeView{})[0]
		if (o.Reason == guard.ReasonCut) != cut {
			t.Errorf("%q: %s %s", text, o.Status, o.Reason)
		}
	}
}
