package plan

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Why items of a language model are refused beside what is refused to anybody.
const (
	ReasonManyRetired = "TOO_MANY_RETIRED" // it would retire more than one memory
	ReasonUsersOwn    = "REVIEW_USERS_OWN" // it would retire what the user saved
	ReasonLostText    = "REVIEW_LOST_TEXT" // less than half of the old words are left
	ReasonRepetitive  = "REPETITIVE"       // the text says the same over and over
)

// WhyModel is Item.Why of what a model proposes.
const WhyModel = "MODEL"

// maxModelRetired is how many memories a model's plan may retire. Emptying a store in steps is then as many visible operations.
const maxModelRetired = 1

// Replaced lists what of the text old the text now puts something else in place of, when the rules see that both give the same
// thing its value; see Item.Replaces. ok is false when they do not.
func Replaced(old, now string) (replaces []string, ok bool) {
	item, ok := revise(Item{Memory: memory.Memory{Content: now}}, read(now), &memory.Memory{Content: old})
	if !ok || item.Action != Update {
		return nil, false
	}
	return item.Replaces, true
}

// Covers reports whether text holds every number, name and negation of part.
func Covers(text, part string) bool { return lost(part, text, nil) == "" }

// retired counts what the model would retire.
func retired(p Plan) (n int) {
	for _, item := range p.Items {
		if item.Model && item.Action == Delete {
			n++
		}
	}
	return n
}

// doubtful says why what a model wants to do to target is left to a person, "" when nothing is against it. The reasons that hold for
// anybody are looked at elsewhere.
func doubtful(item Item, target *memory.Memory) string {
	switch item.Action {
	case Delete:
		if target.Source == memory.SourceUser || target.Source == memory.SourceUserCorrection {
			return ReasonUsersOwn
		}
	case Update:
		if _, same := Replaced(target.Content, item.Memory.Content); same {
			return ""
		}
		if kept, all := shared(target.Content, item.Memory.Content); 2*kept < all {
			return ReasonLostText
		}
	case Add, Noop:
	}
	return ""
}

// shared counts how many of the distinct words of old are in now.
func shared(old, now string) (kept, all int) {
	left := set(strings.Join(contentWords(strings.ToLower(now)), " "))
	for w := range set(strings.Join(contentWords(strings.ToLower(old)), " ")) {
		all++
		if left[w] {
			kept++
		}
	}
	return kept, all
}

const (
	longText  = 200 // characters from which a text is looked at for repetition
	runLength = 12  // characters of the pieces that are compared
)

// repetitive reports whether most of a long text repeats an earlier part of it, as a model that got stuck writes.
func repetitive(s string) bool {
	if utf8.RuneCountInString(s) < longText {
		return false
	}
	runes := []rune(s)
	seen, again := map[string]bool{}, 0
	for i := range len(runes) - runLength {
		piece := string(runes[i : i+runLength])
		if seen[piece] {
			again++
		}
		seen[piece] = true
	}
	return 2*again > len(runes)
}
