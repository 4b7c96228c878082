package publish

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// waitingFiles are the files that were found out of date, after a start with many spaces for example. Each is no more
// than its key until its turn comes or it changes: then it gets a job. Scheduler.mu guards it.
type waitingFiles struct {
	files []waitingFile // sorted by key
	since time.Time     // when the first of them were found; zero for none
}

// waitingFile is one of them.
type waitingFile struct {
	key   string
	taken bool // it has a job now
}

// add adds keys, of which none may have a job, found at a time. Those that wait already are added once.
func (w *waitingFiles) add(keys []string, found time.Time) {
	if w.trim(); len(w.files) == 0 {
		w.since = found
	}
	all := make([]waitingFile, 0, len(w.files)+len(keys))
	for key := range w.keys() {
		all = append(all, waitingFile{key: key})
	}
	for _, key := range keys {
		all = append(all, waitingFile{key: key})
	}
	slices.SortFunc(all, func(a, b waitingFile) int { return strings.Compare(a.key, b.key) })
	w.files = slices.Compact(all)
}

// take removes a key and reports whether it waited.
func (w *waitingFiles) take(key string) bool {
	i, found := slices.BinarySearchFunc(w.files, key,
		func(f waitingFile, key string) int { return strings.Compare(f.key, key) })
	if !found || w.files[i].taken {
		return false
	}
	w.files[i].taken = true
	w.trim()
	return true
}

// trim drops those at both ends that have a job.
func (w *waitingFiles) trim() {
	for len(w.files) > 0 && w.files[0].taken {
		w.files = w.files[1:]
	}
	for len(w.files) > 0 && w.files[len(w.files)-1].taken {
		w.files = w.files[:len(w.files)-1]
	}
	if len(w.files) == 0 {
		*w = waitingFiles{}
	}
}

// keys yields the keys that wait, sorted.
func (w *waitingFiles) keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range w.files {
			if !f.taken && !yield(f.key) {
				return
			}
		}
	}
}
