package guard

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// protectedTokens are the tokens of a text that a rewording must keep: numbers, names and negations.
type protectedTokens struct {
	// digits without thousands separators; numerals as digits
	Numbers map[string]bool
	// lower case: proper names, quoted text, identifiers
	Names     map[string]bool
	Negations int
}

var (
	number = lazyregexp.New(`\d+(?:[.,:]\d+)*`)
	// Chinese numerals count only before a unit; "一个" is no number worth protecting.
	hanNumeral  = lazyregexp.New(`([一二两三四五六七八九十百千万]+)(?:点|号|日|月|年|台|岁|块|元|人|天|小时|分钟|周|次|层|楼)`)
	numeralWord = lazyregexp.New(`(?i)\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b`)
	identifier  = lazyregexp.New(`[\p{Latin}_][\p{Latin}\d]*(?:[_./\\:@-]+[\p{Latin}\d]+)+` +
		`|\p{Latin}+\d[\p{Latin}\d]*|\p{Latin}*\p{Ll}\p{Lu}[\p{Latin}\d]*`)
	quoted   = lazyregexp.New("[「『《“]([^」』》”]{1,40})[」』》”]|`([^`\\n]{1,80})`")
	word     = lazyregexp.New(`[\p{Latin}\d][\p{Latin}\d'’-]*`)
	negative = lazyregexp.New(`(?i)\b(?:not|never|no|cannot|cant|dont|doesnt|without|none|nor|neither|avoids?)\b` +
		`|n['’]t\b`)
	// Chinese compounds in which a negation character does not negate.
	notNegative = strings.NewReplacer("不过敏", "不敏", "特别", "", "分别", "", "区别", "", "级别", "", "类别", "", "性别", "", "别名", "", "别的", "",
		"别人", "", "个别", "", "别墅", "", "识别", "",
		"无论", "", "不仅", "", "不但", "", "不过", "", "不错", "", "差不多", "", "对不起", "", "不断", "", "不管", "", "没错", "", "未来", "",
		"沉没", "", "告别", "", "无线", "")
	numerals = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
		"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}
)

// protectedTokensOf finds the protected tokens of s.
func protectedTokensOf(s string) protectedTokens {
	s = norm.NFKC.String(s)
	f := protectedTokens{Numbers: map[string]bool{}, Names: map[string]bool{}}
	for _, n := range number.FindAllString(s, -1) {
		f.Numbers[strings.ReplaceAll(n, ",", "")] = true
	}
	for _, n := range hanNumeral.FindAllStringSubmatch(s, -1) {
		f.Numbers[hanValue(n[1])] = true
	}
	for _, n := range numeralWord.FindAllString(s, -1) {
		f.Numbers[numerals[strings.ToLower(n)]] = true
	}
	for _, n := range identifier.FindAllString(s, -1) {
		if !strings.ContainsAny(n, "'’") && !plainHyphen(n) {
			f.Names[strings.ToLower(n)] = true
		}
	}
	for _, n := range quoted.FindAllStringSubmatch(s, -1) {
		f.Names[strings.ToLower(strings.TrimSpace(n[1]+n[2]))] = true
	}
	for _, n := range properNames(s) {
		f.Names[strings.ToLower(n)] = true
	}
	f.Negations = len(negative.FindAllStringIndex(s, -1))
	for _, r := range notNegative.Replace(s) {
		if strings.ContainsRune("不没别勿无未", r) {
			f.Negations++
		}
	}
	return f
}

// plainHyphen reports whether s is a hyphenated word such as "easy-going", which is no name.
func plainHyphen(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && !unicode.IsLower(r) })
}

// hanValue converts a Chinese numeral such as 十五 to digits.
func hanValue(s string) string {
	total, digit := 0, 0
	for _, r := range s {
		if i := strings.IndexRune("一二三四五六七八九", r); i >= 0 {
			digit = i/len("一") + 1
			continue
		}
		switch r {
		case '两':
			digit = 2
		case '十':
			total, digit = total+max(digit, 1)*10, 0
		case '百':
			total, digit = total+max(digit, 1)*100, 0
		case '千':
			total, digit = total+max(digit, 1)*1000, 0
		case '万':
			total, digit = max(total+digit, 1)*10000, 0
		}
	}
	return strconv.Itoa(total + digit)
}

