package foreign

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// layouts of times that JSON exports use; those without a zone are in UTC there.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.DateTime, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// when is a time in whatever form; zero when it is none. Decoding it never fails.
type when struct{ time.Time }

// UnmarshalJSON reads a text or a number of seconds, or milliseconds, since 1970.
func (w *when) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		w.Time = timeOf(text, time.UTC)
		return nil
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil {
		w.Time = epoch(seconds)
	}
	return nil
}

func epoch(seconds float64) time.Time {
	if seconds > 1e11 {
		seconds /= 1000
	}
	if !(seconds > 0 && seconds < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return sane(time.Unix(int64(whole), int64(math.Round(part*1e6))*1000).UTC())
}

// timeOf reads a time, one without a zone as one in loc.
func timeOf(text string, loc *time.Location) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, loc); err == nil {
			return sane(t)
		}
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 1e8 {
		return epoch(n)
	}
	return time.Time{}
}

// sane drops times that no export can mean.
func sane(t time.Time) time.Time {
	if y := t.UTC().Year(); y < 1970 || y > 9990 {
		return time.Time{}
	}
	return t
}

// text is a string, or a number or boolean as a string; anything else is empty. Decoding it never fails.
type text string

// UnmarshalJSON reads any value.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	if c := raw[0]; c != '{' && c != '[' && c != 'n' {
		*t = text(raw)
	}
	return nil
}

// list is strings, or the strings of an array; other elements are left out. Decoding it never fails.
type list []string

// UnmarshalJSON reads any value.
func (l *list) UnmarshalJSON(raw []byte) error {
	var many []text
	if json.Unmarshal(raw, &many) != nil {
		var one text
		if json.Unmarshal(raw, &one) == nil && one != "" {
			many = []text{one}
		}
	}
	for _, s := range many {
		if s != "" {
			*l = append(*l, string(s))
		}
	}
	return nil
}
