package markdownv1

import (
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

const (
	datePart = `(\d{4})(?:[-/.]|年)(\d{1,2})(?:[-/.]|月)(\d{1,2})日?`
	timePart = `(上午|下午|晚上|凌晨|中午)?\s*(\d{1,2})(?:[:：]|时|点)(\d{2})分?(?:[:：]?(\d{2})秒?(?:[.,](\d{1,9}))?)?(?:\s*([AaPp])\.?[Mm]\b\.?)?`
	zonePart = `(?:\s*(Z\b|UTC\b|[+-]\d{2}:?\d{2}\b))?`
)

var (
	stampDate   = lazyregexp.New(`^` + datePart)
	stampTime   = lazyregexp.New(`^` + timePart + zonePart)
	dateTimeGap = lazyregexp.New(`^(?:[Tt]|[,，]?\s+|\s*(?:周|星期|礼拜)[一二三四五六日天]\s*|\s+[A-Z][a-z]{2,8}\s+)?`)
)

// timestamp is a point in time as a text gives it.
type timestamp struct {
	date  string // "2026-02-20", empty for a time of day only
	clock string // "14:30:05", empty for a date only
	nanos int
	zone  *time.Location // nil when there is none
}

// parseTimestamp reads a date, a time, or both from the start of text.
func parseTimestamp(text string) (s timestamp, rest string, ok bool) {
	rest = text
	if m := stampDate.FindStringSubmatch(rest); m != nil {
		date := m[1] + "-" + twoDigits(m[2]) + "-" + twoDigits(m[3])
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return timestamp{}, text, false
		}
		s.date, rest = date, rest[len(m[0]):]
		gap := dateTimeGap.FindString(rest)
		if later, behind, ok := parseClock(rest[len(gap):]); ok {
			later.date = s.date
			return later, behind, true
		}
		if strings.HasPrefix(rest, "-") || startsWithDigit(rest) {
			return timestamp{}, text, false // a longer number
		}
		return s, rest, true
	}
	return parseClock(rest)
}

// startsWithDigit tells a time from the beginning of a longer number.
func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// parseClock reads a time of day, in the English 12-hour, the Chinese and the 24-hour form, with an optional zone.
func parseClock(text string) (s timestamp, rest string, ok bool) {
	m := stampTime.FindStringSubmatch(text)
	if m != nil && m[4] == "" && strings.ContainsAny(m[7], "+-") {
		m[0], m[7] = strings.TrimRight(m[0][:len(m[0])-len(m[7])], " \t"), "" // from 14:30-15:00
	}
	if m == nil || startsWithDigit(text[len(m[0]):]) {
		return timestamp{}, text, false
	}
	hour, _ := strconv.Atoi(m[2])
	minute, _ := strconv.Atoi(m[3])
	second := 0
	if m[4] != "" {
		second, _ = strconv.Atoi(m[4])
	}
	switch late := m[1] == "下午" || m[1] == "晚上" || strings.EqualFold(m[6], "p"); {
	case late && hour < 12, m[1] == "中午" && hour < 3:
		hour += 12
	case (strings.EqualFold(m[6], "a") || m[1] == "凌晨" || m[1] == "上午") && hour == 12:
		hour = 0
	}
	if hour > 23 || minute > 59 || second > 59 {
		return timestamp{}, text, false
	}
	s.clock = twoDigits(
		strconv.Itoa(hour),
	) + ":" + twoDigits(
		strconv.Itoa(minute),
	) + ":" + twoDigits(
		strconv.Itoa(second),
	)
	if m[5] != "" {
		s.nanos, _ = strconv.Atoi((m[5] + "00000000")[:9])
	}
	switch zone := strings.ReplaceAll(m[7], ":", ""); {
	case zone == "Z", zone == "UTC":
		s.zone = time.UTC
	case zone != "":
		hours, _ := strconv.Atoi(zone[1:3])
		minutes, _ := strconv.Atoi(zone[3:])
		if hours > 14 || minutes > 59 {
			return timestamp{}, text, false
		}
		offset := hours*3600 + minutes*60
		if zone[0] == '-' {
			offset = -offset
		}
		s.zone = time.FixedZone("", offset)
	}
	return s, text[len(m[0]):], true
}

// twoDigits pads a number of one digit.
func twoDigits(digits string) string {
	if len(digits) == 1 {
		return "0" + digits
	}
	return digits
}

// at returns the instant. Without a date it is a time on day, without a time the start of the day, without a zone
// in loc.
func (s timestamp) at(day string, loc *time.Location) time.Time {
	if s.date != "" {
		day = s.date
	}
	if s.zone != nil {
		loc = s.zone
	}
	clock := s.clock
	if clock == "" {
		clock = "00:00:00"
	}
	t, err := time.ParseInLocation(time.DateTime, day+" "+clock, loc)
	if y := t.UTC().Year(); err != nil || y < 1 || y > 9998 {
		return time.Time{}
	}
	return t.Add(time.Duration(s.nanos))
}

var (
	inBrackets = lazyregexp.New(`^\s*[\[【(（<]\s*([^\[\]【】()（）<>]*?)\s*[\]】)）>]`)
	inEmphasis = lazyregexp.New("^\\s*(?:\\*\\*([^*]+?)\\*\\*|__([^_]+?)__|`([^`]+?)`)")
	separator  = lazyregexp.New(`^\s*(?:[:：|–—]|-+(?:\s|$)|->|→)\s*`)
)

// leadingTimestamp reads a timestamp from the start of text: in brackets, in bold, or followed by ":", "-" or the
// like. With bare, white space after it is enough.
func leadingTimestamp(text string, bare bool) (s timestamp, rest string, ok bool) {
	for _, form := range []*lazyregexp.Pattern{inBrackets, inEmphasis} {
		m := form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		inside := strings.TrimRight(strings.Join(m[1:], ""), ":： ")
		if s, left, ok := parseTimestamp(inside); ok && strings.TrimSpace(left) == "" {
			rest := text[len(m[0]):]
			return s, strings.TrimSpace(rest[len(separator.FindString(rest)):]), true
		}
	}
	s, rest, ok = parseTimestamp(strings.TrimSpace(text))
	if !ok {
		return timestamp{}, text, false
	}
	sep := separator.FindString(rest)
	if sep == "" && !(bare && (rest == "" || rest[0] == ' ' || rest[0] == '\t')) {
		return timestamp{}, text, false
	}
	return s, strings.TrimSpace(rest[len(sep):]), true
}

var bracketsAtEnd = lazyregexp.New(`[\[【(（]\s*([^\[\]【】()（）]*?)\s*[\]】)）]\s*[.。]?\s*$`)

// trailingTimestamp finds a timestamp with a date in brackets at the end of text. It stays there: it may be part of
// what is said.
func trailingTimestamp(text string) (timestamp, bool) {
	if m := bracketsAtEnd.FindStringSubmatch(text); m != nil {
		if s, left, ok := parseTimestamp(m[1]); ok && left == "" && s.date != "" {
			return s, true
		}
	}
	return timestamp{}, false
}

// findDate finds a date anywhere in text and returns the text without it.
func findDate(text string) (date, rest string) {
	for i := range text {
		if !startsWithDigit(text[i:]) || i > 0 && startsWithDigit(text[i-1:]) {
			continue
		}
		if m := stampDate.FindString(text[i:]); m != "" && !startsWithDigit(text[i+len(m):]) {
			if s, _, ok := parseTimestamp(m); ok {
				return s.date, text[:i] + text[i+len(m):]
			}
		}
	}
	return "", text
}
