package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// embedded is an engine with the models inside whose default space holds the memories, with their vectors.
func embedded(t *testing.T, memories ...*memory.Memory) *search.Engine {
	t.Helper()
	models := search.InsideModels(t)
	e := search.New(search.Config{Models: models, Now: func() time.Time { return epoch }})
	if err := e.Load("", memories, newDir(t)); err != nil {
		t.Fatal(err)
	}
	embedAll(t, e, "")
	return e
}

// storeOfTen are ten memories of one person that have little in common.
func storeOfTen() []*memory.Memory {
	return saidIn("", "The user is allergic to peanuts.", "The deployment runs every Tuesday at noon.",
		"The user's sister Ines lives in Lisbon.", "The project uses PostgreSQL 17.", "The user plays the cello.",
		"The office moved to Harbour Street.", "The user prefers tabs over spaces.", "The cat is called Biscuit.",
		"The tax return is due at the end of May.", "The user drives an old Volvo.")
}

// TestSmallStores asks stores of one, three and ten memories in other words than theirs: how many memories there are
// does not decide whether there is an answer.
func TestSmallStores(t *testing.T) {
	all := storeOfTen()
	for _, n := range []int{1, 3, 10} {
		e := embedded(t, all[:n]...)
		resp := find(t, e, search.Request{Query: "which nuts can I not eat", Arm: search.Fusion, AsOf: epoch})
		if got := ids(resp.Hits); len(got) == 0 || got[0] != "0" {
			t.Errorf("%d memories: found %v, want 0 first", n, got)
		}
	}
}

// TestCollectionBesideMemories searches memories with vectors together with a collection, which has none.
func TestCollectionBesideMemories(t *testing.T) {
	e := embedded(t, storeOfTen()...)
	c := e.NewCollection()
	c.Put(&memory.Memory{ID: "log", Content: "Restarted the lift motor after the outage.", Status: memory.Active, CreatedAt: epoch})
	resp := find(t, e, search.Request{
		Spaces: []string{""}, Collections: []search.SpaceCollection{{Space: "", Collection: c}}, Query: "lift motor outage",
		Arm: search.Fusion, AsOf: epoch,
	})
	if got := ids(resp.Hits); len(got) == 0 || got[0] != "log" {
		t.Errorf("found %v, want log first", got)
	}
}

// TestBroadQuestion asks about nothing in particular, which no memory resembles. What a question names may be missing;
// what it does not name cannot.
func TestBroadQuestion(t *testing.T) {
	e := embedded(t, saidIn("", "We deploy with make release from the main branch.", "The user prefers window seats.")...)
	for query, found := range map[string]bool{
		"Tell me about people.": true, "what do you remember?": true, "讲讲这些人。": true, "tell me a joke": false,
		"what is the capital of France": false,
	} {
		got := ids(find(t, e, search.Request{Query: query, Arm: search.Fusion, AsOf: epoch}).Hits)
		if found != (len(got) > 0) {
			t.Errorf("%q: found %v", query, got)
		}
	}
}

// TestJapanese asks in Japanese, which no model inside knows: 好物 and 好き have one character in common.
func TestJapanese(t *testing.T) {
	e := embedded(t, saidIn("", "中島は餃子が好き。", "建物の空調は4月に点検されます。", "郵便室は16時に閉まります。")...)
	got := ids(find(t, e, search.Request{Query: "みんなの好物は?", Arm: search.Fusion, AsOf: epoch}).Hits)
	if len(got) == 0 || got[0] != "0" {
		t.Errorf("found %v, want 0 first", got)
	}
}

// TestDepthDoesNotChangeTheOrder asks for one hit and for many: the first must be the same.
func TestDepthDoesNotChangeTheOrder(t *testing.T) {
	e := embedded(t, storeOfTen()...)
	for _, query := range []string{"which nuts can I not eat", "what music does the user make", "where is the sister"} {
		many := ids(find(t, e, search.Request{Query: query, Arm: search.Fusion, AsOf: epoch, K: 200}).Hits)
		for k := 1; k <= len(many); k++ {
			few := ids(find(t, e, search.Request{Query: query, Arm: search.Fusion, AsOf: epoch, K: k}).Hits)
			if !slices.Equal(few, many[:k]) {
				t.Errorf("%q: %d hits are %v, of 200 the first are %v", query, k, few, many[:k])
			}
		}
	}
}

// TestJustTold changes what a memory says and asks before its vectors are made.
func TestJustTold(t *testing.T) {
	all := saidIn("", "Lena started at the bakery in 2020.", "Visitor badges expire at the end of the day.",
		"The notice board hangs beside the door.", "The company picnic is in June.", "The canteen is closed on Mondays.")
	e := embedded(t, all...)
	after := *all[0]
	after.Content = "Lena moved to the harbour office in 2022."
	after.Revision = 99
	e.Apply(record(1, "", journal.Change{Memory: &journal.MemoryChange{ID: after.ID, Before: all[0], After: &after}}))
	resp := find(t, e, search.Request{Query: "Lena employer", Arm: search.Fusion, AsOf: epoch})
	if got := ids(resp.Hits); len(got) == 0 || got[0] != after.ID {
		t.Errorf("found %v, want %s first", got, after.ID)
	}
}

// TestLongPrompt asks within a long message in the first person that is mostly about something else.
func TestLongPrompt(t *testing.T) {
	e := embedded(t, storeOfTen()...)
	prompt := "I had a really long day and I am only now getting around to planning the weekend. My colleagues want to " +
		"come over, I said I would bake something with lots of nuts and chocolate because everybody liked it last " +
		"time, and then I thought that I might not even be able to have any of it myself. Can I eat peanut butter cookies?"
	resp := find(t, e, search.Request{Query: prompt, Arm: search.Fusion, AsOf: epoch})
	if got := ids(resp.Hits); !slices.Contains(got[:min(3, len(got))], "0") {
		t.Errorf("found %v, want 0 among the first three", got)
	}
}

