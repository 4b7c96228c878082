package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// doc is the body of a daily log or a session: a file of the newest snapshot that held it, which is never changed, and what came
// since. Appending to it needs no reading.
type doc struct {
	file  string           // in the snapshot directory; "" for none
	items int              // in file
	bytes int64            // length of file; 0 when it was not noted
	tail  []journal.Change // append-only; a prefix of it moves into the next file
	scrub *scrubber        // cleans what is read from file; nil when nothing in it was purged since it was written
}

// bodyOf is how the items of one kind of doc are brought forward and cleaned.
type bodyOf[T any] struct {
	apply func([]T, []journal.Change) []T
	clean func(*scrubber, T) (T, bool)
}

// file reads the items in the doc's file and reports whether some had to be cleaned.
func (b bodyOf[T]) file(fsys durable.FS, d *doc) (items []T, cleaned bool, err error) {
	if d.file == "" {
		return nil, false, nil
	}
	if items, err = readDocFile[T](fsys, d.file, d.items); err != nil || d.scrub == nil {
		return items, false, err
	}
	for i, item := range items {
		if clean, did := b.clean(d.scrub, item); did {
			items[i], cleaned = clean, true
		}
	}
	return items, cleaned, nil
}

func entriesOf(space, date string) bodyOf[*memory.Entry] {
	return bodyOf[*memory.Entry]{applyEntries, func(sc *scrubber, e *memory.Entry) (*memory.Entry, bool) { return sc.entry(space, date, e) }}
}

func messagesOf(space, id string) bodyOf[*memory.Message] {
	return bodyOf[*memory.Message]{applyMessages, func(sc *scrubber, m *memory.Message) (*memory.Message, bool) { return sc.message(space, id, m) }}
}

// readDoc reads the body that find names under the reader's lock, nil for none.
func readDoc[T any](v *Space, find func(*spaceState) *doc, body bodyOf[T]) ([]T, error) {
	var err error
	// A snapshot may replace and remove the file between the look and the read; then the look is repeated.
	for range 3 {
		var d doc
		v.read(func(sp *spaceState) {
			if found := find(sp); found != nil {
				d = *found
				d.tail = d.tail[:len(d.tail):len(d.tail)]
			}
		})
		var items []T
		if items, _, err = body.file(v.store.fs, &d); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		return body.apply(items, d.tail), nil
	}
	return nil, fmt.Errorf("read log or session: %w", err)
}

// applyEntries brings the entries of a day forward and sorts them by time.
func applyEntries(entries []*memory.Entry, tail []journal.Change) []*memory.Entry {
	index := make(map[string]int, len(entries)+len(tail))
	for i, e := range entries {
		index[e.ID] = i
	}
	for _, c := range tail {
		i, known := index[c.Entry.ID]
		switch {
		case c.Entry.After == nil && known:
			entries[i] = nil
			delete(index, c.Entry.ID)
		case known:
			entries[i] = c.Entry.After
		case c.Entry.After != nil:
			index[c.Entry.ID] = len(entries)
			entries = append(entries, c.Entry.After)
		}
	}
	entries = slices.DeleteFunc(entries, func(e *memory.Entry) bool { return e == nil })
	slices.SortStableFunc(entries, func(a, b *memory.Entry) int { return a.At.Compare(b.At) })
	return entries
}

func applyMessages(messages []*memory.Message, tail []journal.Change) []*memory.Message {
	for _, c := range tail {
		messages = append(messages, c.Message.Message)
	}
	return messages
}
