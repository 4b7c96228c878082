package reflector

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var (
	// Group 1 is a preposition, 2 the expression, 3 and 4 number and unit of "in 3 days".
	relativeEn = lazyregexp.New(`(?i)\b((?:every|each|last|by|on|before|until|till|after|since|due|from` +
		`|for|to) )?(the day after tomorrow|tomorrow(?: (?:morning|afternoon|evening|night))?|today|tonight|yesterday` +
		`|next week|next month|(?:(?:next|this) )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)` +
		`|in (\d{1,3}|a|one|two|three) (days?|weeks?))\b`)
	// Group 1 marks recurrence, 2 is the expression, 3 the week, 4 and 5 number and unit.
	relativeZh = lazyregexp.New(`(每个?|上个?)?(大后天|后天|明天|今天|昨天|前天|今晚|明晚|明早|今早|(下下|下|这|本)?个?(?:周|星期|礼拜)[一二三四五六日天]|下个月` +
		`|(\d{1,3}|[一二两三])(天|周|个星期)(?:后|之后|以后))`)
	weekdays = map[string]int{"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6,
		"sunday": 7}
	numberWords = map[string]int{"a": 1, "one": 1, "two": 2, "three": 3, "一": 1, "二": 2, "两": 2, "三": 3}
)

// weekly matches days that may recur every week: "deploys run on Thursday".
var weekly = lazyregexp.New(`(?i)^(?:on |from |until |after |before )?(?:monday|tuesday|wednesday|thursday|friday` +
	`|saturday|sunday)$|^(?:周|星期|礼拜)[一二三四五六日天]$`)

// absoluteDates replaces relative dates by absolute ones, counted from day. Recurring dates such as "every Monday"
// stay; if recurring is set, so does "on Monday".
func absoluteDates(s string, day time.Time, recurring bool) string {
	s = relativeEn.ReplaceAllStringFunc(s, func(m string) string {
		g := relativeEn.FindStringSubmatch(m)
		prep, word := strings.ToLower(strings.TrimSpace(g[1])), strings.ToLower(g[2])
		if prep == "every" || prep == "each" || prep == "last" || recurring && weekly.MatchString(m) {
			return m
		}
		date := relativeDate(word, g[3], g[4], day)
		if date == "" {
			return m
		}
		if prep == "" {
			prep = "on"
			if strings.HasPrefix(word, "next m") {
				prep = "in"
			}
		} else {
			prep = strings.TrimSpace(g[1])
		}
		return prep + " " + date
	})
	return relativeZh.ReplaceAllStringFunc(s, func(m string) string {
		g := relativeZh.FindStringSubmatch(m)
		if g[1] != "" || recurring && weekly.MatchString(m) {
			return m
		}
		return relativeDateZh(g, day)
	})
}

// formatDate formats t as a date, 2006-01-02.
func formatDate(t time.Time) string { return t.Format(memory.DateLayout) }

// relativeDate resolves an English expression, the lower-case word, or n units from day; "" if unknown.
func relativeDate(word, n, unit string, day time.Time) string {
	base, part, _ := strings.Cut(word, " ")
	switch {
	case word == "the day after tomorrow":
		return formatDate(day.AddDate(0, 0, 2))
	case base == "tomorrow":
		return strings.TrimSpace(formatDate(day.AddDate(0, 0, 1)) + " " + part)
	case word == "today":
		return formatDate(day)
	case word == "tonight":
		return formatDate(day) + " (evening)"
	case word == "yesterday":
		return formatDate(day.AddDate(0, 0, -1))
	case word == "next week":
		return "the week of " + formatDate(weekdayOf(day, 1, 1))
	case word == "next month":
		return firstOfNext(day).Format("2006-01")
	case n != "":
		days := parseCount(n)
		if strings.HasPrefix(unit, "week") {
			days *= 7
		}
		return formatDate(day.AddDate(0, 0, days))
	case base == "next":
		return formatDate(weekdayOf(day, weekdays[part], 1))
	case base == "this":
		return formatDate(weekdayOf(day, weekdays[part], 0))
	}
	return formatDate(nextWeekday(day, weekdays[word]))
}

// relativeDateZh resolves a Chinese expression, given as the groups of relativeZh.
func relativeDateZh(g []string, day time.Time) string {
	word := g[2]
	for _, f := range []struct {
		word, part string
		days       int
	}{{"大后天", "", 3}, {"后天", "", 2}, {"明天", "", 1}, {"今天", "", 0}, {"昨天", "", -1}, {"前天", "", -2}, {"今晚", "晚上", 0},
		{"明晚", "晚上", 1}, {"明早", "早上", 1}, {"今早", "早上", 0}} {
		if word == f.word {
			return formatDate(day.AddDate(0, 0, f.days)) + f.part
		}
	}
	if word == "下个月" {
		return fmt.Sprintf("%d年%d月", firstOfNext(day).Year(), firstOfNext(day).Month())
	}
	if g[4] != "" {
		days := parseCount(g[4])
		if g[5] != "天" {
			days *= 7
		}
		return formatDate(day.AddDate(0, 0, days))
	}
	runes := []rune(word)
	w := strings.IndexRune("一二三四五六日", runes[len(runes)-1])/len("一") + 1
	if runes[len(runes)-1] == '天' {
		w = 7
	}
	switch g[3] {
	case "下下":
		return formatDate(weekdayOf(day, w, 2))
	case "下":
		return formatDate(weekdayOf(day, w, 1))
	case "这", "本":
		return formatDate(weekdayOf(day, w, 0))
	}
	return formatDate(nextWeekday(day, w))
}

// parseCount parses digits or a number word.
func parseCount(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return numberWords[strings.ToLower(s)]
}

// weekdayOf returns weekday w (1 is Monday) of the week that is weeks after the week of day.
func weekdayOf(day time.Time, w, weeks int) time.Time {
	today := (int(day.Weekday())+6)%7 + 1
	return day.AddDate(0, 0, w-today+7*weeks)
}

// nextWeekday returns the first weekday w after day.
func nextWeekday(day time.Time, w int) time.Time {
	d := weekdayOf(day, w, 0)
	if !d.After(day) {
		d = d.AddDate(0, 0, 7)
	}
	return d
}

// firstOfNext returns the first day of the month after day.
func firstOfNext(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, day.Location())
}
