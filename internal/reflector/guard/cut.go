package guard

import (
	"slices"
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
	return opensMore(before, after) || endsInsideWord(before, after) || endsInsideClause(before, after)
}

// opensMore reports whether a bracket or quotation stays open in after that is closed in before.
func opensMore(before, after string) bool {
	for _, pair := range []string{"()", "（）", "「」", "《》", "“”", "[]"} {
		marks := strings.Split(pair, "")
		unclosed := func(s string) bool { return strings.Count(s, marks[0]) > strings.Count(s, marks[1]) }
		if unclosed(after) && !unclosed(before) {
			return true
		}
	}
	return false
}

// danglingAlone matches further ends of a clause that is not complete, which a known text may have but no new one.
var danglingAlone = lazyregexp.New(`(?i)\b(?:into|onto|between|every|each|per|these|those|my|very|without|whose|would|` +
	`should|must|nor)$|[由将让使比]$`)

// auxiliaryZh matches words that stand before a verb.
var auxiliaryZh = lazyregexp.New(`(?:不要|不能|不会|没有|必须|应该|需要|可以)$`)

// completeZh matches ends in Chinese that only look as if something followed: "他不在", "你说得对".
var completeZh = lazyregexp.New(`(?:[不存所都还正也]在|现在|[不都就还也总]是|[不得很]对|行为)$`)

// inflections are what a form of a word has behind a shorter one: no text that ends with the shorter one is cut there.
var inflections = wordSet("s es d ed r er rs ers n en ing ings ly ment ments ion ions al able y")

// isCutAddition reports whether a model's text for a new memory stops in the middle of a word or clause. said is what
// the user said: a sentence of theirs is complete as it stands, and not before a number, name or negation of its
// clause.
func isCutAddition(said, text string) bool {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(said)
	if len(lower) != len(said) {
		said = lower // a letter of another length; names are not seen in it
	}
	if at := strings.Index(lower, strings.ToLower(text)); at >= 0 && text != "" {
		inWord, rest := cutTail(text, said[at+len(strings.ToLower(text)):])
		switch {
		case inWord, !Covers(text, text+rest), rest != "" && auxiliaryZh.MatchString(text):
			return true
		case rest == "":
			return false
		}
	}
	if (dangling.MatchString(text) || danglingAlone.MatchString(text)) && !finalParticle(text) && !completeZh.MatchString(text) &&
		!endsInName(text) {
		return true
	}
	return opensMore("", text) || endsInsideSaid(lower, text)
}

// endsInName reports whether the last word begins with a capital, as in a title: "The Way It Is".
func endsInName(text string) bool {
	words := strings.Fields(text)
	first, _ := utf8.DecodeRuneInString(words[len(words)-1])
	return len(words) > 1 && unicode.IsUpper(first)
}

// cutTail returns what follows text in its clause, and whether text ends inside a word. A text with a closing mark is
// complete.
func cutTail(text, rest string) (inWord bool, tail string) {
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune(".!?…。！？)）\"”」』》", last) {
		return false, ""
	}
	if isWordRune(last) && isWordRune(first) {
		return true, ""
	}
	return false, strings.TrimRight(restOfClause(rest), " ")
}

// isWordRune reports whether r is a letter or digit of a word that spaces separate.
func isWordRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Han, r)
}

// endsInsideSaid reports whether the last word of text is the beginning of a longer word that was said, and neither a
// form of it nor said itself.
func endsInsideSaid(said, text string) bool {
	words, heard := latinWords(text), latinWords(said)
	if r, _ := utf8.DecodeLastRuneInString(text); len(words) == 0 || !isWordRune(r) {
		return false
	}
	last := words[len(words)-1]
	if count(heard, last) > 0 || count(words, last) > 1 {
		return false
	}
	return slices.ContainsFunc(heard, func(w string) bool {
		rest, ok := strings.CutPrefix(w, last)
		return ok && !inflections[rest] && count(words, w) == 0
	})
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
