package analysis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// DateRange is a period that a query names, From inclusive, Before exclusive. Bytes [Start, End) of the query name it.
type DateRange struct {
	From, Before time.Time
	Start, End   int
	Kind         DateKind
}

// DateKind is how a query names a period.
type DateKind uint8

// The kinds of dates.
const (
	CalendarDate DateKind = iota // by the calendar: "3 May", "in 2023"
	PastDate                     // from now backwards: "yesterday", "last week"
	PresentDate                  // the time around now: "today", "this week"
)

// Contains reports whether t is in the period.
func (d DateRange) Contains(t time.Time) bool { return !t.Before(d.From) && t.Before(d.Before) }

// IsDay reports whether the period is one day.
func (d DateRange) IsDay() bool { return d.Before.Equal(d.From.AddDate(0, 0, 1)) }

// ISO is the period as memories usually write it: a day or a month, "" for anything else.
func (d DateRange) ISO() string {
	switch {
	case d.IsDay():
		return d.From.Format(time.DateOnly)
	case d.From.Day() == 1 && d.Before.Equal(d.From.AddDate(0, 1, 0)):
		return d.From.Format("2006-01")
	}
	return ""
}

// dateForm is one way to write a date. The expression runs only on a query that contains one of needs in lower case.
type dateForm struct {
	needs   []string
	pattern *lazyregexp.Pattern
	resolve func(group []string, now time.Time) (from, to time.Time, ok bool)
}

