package guard

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The kinds of tokens. All but plainToken are protected.
type tokenKind byte

const (
	plainToken tokenKind = iota
	numberToken
	nameToken
	unitToken  // behind a number
	limitToken // changes what a statement covers: only, always, before, 至少
)

// token is a word, a number or a Chinese character of a text, normalised and in lower case.
type token struct {
	key  string
	kind tokenKind
}

var (
	limit = lazyregexp.New(`^(?i:(?:only|always|must|unless|except|before|after|until|below|above|least|most|more|less|` +
		`maximum|minimum|max|min)\b)|^(?:必须|只能|除非|至少|至多|最多|最少|以上|以下|以内|之前|之后)`)
	atIdentifier = lazyregexp.New(`^(?:[\p{Latin}_][\p{Latin}\d]*(?:[_./\\:@-]+[\p{Latin}\d]+)+|\p{Latin}+\d[\p{Latin}\d]*)`)
	atNumber     = lazyregexp.New(`^\d+(?:[.,:/-]\d+)*`)
	atHanNumber  = lazyregexp.New(`^([一二两三四五六七八九十百千万]+)(点|号|日|月|年|台|岁|块|元|人|天|小时|分钟|周|次|层|楼)`)
	atWord       = lazyregexp.New(`^[\p{L}\p{M}\d]+(?:['’-][\p{L}\p{M}\d]+)*`)
	atUnit       = lazyregexp.New(`^ ?(%|[€$£¥]|(?i:(?:ms|sec|seconds?|min|minutes?|hours?|hrs?|days?|weeks?|months?|years?|` +
		`[kmgt]i?b|bytes?|bits?|[kmc]m|miles?|[km]?g|lbs?|km/h|mph|usd|eur|gbp|chf|jpy|cny|rmb|euros?|dollars?|pounds?|` +
		`percent|degrees?|celsius|fahrenheit|rpm|rps|qps|[kmg]?hz|volts?|watts?|[kc]al|litres?|liters?|people|persons?|users?|` +
		`nodes?|pages?|times?)\b)|(?:毫秒|毫克|毫升|毫米|升|秒|分钟|小时|天|周|个月|年|岁|元|块|美元|欧元|公斤|千克|克|公里|千米|米|厘米|人|台|次|页|度))`)
	atQuoted = lazyregexp.New("^(?:[「『《“]([^」』》”]{1,40})[」』》”]|`([^`\\n]{1,80})`)")
	isoDate  = lazyregexp.New(`\d{4}-\d{2}-\d{2}`)
	currency = lazyregexp.New(`^[€$£¥]`)
)

// tokensOf splits a text for comparison. Punctuation and what quotes enclose keep no token of their own.
func tokensOf(text string) (out []token) {
	text = norm.NFKC.String(text)
	names := protectedTokensOf(text).Names
	nameWords := map[string]bool{}
	for n := range names {
		for w := range strings.FieldsSeq(n) {
			nameWords[w] = true
		}
	}
	add := func(key string, kind tokenKind) { out = append(out, token{strings.ToLower(key), kind}) }
	for i := 0; i < len(text); {
		rest := text[i:]
		if m := atQuoted.FindStringSubmatch(rest); m != nil {
			add(strings.TrimSpace(m[1]+m[2]), nameToken)
			i += len(m[0])
			continue
		}
		if m := atHanNumber.FindStringSubmatch(rest); m != nil {
			add(hanValue(m[1]), numberToken)
			add(m[2], unitToken)
			i += len(m[0])
			continue
		}
		if w := limit.FindString(rest); w != "" && !insideWord(text, i) {
			add(w, limitToken)
			i += len(w)
			continue
		}
		if w := currency.FindString(rest); w != "" {
			add(w, unitToken)
			i += len(w)
			continue
		}
		n := len(atIdentifier.FindString(rest))
		if n > 0 && !insideWord(text, i) && !plainHyphen(rest[:n]) {
			add(rest[:n], nameToken)
			i += n
			continue
		}
		if n = len(atNumber.FindString(rest)); n > 0 {
			add(strings.ReplaceAll(rest[:n], ",", ""), numberToken)
			i += n
			if m := atUnit.FindStringSubmatch(text[i:]); m != nil {
				add(strings.TrimSuffix(strings.ToLower(m[1]), "s"), unitToken)
				i += len(m[0])
			}
			continue
		}
		r := []rune(rest[:min(len(rest), 4)])[0]
		if unicode.Is(unicode.Han, r) {
			add(string(r), plainToken)
			i += len(string(r))
			continue
		}
		w := latinPart(atWord.FindString(rest))
		if w == "" {
			i += len(string(r))
			continue
		}
		switch low := strings.ToLower(w); {
		case numerals[low] != "":
			add(numerals[low], numberToken)
		case titles[low]:
			add(w, plainToken)
		case nameWords[low], nameWords[strings.TrimSuffix(low, "'s")]:
			add(strings.TrimSuffix(low, "'s"), nameToken)
		default:
			add(w, plainToken)
		}
		i += len(w)
	}
	return out
}

// titles stand before a name and name nobody by themselves.
var titles = wordSet("mr mrs ms miss dr prof sir madam")

// latinPart cuts a word before its first Chinese character.
func latinPart(w string) string {
	if i := strings.IndexFunc(w, func(r rune) bool { return unicode.Is(unicode.Han, r) }); i >= 0 {
		return w[:i]
	}
	return w
}

// insideWord reports whether position i of text continues a Latin word.
func insideWord(text string, i int) bool { return hasLatinEdge(strings.ToLower(text[:i]), true) }

// hunk is a place where two texts differ: what was removed, and what stands there instead.
type hunk struct{ removed, added []token }

// maxCells bounds the table of diff. Longer texts are one hunk but for their common beginning and end.
const maxCells = 1 << 21

// diff returns the hunks between two texts, by a longest common subsequence of their tokens.
func diff(a, b []token) (hunks []hunk) {
	equal := func(x, y token) bool { return x.key == y.key }
	start := 0
	for start < min(len(a), len(b)) && equal(a[start], b[start]) {
		start++
	}
	a, b = a[start:], b[start:]
	end := 0
	for end < min(len(a), len(b)) && equal(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	a, b = a[:len(a)-end], b[:len(b)-end]
	if len(a)*len(b) > maxCells {
		return []hunk{{a, b}}
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if equal(a[i], b[j]) {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		from, at := i, j
		for i < len(a) || j < len(b) {
			switch {
			case i < len(a) && j < len(b) && equal(a[i], b[j]):
			case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
				i++
				continue
			default:
				j++
				continue
			}
			break
		}
		if i > from || j > at {
			hunks = append(hunks, hunk{a[from:i], b[at:j]})
		}
		i, j = i+1, j+1
	}
	return hunks
}
