package journal

import (
	"fmt"
	"slices"
	"time"
)

// Trim removes the oldest segments whose records were all written before cutoff and are at or below lsn, which a
// snapshot must include. It never removes the newest segment. It returns how many it removed.
func (j *Journal) Trim(cutoff time.Time, lsn int64) (int, error) {
	j.filesMu.Lock()
	defer j.filesMu.Unlock()
	removed := 0
	for {
		j.mu.Lock()
		if len(j.segments) < 2 || j.segments[1].first-1 > lsn {
			j.mu.Unlock()
			return removed, nil
		}
		oldest, next := j.segments[0], j.segments[1]
		j.mu.Unlock()

		newest, err := j.Operation(next.first - 1)
		if err != nil {
			return removed, err
		}
		if !newest.At.Before(cutoff) {
			return removed, nil
		}
		j.mu.Lock()
		j.segments = j.segments[1:]
		j.mu.Unlock()
		if err := j.fs.Remove(oldest.name); err != nil {
			j.mu.Lock()
			j.segments = slices.Insert(j.segments, 0, oldest) // otherwise the next Trim would leave a gap
			j.mu.Unlock()
			return removed, fmt.Errorf("trim %s: %w", oldest.name, err)
		}
		if err := j.fs.SyncDir(dir); err != nil {
			return removed, fmt.Errorf("trim %s: %w", oldest.name, err)
		}
		removed++
	}
}
