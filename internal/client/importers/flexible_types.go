package importers

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// layouts of times that JSON exports use; those without a zone are in UTC there.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	time.DateTime, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// flexibleTime is a time in whatever form; zero when it is none. Decoding it never fails.
type flexibleTime struct{ time.Time }

// UnmarshalJSON reads a text or a number of seconds, or milliseconds, since 1970.
func (w *flexibleTime) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		w.Time = timeOf(text, time.UTC)
		return nil
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil {
		w.Time = fromEpoch(seconds)
	}
	return nil
}

// fromEpoch converts seconds or milliseconds since 1970 to a time. Values outside a plausible range give the zero time.
func fromEpoch(seconds float64) time.Time {
	if seconds > 1e11 {
		seconds /= 1000
	}
	if !(seconds > 0 && seconds < 1e11) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return plausible(time.Unix(int64(whole), int64(math.Round(part*1e6))*1000).UTC())
}

// timeOf reads a time, one without a zone as one in loc.
func timeOf(text string, loc *time.Location) time.Time {
	text = strings.TrimSpace(text)
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, loc); err == nil {
			return plausible(t)
		}
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 1e8 {
		return fromEpoch(n)
	}
	return time.Time{}
}

// plausible drops times that no export can mean.
func plausible(t time.Time) time.Time {
	if y := t.UTC().Year(); y < 1970 || y > 9990 {
		return time.Time{}
	}
	return t
}

// flexibleString is a string, or a number or boolean as a string; anything else is empty. Decoding it never fails.
type flexibleString string

// UnmarshalJSON reads any value.
func (t *flexibleString) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = flexibleString(s)
		return nil
	}
	if c := raw[0]; c != '{' && c != '[' && c != 'n' {
		*t = flexibleString(raw)
	}
	return nil
}

// flexibleStrings is strings, or the strings of an array; other elements are left out. Decoding it never fails.
type flexibleStrings []string

// UnmarshalJSON reads any value.
func (l *flexibleStrings) UnmarshalJSON(raw []byte) error {
	var many []flexibleString
	if json.Unmarshal(raw, &many) != nil {
		var one flexibleString
		if json.Unmarshal(raw, &one) == nil && one != "" {
			many = []flexibleString{one}
		}
	}
	for _, s := range many {
		if s != "" {
			*l = append(*l, string(s))
		}
	}
	return nil
}
