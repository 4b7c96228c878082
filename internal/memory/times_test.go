package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// TestYears: times and dates outside of the years 1970 to 9999 are violations, in UTC and wherever they stand.
func TestYears(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for text, valid := range map[string]bool{
		"1970-01-01T00:00:00Z": true, "1970-01-01T02:00:00+02:00": true, "2026-02-21T10:00:00Z": true,
		"9999-12-31T23:59:59Z": true, "1969-12-31T23:59:59Z": false, "1970-01-01T00:00:00+02:00": false,
		"9999-12-31T23:59:59-01:00": false, "0001-01-01T00:00:01Z": false,
	} {
		var check memory.Check
		check.Entry("", &memory.Entry{ID: "e", Type: "event", Content: "x", At: at(text)})
		if (check.Err() == nil) != valid {
			t.Errorf("entry at %s: %v", text, check.Err())
		}
		for _, field := range []string{"created_at", "last_accessed", "updated_at", "expires_at"} {
			m := &memory.Memory{ID: "a", Category: "facts", Content: "x", Source: "import", More: new(memory.More)}
			for _, f := range memory.Fields {
				if f.Name == field {
					*f.Pointer(m).(*time.Time) = at(text)
				}
			}
			var check memory.Check
			check.Memory("", m)
			invalid, ok := errors.AsType[*memory.InvalidError](check.Err())
			if ok == valid || ok && (invalid.Violations[0].Field != field || invalid.Violations[0].Reason != "INVALID_TIME") {
				t.Errorf("%s %s: %v", field, text, check.Err())
			}
		}
	}
	for date, valid := range map[string]bool{"1970-01-01": true, "9999-12-31": true, "1969-12-31": false, "0000-01-01": false} {
		var check memory.Check
		check.Date("date", date)
		if (check.Err() == nil) != valid {
			t.Errorf("%s: %v", date, check.Err())
		}
	}
}
