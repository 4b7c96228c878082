package guard

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Additional reasons for items of a language model.
const (
	// the text ends in the middle of a word or clause
	ReasonCut = "CUT"
	// a unit or a word such as "only" is lost
	ReasonLostUnit = "REVIEW_LOST_UNIT"
	// a value or the polarity changed to what the user did not say
	ReasonNewValue = "REVIEW_NEW_VALUE"
	// the plan would retire more than maxModelRetired memories
	ReasonManyRetired = "TOO_MANY_RETIRED"
	// the item would retire a memory that the user or the user's agent saved
	ReasonUsersOwn = "REVIEW_USERS_OWN"
	// less than half of the old words remain
	ReasonLostText   = "REVIEW_LOST_TEXT"
	ReasonRepetitive = "REPETITIVE" // the text repeats itself
)

// The Item.Reason of a model's proposals.
const (
	ReasonModel = "MODEL"
	// its salience was out of range and was brought to the nearest end of it
	ReasonModelClamped = "MODEL_CLAMPED"
)

// maxModelRetired limits how many memories a model's plan may retire, so that a model cannot empty a space in one
// operation.
const maxModelRetired = 1

// Covers reports whether text has all protected tokens of part.
func Covers(text, part string) bool { return lossReason(part, text, nil) == "" }

// countModelRetired counts the memories that the model's items would retire.
func countModelRetired(p Plan) (n int) {
	for _, item := range p.Items {
		if item.Model && item.Action == Delete {
			n++
		}
	}
	return n
}

// modelReviewReason returns why a model's change of target is left to a person, "" if it is not. Reasons that also
// hold for rules are checked elsewhere.
func modelReviewReason(item Item, target *memory.Memory) string {
	switch item.Action {
	case Delete:
		if memory.IsUsersOwn(target.Source) {
			return ReasonUsersOwn
		}
	case Update:
		if kept, all := keptWords(target.Content, item.Memory.Content); 2*kept < all {
			return ReasonLostText
		}
	case Add, Noop:
	}
	return ""
}

// keptWords counts the distinct words of old, and how many of them are in now.
func keptWords(old, now string) (kept, all int) {
	left := wordSet(strings.Join(contentWords(strings.ToLower(now)), " "))
	for w := range wordSet(strings.Join(contentWords(strings.ToLower(old)), " ")) {
		all++
		if left[w] {
			kept++
		}
	}
	return kept, all
}

const (
	// minimum length in characters for the repetition check
	longText = 200
	// length in characters of the compared pieces
	runLength = 12
)

// repetitive reports whether most of a long text repeats an earlier part, as a degenerate model writes.
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