// TestNameVariants asks for a speaker by a short form and by a form with one wrong letter.
func TestNameVariants(t *testing.T) {
	var turns []string
	for i := range 6 {
		turns = append(turns, fmt.Sprintf("Melanie: I did some laps in pool %d.", i),
			fmt.Sprintf("Caroline: I went swimming, that was day %d.", i))
	}
	e := embedded(t, saidIn("s", turns...)...)
	for _, query := range []string{"When was Mel in the pool?", "When was Melani in the water?", "When was Melanie in the water?"} {
		resp := find(t, e, search.Request{Query: query, Arm: search.Fusion, AsOf: epoch, Explain: true})
		if len(resp.Hits) == 0 {
			t.Errorf("%q found nothing", query)
		}
		for i, h := range resp.Hits {
			if said := strings.HasPrefix(h.Memory.Content, "Melanie"); said != (parts(h)["named"] > 0) {
				t.Errorf("%q: hit %d, %q: named is %v", query, i+1, h.Memory.Content, parts(h)["named"])
			}
		}
	}
}

func TestIsNameVariant(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"mel", "melanie", true}, {"melanie", "mel", true}, {"melany", "melanie", false}, {"melani", "melanie", true},
		{"inez", "ines", true}, {"jon", "joe", false}, {"jo", "joanna", false}, {"ruth", "ines", false}, {"marta", "martha", true},
		{"martha", "marta", true}, {"anna", "hanna", false}, {"carol", "carla", false},
	} {
		if got := search.IsNameVariant(c.a, c.b); got != c.want {
			t.Errorf("%s, %s: %v", c.a, c.b, got)
		}
	}
}

// TestUnknownNameVariant asks by words: a name that differs by one letter from a known one is not a stranger's.
func TestUnknownNameVariant(t *testing.T) {
	var all []*memory.Memory
	for i := range 60 { // so many that one shared word is not enough
		all = append(all, saidIn(fmt.Sprint(i), fmt.Sprintf("Parcel %d lives on shelf %d.", i, i+100))...)
	}
	all = append(all, saidIn("x", "Ines lives in Lisbon.")...)
	e := inDefault(all...)
	for query, want := range map[string]bool{"Where does Inez live?": true, "Where does Ruth live?": false} {
		hits := find(t, e, search.Request{Query: query, AsOf: epoch}).Hits
		if got := len(hits) > 0; got != want {
			t.Errorf("%q: answered %v, want %v", query, got, want)
		}
	}
}

// TestDatesOfATurn names a day in every form that is read; one memory is of that day.
func TestDatesOfATurn(t *testing.T) {
	all := storeOfTen()
	for i, m := range all {
		m.CreatedAt = time.Date(2026, 3, 2+3*i, 9, 0, 0, 0, time.UTC) // the sixth is of 17 March
	}
	e := embedded(t, all...)
	for _, query := range []string{
		"What did I mention on March 17th?", "What did I mention on 17 March 2026?", "What did I mention on 2026-03-17?",
		"What did I mention on 17.03.2026?", "What did I mention on 03/17/2026?", "3月17号那天我说了什么", "2026年3月17日我提到了什么",
		"三月十七号我说了什么",
	} {
		at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
		resp := find(t, e, search.Request{Query: query, Arm: search.Fusion, AsOf: at})
		if got := ids(resp.Hits); len(got) == 0 || got[0] != "5" {
			t.Errorf("%q: found %v, want 5 first", query, got)
		}
	}
}

// TestRelative asks for a relative, whose name another memory tells.
func TestRelative(t *testing.T) {
	for _, c := range []struct{ sister, query, want string }{
		{"The user's sister Ines lives in Lisbon.", "What is my sister allergic to?", "Ines is"},
		{"用户的妹妹叫林小雨。", "我妹妹在哪里上班", "林小雨在"},
	} {
		e := embedded(t, saidIn("r", c.sister, "Ruth is allergic to strawberries.", "Ines is allergic to shellfish.",
			"陈一帆在医院上班。", "林小雨在银行上班。", "The project uses PostgreSQL 17.")...)
		resp := find(t, e, search.Request{Query: c.query, Arm: search.Fusion, AsOf: epoch})
		if len(resp.Hits) == 0 || !strings.HasPrefix(resp.Hits[0].Memory.Content, c.want) {
			t.Errorf("%q: found %v, want %q first", c.query, ids(resp.Hits), c.want)
		}
	}
}

// TestJustToldAsPrompt asks, as a prompt, about what was told a moment ago and has no vectors yet, in an empty store and
// beside memories that have them: words decide about it, and an unrelated prompt finds nothing.
func TestJustToldAsPrompt(t *testing.T) {
	for name, before := range map[string][]*memory.Memory{"empty": nil, "ten": storeOfTen()} {
		t.Run(name, func(t *testing.T) {
			e := embedded(t, before...)
			told := saidIn("", "The crane at the north pier lifts 40 tons.")[0]
			told.ID = "told"
			// Nobody makes vectors of it.
			e.Apply(record(1, "", journal.Change{Memory: &journal.MemoryChange{ID: told.ID, After: told}}))
			ask := func(prompt string) []string {
				return ids(find(t, e, search.Request{Query: prompt, Implicit: true, Arm: search.Fusion, AsOf: epoch}).Hits)
			}
			if got := ask("how much does the crane at the north pier lift?"); len(got) == 0 || got[0] != "told" {
				t.Errorf("found %v", got)
			}
			if got := ask("tell me a joke about computers"); len(got) > 0 {
				t.Errorf("found %v for what nobody told", got)
			}
		})
	}
}
