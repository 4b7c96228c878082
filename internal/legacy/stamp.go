package legacy

import (
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

const (
	datePart = `(\d{4})(?:[-/.]|年)(\d{1,2})(?:[-/.]|月)(\d{1,2})日?`
	timePart = `(上午|下午|晚上|凌晨|中午)?\s*(\d{1,2})(?:[:：]|时|点)(\d{2})分?(?:[:：]?(\d{2})秒?(?:[.,](\d{1,9}))?)?(?:\s*([AaPp])\.?[Mm]\b\.?)?`
	zonePart = `(?:\s*(Z\b|UTC\b|[+-]\d{2}:?\d{2}\b))?`
)

var (
	stampDate = pattern.New(`^` + datePart)
	stampTime = pattern.New(`^` + timePart + zonePart)
	stampGap  = pattern.New(`^(?:[Tt]|[,，]?\s+|\s*(?:周|星期|礼拜)[一二三四五六日天]\s*|\s+[A-Z][a-z]{2,8}\s+)?`)
)

// stamp is a point in time as it stands in a text.
type stamp struct {
	date  string // "2026-02-20", empty for a time of day only
	clock string // "14:30:05", empty for a date only
	nanos int
	zone  *time.Location // nil when there is none
}

// takeStamp reads a date, a time, or both from the start of text.
func takeStamp(text string) (s stamp, rest string, ok bool) {
	rest = text
	if m := stampDate.FindStringSubmatch(rest); m != nil {
		date := m[1] + "-" + two(m[2]) + "-" + two(m[3])
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return stamp{}, text, false
		}
		s.date, rest = date, rest[len(m[0]):]
		gap := stampGap.FindString(rest)
		if later, behind, ok := takeClock(rest[len(gap):]); ok {
			later.date = s.date
			return later, behind, true
		}
		if strings.HasPrefix(rest, "-") || startsWithDigit(rest) {
			return stamp{}, text, false // a longer number
		}
		return s, rest, true
	}
	return takeClock(rest)
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func takeClock(text string) (s stamp, rest string, ok bool) {
	m := stampTime.FindStringSubmatch(text)
	if m != nil && m[4] == "" && strings.ContainsAny(m[7], "+-") {
		m[0], m[7] = strings.TrimRight(m[0][:len(m[0])-len(m[7])], " \t"), "" // from 14:30-15:00
	}
	if m == nil || startsWithDigit(text[len(m[0]):]) {
		return stamp{}, text, false
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
		return stamp{}, text, false
	}
	s.clock = two(strconv.Itoa(hour)) + ":" + two(strconv.Itoa(minute)) + ":" + two(strconv.Itoa(second))
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
			return stamp{}, text, false
		}
		offset := hours*3600 + minutes*60
		if zone[0] == '-' {
			offset = -offset
		}
		s.zone = time.FixedZone("", offset)
	}
	return s, text[len(m[0]):], true
}

func two(digits string) string {
	if len(digits) == 1 {
		return "0" + digits
	}
	return digits
}

// at returns the instant. A stamp without date is one of day, one without time the start of the day; one without zone is in loc.
func (s stamp) at(day string, loc *time.Location) time.Time {
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
	inBrackets = pattern.New(`^\s*[\[【(（<]\s*([^\[\]【】()（）<>]*?)\s*[\]】)）>]`)
	inMarks    = pattern.New("^\\s*(?:\\*\\*([^*]+?)\\*\\*|__([^_]+?)__|`([^`]+?)`)")
	behind     = pattern.New(`^\s*(?:[:：|–—]|-+(?:\s|$)|->|→)\s*`)
)

// leadingStamp takes a stamp from the start of text: in brackets, in bold, or followed by ":", "-" or the like. With bare, white space
// behind it is enough.
func leadingStamp(text string, bare bool) (s stamp, rest string, ok bool) {
	for _, form := range []*pattern.Pattern{inBrackets, inMarks} {
		m := form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		inside := strings.TrimRight(strings.Join(m[1:], ""), ":： ")
		if s, left, ok := takeStamp(inside); ok && strings.TrimSpace(left) == "" {
			rest := text[len(m[0]):]
			return s, strings.TrimSpace(rest[len(behind.FindString(rest)):]), true
		}
	}
	s, rest, ok = takeStamp(strings.TrimSpace(text))
	if !ok {
		return stamp{}, text, false
	}
	sep := behind.FindString(rest)
	if sep == "" && !(bare && (rest == "" || rest[0] == ' ' || rest[0] == '\t')) {
		return stamp{}, text, false
	}
	return s, strings.TrimSpace(rest[len(sep):]), true
}

var trailing = pattern.New(`[\[【(（]\s*([^\[\]【】()（）]*?)\s*[\]】)）]\s*[.。]?\s*$`)

// trailingStamp finds a stamp with a date in brackets at the end of text. It may belong to what is said, so it stays there.
func trailingStamp(text string) (stamp, bool) {
	if m := trailing.FindStringSubmatch(text); m != nil {
		if s, left, ok := takeStamp(m[1]); ok && left == "" && s.date != "" {
			return s, true
		}
	}
	return stamp{}, false
}

// dateIn finds a date anywhere in text and returns the text without it.
func dateIn(text string) (date, rest string) {
	for i := range text {
		if !startsWithDigit(text[i:]) || i > 0 && startsWithDigit(text[i-1:]) {
			continue
		}
		if m := stampDate.FindString(text[i:]); m != "" && !startsWithDigit(text[i+len(m):]) {
			if s, _, ok := takeStamp(m); ok {
				return s.date, text[:i] + text[i+len(m):]
			}
		}
	}
	return "", text
}
