package dailylog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// clockLayouts are the forms of a wall clock time that occur in files.
var clockLayouts = [...]string{time.TimeOnly, "15:04"}

// Complete fills in what entries of other programs lack. An entry without an id, or with one that an earlier entry
// has, gets an id derived from the day, its position and its content: the same file gives the same ids every time.
// An entry without at gets the instant of its wall clock time on that day in loc, one without time that of at.
// f.Day.Date must be a date. The notes say what was changed and hold no text of an entry.
func (f *File) Complete(loc *time.Location) (notes []string) {
	seen := make(map[string]bool, len(f.Entries))
	for _, n := range f.Entries {
		seen[n.ID] = n.ID != ""
	}
	first := make(map[string]bool, len(f.Entries))
	for i, n := range f.Entries {
		if n.ID == "" || first[n.ID] {
			if n.ID != "" {
				notes = append(
					notes,
					fmt.Sprintf("entries[%d]: an earlier entry has the id %q too; gave it another one", i, n.ID),
				)
			}
			n.ID = f.deriveID(i, n.Content, seen)
		}
		first[n.ID] = true
		switch {
		case n.At.IsZero():
			at, err := clock(f.Day.Date, n.Time, loc)
			if err != nil {
				notes = append(
					notes,
					fmt.Sprintf(
						"entries[%d]: the time is not understood; kept as it is, and placed at the start of the day",
						i,
					),
				)
			}
			n.At = at
		case n.Time == "":
			n.Time = n.At.Format(time.TimeOnly)
		}
	}
	return notes
}

// deriveID derives a free id.
func (f *File) deriveID(ordinal int, content string, seen map[string]bool) string {
	for salt := 0; ; salt++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", f.Day.Date, ordinal, salt, content))
		if id := hex.EncodeToString(sum[:6]); !seen[id] {
			seen[id] = true
			return id
		}
	}
}

// clock returns the instant of a wall clock time on a day, the start of the day when there is none.
func clock(date, wall string, loc *time.Location) (time.Time, error) {
	midnight, err := time.ParseInLocation(time.DateOnly, date, loc)
	if err != nil || wall == "" {
		return midnight, err
	}
	for _, layout := range clockLayouts {
		at, parseErr := time.ParseInLocation(time.DateOnly+" "+layout, date+" "+wall, loc)
		if parseErr == nil {
			return at, nil
		}
		err = parseErr
	}
	return midnight, err
}
