package guard

import (
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// How often something happens: "three times a week", "every 2 days", 每周三次, 每周去三次. A group of counts may be a
// range.
const (
	countEn  = `(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`
	periodEn = `(second|minute|hour|day|week|month|year)`
	countZh  = `(?:\d+|[一二两三四五六七八九十百]+)`
	periodZh = `(秒钟?|分钟|小时|天|日|周|星期|礼拜|月|年)`
)

var (
	frequencyEn = lazyregexp.New(`\b(?:(once|twice|thrice|` + countEn + `(?: ?(?:-|to|or) ?` + countEn + `)?(?: times?| ?x\b))` +
		`(?: (?:a|an|per|each|every) ?|/| in (?:a|one) )|every )(?:(other|second|` + countEn + `) )?` + periodEn + `s?\b`)
	frequencyZh = lazyregexp.New(`(?:每|一)\s*(` + countZh + `)??\s*个?\s*` + periodZh +
		`([\p{Han}a-z ]{0,12}?)\s*(` + countZh + `(?:\s*[到至-]\s*` + countZh + `)?)\s*(?:次|回|趟|遍)`)

	// Such a sentence tells of a frequency, of one time, or of somebody unnamed, and not how often one thing happens.
	noHabit = lazyregexp.New(`^(?:if|when|whenever|suppose|a|an|one|some|another)\b|^(?:如果|要是|假如|每当|有人|有些|有的)` +
		`|§ ?(?:is|are|was|were|would|can|could|should|may|might|means|helps|seems|sounds)\b|§(?:是|太|就|会|才|够|也|都|对|可以)` +
		`|[有那这第上下前]§|[了过]|[就才](?:够|行|好|可以|能)|[太最更][多少好]`)
	// What may be said or left out at will.
	atWill = lazyregexp.New(`\b(?:now|currently|nowadays|these days|at present|at the moment|the|my|our)\b` +
		`|现在|目前|如今|已经|(?:改|变|增加|减少|提高|降低)(?:成|为|到|至)`)
	thirdPerson = lazyregexp.New(`\b([a-z]+?)(?:(o|ch|sh|ss|x)es|([^s\W])s)\b`)
	userIsI     = strings.NewReplacer("the user's", "my", "user's", "my", "the user", "i", "user", "i", "用户", "我")
)

// frequencyOf splits a lower-case statement that tells how often something happens into what happens, with the period
// that is counted in, and how often. ok is false for other statements and where there are two frequencies.
//
// With another period it is another slot: "three times a week" and "ten times a month" both may be true.
func frequencyOf(s string) (slot, value string, ok bool) {
	s = userIsI.Replace(strings.TrimSuffix(s, "了"))
	var what, count, periods, period string
	if m := onlyMatch(frequencyEn, s); m != nil {
		what, count, periods, period = s[:m[0]]+"§"+s[m[1]:], group(s, m, 1), group(s, m, 2), group(s, m, 3)
		count = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(count, "s"), " time"), " x")
	} else if m := onlyMatch(frequencyZh, s); m != nil {
		what = s[:m[0]] + "§" + group(s, m, 3) + s[m[1]:]
		periods, period, count = group(s, m, 1), group(s, m, 2), group(s, m, 4)
	}
	if what == "" || noHabit.MatchString(what) {
		return "", "", false
	}
	what = atWill.ReplaceAllString(strings.ReplaceAll(what, "§", " "), " ")
	what = thirdPerson.ReplaceAllString(what, "$1$2$3")
	if isHan(what) {
		what = strings.ReplaceAll(what, " ", "")
	}
	what = strings.Join(strings.FieldsFunc(what, func(r rune) bool { return strings.ContainsRune(" ,，:：", r) }), " ")
	if what == "" {
		return "", "", false
	}
	value = fmt.Sprintf("%s times in %s", digits(count), digits(periods))
	return oftenIn + periodName(period) + ": " + what, value, true
}

// oftenIn begins the slot of a frequency, before its period.
const oftenIn = "how often in a "

// otherFrequency reports whether two statements tell of different frequencies, so that neither says more of the other.
func otherFrequency(a, b *parsedClaim) bool {
	inA, ofA := strings.CutPrefix(a.slot, oftenIn)
	inB, ofB := strings.CutPrefix(b.slot, oftenIn)
	periodA, _, _ := strings.Cut(inA, ":")
	periodB, _, _ := strings.Cut(inB, ":")
	return ofA && ofB && (periodA != periodB || a.value != b.value)
}

// onlyMatch returns where re matches s, nil if it matches twice or not at all.
func onlyMatch(re *lazyregexp.Pattern, s string) []int {
	if all := re.FindAllStringSubmatchIndex(s, 2); len(all) == 1 {
		return all[0]
	}
	return nil
}

// group returns group i of a match, "" if it did not take part.
func group(s string, m []int, i int) string {
	if m[2*i] < 0 {
		return ""
	}
	return s[m[2*i]:m[2*i+1]]
}

// countWord is a count within a range.
var countWord = lazyregexp.New(`\d+|[a-z]+|[一二两三四五六七八九十百]+`)

// digits writes the counts of "three to four" as numbers; "" is 1.
func digits(count string) string {
	var out []string
	for _, w := range countWord.FindAllString(count, -1) {
		switch {
		case w == "to", w == "or":
			continue
		case w == "once", w == "one":
			w = "1"
		case w == "twice", w == "other", w == "second":
			w = "2"
		case w == "thrice":
			w = "3"
		case numerals[w] != "":
			w = numerals[w]
		case isHan(w):
			w = hanValue(w)
		}
		out = append(out, w)
	}
	if out == nil {
		return "1"
	}
	return strings.Join(out, " to ")
}

// periodName is one name for a period in Chinese.
func periodName(period string) string {
	switch period {
	case "日":
		return "天"
	case "星期", "礼拜":
		return "周"
	}
	return strings.TrimSuffix(period, "钟")
}