// A capitalised word at the start of a sentence is a name if it is not in commonStart and a word of namedBy follows.
var (
	commonStart = wordSet("the a an i we you he she it they this that these those there here user users my our your " +
		"his " +
		"her its their what who when where why how if always never please use do does don't is are was were be to in " +
		"on at for with and or but not no yes when while before after all every each some any prefer prefers likes")
	namedBy = wordSet("is was are has had uses used works worked lives lived likes loves prefers wants says said " +
		"runs and")
	alwaysCapitalised = wordSet("i i'm i'll i've i'd ok tv am pm")
)

// wordSet splits words at spaces.
func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// properNames finds capitalised words whose capital is not explained by the start of a sentence. There is no model
// behind it: a false name costs a review, a missed one can lose a fact.
func properNames(s string) (names []string) {
	spans := word.FindAllStringIndex(s, -1)
	for i, at := range spans {
		w := strings.TrimSuffix(strings.TrimSuffix(s[at[0]:at[1]], "'s"), "’s")
		low := strings.ToLower(w)
		if first := []rune(w)[0]; !unicode.IsUpper(first) || alwaysCapitalised[low] || numerals[low] != "" {
			continue
		}
		if !startsSentence(s[:at[0]]) {
			names = append(names, w)
			continue
		}
		if commonStart[low] || i+1 >= len(spans) {
			continue
		}
		next := s[spans[i+1][0]:spans[i+1][1]]
		adjacent := strings.TrimSpace(s[at[1]:spans[i+1][0]]) == ""
		verb := namedBy[next] || strings.HasSuffix(next, "s") && !strings.HasSuffix(low, "s") // "Alice deploys"
		if adjacent && (verb || unicode.IsUpper([]rune(next)[0])) || strings.ToUpper(w) == w && len(w) > 1 {
			names = append(names, w)
		}
	}
	return names
}

// abbreviation ends with a title before a name.
var abbreviation = lazyregexp.New(`(?i)\b(?:dr|mr|mrs|ms|prof|st|no|mt)\.$`)

// startsSentence reports whether a word after the text before starts a sentence.
func startsSentence(before string) bool {
	before = strings.TrimRight(before, " \t\"'“‘(*-")
	if abbreviation.MatchString(before) {
		return false
	}
	return before == "" || strings.ContainsRune(".!?。！？\n:：", []rune(before)[len([]rune(before))-1])
}

// negationToken stands for a negation in Item.Replaces.
const negationToken = "-"

// lossReason returns the review reason for the first protected token of before that after lacks, "" if it has them
// all. Tokens in replaces may be missing.
func lossReason(before, after string, replaces []string) string {
	old, now := protectedTokensOf(before), protectedTokensOf(after)
	free := map[string]bool{}
	for _, r := range replaces {
		free[strings.ToLower(r)] = true
	}
	for n := range old.Numbers {
		if !now.Numbers[n] && !free[n] {
			return ReasonLostNumber
		}
	}
	text := strings.ToLower(norm.NFKC.String(after))
	for n := range old.Names {
		if !now.Names[n] && !free[n] && !containsWord(text, n) {
			return ReasonLostName
		}
	}
	if now.Negations < old.Negations && !free[negationToken] {
		return ReasonLostNegation
	}
	return ""
}

// containsWord reports whether w occurs in s, not inside a longer Latin word. Both are lower case.
func containsWord(s, w string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], w)
		if i < 0 {
			return false
		}
		from += i
		if !hasLatinEdge(s[:from], true) && !hasLatinEdge(s[from+len(w):], false) {
			return true
		}
		from += len(w)
	}
}

// hasLatinEdge reports whether s ends (end) or starts with a Latin letter or digit.
func hasLatinEdge(s string, end bool) bool {
	if s == "" {
		return false
	}
	c := s[0]
	if end {
		c = s[len(s)-1]
	}
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}