const (
	monthNames = `(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb` +
		`|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)`
	weekdayNames = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)`
	ordinal      = `(\d{1,2})(?:st|nd|rd|th)?`
	hanNumber    = `(\d{1,3}|[一二两三四五六七八九十]{1,3})`
)

var (
	anyMonth = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	digits   = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
)

// calendarForms and then relativeForms are tried in order; the first that matches a part of the query reads it.
var calendarForms = []dateForm{
	{digits, lazyregexp.New(`(?:^|[^\d])((\d{4})[-/.](\d{1,2})[-/.](\d{1,2}))(?:[^\d]|$)`),
		func(g []string, _ time.Time) (time.Time, time.Time, bool) {
			return day(parseNumber(g[2]), parseNumber(g[3]), parseNumber(g[4]))
		}},
	{[]string{"年"}, lazyregexp.New(`((\d{4})\s?年\s?(\d{1,2})\s?月(?:\s?(\d{1,2})\s?[日号號])?)`),
		func(g []string, _ time.Time) (time.Time, time.Time, bool) {
			return dayOrMonth(parseNumber(g[2]), parseNumber(g[3]), g[4])
		}},
	{[]string{"月"}, lazyregexp.New(`((今年|去年|前年)?的?` + hanNumber + `月(?:份|` + hanNumber + `[日号號])?)`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return inYear(g[2], parseNumber(g[3]), g[4], now)
		}},
	{anyMonth, lazyregexp.New(`(?i)\b(` + monthNames + `\.? ` + ordinal + `(?:,? (\d{4}))?)\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return inYear(g[4], parseMonth(g[2]), g[3], now)
		}},
	{anyMonth, lazyregexp.New(`(?i)\b(` + ordinal + `(?: of)? ` + monthNames + `(?:,? (\d{4}))?)\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return inYear(g[4], parseMonth(g[3]), g[2], now)
		}},
	{anyMonth, lazyregexp.New(`(?i)\b(` + monthNames + `,? (\d{4}))\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return inYear(g[3], parseMonth(g[2]), "", now)
		}},
	{anyMonth, lazyregexp.New(`(?i)\b((?:in|last|this|during|since|of|early|late|mid|until) ` + monthNames + `)\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return inYear("", parseMonth(g[2]), "", now)
		}},
	{digits, lazyregexp.New(`(?i)(\bin (\d{4})\b|\b(\d{4})年)`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			y := parseNumber(g[2] + g[3])
			from := time.Date(y, 1, 1, 0, 0, 0, 0, now.Location())
			return from, from.AddDate(1, 0, 0), y >= 1970 && y <= now.Year()+50
		}},
}

// relativeForms count from now.
var relativeForms = []dateForm{
	{[]string{"today", "yesterday"}, lazyregexp.New(`(?i)\b(today|yesterday|the day before yesterday)\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return daysAgo(map[byte]int{'t': 0, 'y': 1}[strings.ToLower(g[1])[0]], now)
		}},
	{[]string{"今", "昨", "前"}, lazyregexp.New(`(今天|昨天|昨晚|昨日|今日|今早|今晚|前天)`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			return daysAgo(map[string]int{"今": 0, "昨": 1, "前": 2}[g[1][:len("今")]], now)
		}},
	{[]string{"day"}, lazyregexp.New(`(?i)\b((?:last|this|past|on) ` + weekdayNames + `)\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			back := (int(now.Weekday()) - parseWeekday(g[2]) + 7) % 7
			if back == 0 && !strings.EqualFold(g[1][:2], "on") && !strings.EqualFold(g[1][:2], "th") {
				back = 7
			}
			return daysAgo(back, now)
		}},
	{[]string{"周", "星期", "礼拜", "週"}, lazyregexp.New(`(([上这這本])个?(?:周|週|星期|礼拜)([一二三四五六日天]))`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			monday := (int(now.Weekday()) + 6) % 7
			if g[2] == "上" {
				monday += 7
			}
			return daysAgo(monday-parseHanWeekday(g[3]), now)
		}},
	{[]string{"week", "month", "year"}, lazyregexp.New(`(?i)\b((last|past|this) (week|month|year))\b`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			n := 1
			if strings.EqualFold(g[2], "this") {
				n = 0
			}
			return calendar(strings.ToLower(g[3]), n, now)
		}},
	{[]string{"周", "星期", "礼拜", "月", "年", "週"}, lazyregexp.New(`(([上这這本])个?(周|週|星期|礼拜|月)|[去今前]年)`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			n := map[string]int{"上": 1, "去": 1, "前": 2}[g[1][:len("上")]]
			unit := "week"
			switch {
			case strings.HasSuffix(g[1], "月"):
				unit = "month"
			case strings.HasSuffix(g[1], "年"):
				unit = "year"
			}
			return calendar(unit, n, now)
		}},
	{[]string{"ago"}, lazyregexp.New(`(?i)\b((\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (day` +
		`|week|month|year)s? ago)\b`), func(g []string, now time.Time) (time.Time, time.Time, bool) {
		return ago(parseNumber(g[2]), strings.ToLower(g[3]), now)
	}},
	{[]string{"前"}, lazyregexp.New(`(` + hanNumber + `(天|个?星期|周|週|个月|年)(?:之|以)?前)`),
		func(g []string, now time.Time) (time.Time, time.Time, bool) {
			units := map[string]string{"天": "day", "个月": "month", "年": "year"}
			unit := units[g[3]]
			if unit == "" {
				unit = "week"
			}
			return ago(parseNumber(g[2]), unit, now)
		}},
}

// maxDateText is how many bytes of a query are searched for dates.
const maxDateText = 2000

// ParseDates reads the dates of a normalised query, relative ones against now. Days begin in the location of now.
func ParseDates(query string, now time.Time) []DateRange {
	text := query[:min(len(query), maxDateText)]
	lower := strings.ToLower(text)
	found := numericDates(text, now)
	for i, form := range slices.Concat(calendarForms, relativeForms) {
		if !containsAny(lower, form.needs) {
			continue
		}
		for _, at := range form.pattern.FindAllStringSubmatchIndex(text, 4) {
			d := DateRange{Start: at[2], End: at[3]}
			// Forms are tried from the most exact one on; "March 2024" must not be found again within "3 March
			// 2024".
			if Overlaps(found, d.Start, d.End) {
				continue
			}
			group := make([]string, len(at)/2)
			for i := range group {
				if at[2*i] >= 0 {
					group[i] = text[at[2*i]:at[2*i+1]]
				}
			}
			var ok bool
			if d.From, d.Before, ok = form.resolve(group, now); ok {
				d.From, d.Before = inLocation(d.From, now), inLocation(d.Before, now)
				switch {
				case i < len(calendarForms):
				case d.Contains(now):
					d.Kind = PresentDate
				default:
					d.Kind = PastDate
				}
				found = append(found, d)
			}
		}
	}
	return found
}

// numericDate is 17.03.2026, or 03/17/2026 and 17/03/2026.
var numericDate = lazyregexp.New(`(?:^|[^\d./])((\d{1,2})([./])(\d{1,2})[./]((?:19|20)\d{2}))(?:[^\d./]|$)`)

// numericDates reads dates with the year last. With dots the day is first. With slashes it may be the month: then both
// readings count where both are dates.
func numericDates(text string, now time.Time) (found []DateRange) {
	if !strings.ContainsAny(text, "./") {
		return nil
	}
	for _, at := range numericDate.FindAllStringSubmatchIndex(text, 4) {
		first, second := parseNumber(text[at[4]:at[5]]), parseNumber(text[at[8]:at[9]])
		year, slash := parseNumber(text[at[10]:at[11]]), text[at[6]] == '/'
		add := func(month, d int) {
			if from, before, ok := day(year, month, d); ok {
				found = append(found, DateRange{
					From: inLocation(from, now), Before: inLocation(before, now), Start: at[2], End: at[3],
				})
			}
		}
		add(second, first)
		if slash && first != second {
			add(first, second)
		}
	}
	return found
}

// inLocation reads the calendar date of t in the location of now.
func inLocation(t, now time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location())
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// Overlaps reports whether bytes [start, end) of the query belong to one of the dates.
func Overlaps(dates []DateRange, start, end int) bool {
	for _, d := range dates {
		if start < d.End && d.Start < end {
			return true
		}
	}
	return false
}

// day is the span of one date. time.Date normalises 31 February to March; such a date is no date here.
func day(y, m, d int) (from, to time.Time, ok bool) {
	from = time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 0, 1), from.Month() == time.Month(m) && from.Day() == d && y >= 1900
}

// dayOrMonth is the span of a date, or of the whole month where no day is given.
func dayOrMonth(y, m int, d string) (from, to time.Time, ok bool) {
	if d != "" {
		return day(y, m, parseNumber(d))
	}
	from = time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 0), m >= 1 && m <= 12
}

// inYear resolves a month, or a day of it, whose year may be missing: then it is the newest that has begun.
func inYear(year string, m int, d string, now time.Time) (from, to time.Time, ok bool) {
	switch year {
	case "":
		from, to, ok = dayOrMonth(now.Year(), m, d)
		if ok && from.After(now) {
			return dayOrMonth(now.Year()-1, m, d)
		}
		return from, to, ok
	case "今年":
		return dayOrMonth(now.Year(), m, d)
	case "去年":
		return dayOrMonth(now.Year()-1, m, d)
	case "前年":
		return dayOrMonth(now.Year()-2, m, d)
	}
	return dayOrMonth(parseNumber(year), m, d)
}

// daysAgo is the span of the day so many days before now, in the calendar of now's zone.
func daysAgo(n int, now time.Time) (from, to time.Time, ok bool) {
	from = time.Date(now.Year(), now.Month(), now.Day()-n, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 0, 1), true
}

// calendar is the week (from Monday), month or year n before the current one.
func calendar(unit string, n int, now time.Time) (from, to time.Time, ok bool) {
	switch unit {
	case "week":
		from, _, _ = daysAgo((int(now.Weekday())+6)%7+7*n, now)
		return from, from.AddDate(0, 0, 7), true
	case "month":
		from = time.Date(now.Year(), now.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 1, 0), true
	}
	from = time.Date(now.Year()-n, 1, 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(1, 0, 0), true
}

// ago is the day n days back, the week around the day n weeks back, the month n months back, the year n years back.
func ago(n int, unit string, now time.Time) (from, to time.Time, ok bool) {
	switch unit {
	case "day":
		return daysAgo(n, now)
	case "week":
		from, _, _ = daysAgo(7*n+3, now)
		return from, from.AddDate(0, 0, 7), true
	}
	return calendar(unit, n, now)
}

// parseMonth is 1 to 12, 0 for no month.
func parseMonth(name string) int {
	name = strings.ToLower(name)
	for i, m := range anyMonth {
		if strings.HasPrefix(name, m) {
			return i + 1
		}
	}
	return 0
}

// parseWeekday returns 0 to 6 from Sunday on; the caller's pattern has matched one of the names.
func parseWeekday(name string) int {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(d.String(), name) {
			return int(d)
		}
	}
	return 0
}

// parseHanWeekday counts from Monday, 0, to Sunday, 6.
func parseHanWeekday(s string) int {
	if s == "天" || s == "日" {
		return 6
	}
	return parseNumber(s) - 1
}

var numerals = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10,
	"一":   1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}

// parseNumber reads digits, an English word up to ten, or Chinese numerals below a hundred.
func parseNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if n, ok := numerals[strings.ToLower(s)]; ok {
		return n
	}
	tens, units, found := strings.Cut(s, "十")
	if !found {
		return 0
	}
	n := 10 * max(1, numerals[tens])
	return n + numerals[units]
}
