package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// dangling matches a text that ends in the middle of a clause.
var dangling = lazyregexp.New(`(?i)(?:\b(?:the|an?|and|or|but|of|to|at|in|on|for|with|by|from|as|than|is|are|was|were|` +
	`its|their|his|her|your|our|because|if|when|while|that|which|who|not|never|no)|[,，、:：(（\[【「『《“])$` +
	`|[和与及或在是把被为从向对跟的]$`)

// isCut reports whether a new text of a memory stops in the middle of a word or clause, as a reply does that was cut
// off. before is the old text, "" for none.
func isCut(before, after string) bool {
	before, after = strings.TrimSpace(before), strings.TrimSpace(after)
	if after == "" || before == after {
		return false
	}
	if dangling.MatchString(after) && !dangling.MatchString(before) && !finalParticle(after) {
		return true
	}
	for _, pair := range []string{"()", "（）", "「」", "《》", "“”", "[]"} {
		marks := strings.Split(pair, "")
		unclosed := func(s string) bool { return strings.Count(s, marks[0]) > strings.Count(s, marks[1]) }
		if unclosed(after) && !unclosed(before) {
			return true
		}
	}
	return endsInsideWord(before, after) || endsInsideClause(before, after)
}

// finalParticle reports whether a Chinese text may end as it does: "是的", "蓝色的".
func finalParticle(s string) bool { return strings.HasSuffix(s, "的") }

// endsInsideWord reports whether the last word of after is the beginning of a longer word of before that after lacks.
func endsInsideWord(before, after string) bool {
	words, old := latinWords(after), latinWords(before)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if r, _ := utf8.DecodeLastRuneInString(after); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return false
	}
	for _, w := range old {
		rest, ok := strings.CutPrefix(w, last)
		if ok && rest != "" && rest != "s" && rest != "es" && count(words, w) < count(old, w) &&
			count(words, last) > count(old, last) {
			return true
		}
	}
	return false
}

// count counts a word.
func count(words []string, w string) (n int) {
	for _, x := range words {
		if x == w {
			n++
		}
	}
	return n
}

// latinWords are the words of a text in lower case, Chinese ones left out.
func latinWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' || unicode.Is(unicode.Han, r)
	})
}

// endsInsideClause reports whether after is the beginning of before up to somewhere in a clause.
func endsInsideClause(before, after string) bool {
	rest, ok := strings.CutPrefix(before, strings.TrimRight(after, ".。"))
	if rest = strings.TrimLeft(rest, " "); !ok || rest == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	return !strings.ContainsRune(".,;:!?()（，。；：！？、-–—\n", first)
}
