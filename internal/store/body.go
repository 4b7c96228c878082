package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// body is the list of entries of a daily log, or of messages of a session. Its items are in a file of the newest
// snapshot that held it, which never changes, and in tail, which holds the changes since. So appending needs no
// reading, and bodies take no memory until they are read.
type body struct {
	file  string // in the snapshot directory; "" for none
	items int    // in file
	// bytes is the length of file; 0 in snapshots of versions that did not record it.
	bytes int64
	// tail is append-only. Readers may hold a prefix of it. The next snapshot moves a prefix into its file.
	tail []journal.Change
	// scrub removes purged text from what is read from file. nil when the file was written after the last purge.
	scrub *scrubber
}

// bodyKind says how items of one kind are changed by records, and how purged text is removed from them.
type bodyKind[T any] struct {
	apply func([]T, []journal.Change) []T
	clean func(*scrubber, T) (T, bool)
}

// file reads the items in the doc's file and reports whether some had to be cleaned.
func (b bodyKind[T]) file(fsys durable.FS, d *body) (items []T, cleaned bool, err error) {
	if d.file == "" {
		return nil, false, nil
	}
	if items, err = readBodyFile[T](fsys, d.file, d.items); err != nil || d.scrub == nil {
		return items, false, err
	}
	for i, item := range items {
		if clean, did := b.clean(d.scrub, item); did {
			items[i], cleaned = clean, true
		}
	}
	return items, cleaned, nil
}

// entriesOf is the kind of the entries of a daily log.
func entriesOf(space, date string) bodyKind[*memory.Entry] {
	return bodyKind[*memory.Entry]{applyEntries, func(sc *scrubber, e *memory.Entry) (*memory.Entry, bool) {
		return sc.entry(space, date, e)
	}}
}

// messagesOf is the kind of the messages of a session.
func messagesOf(space, id string) bodyKind[*memory.Message] {
	return bodyKind[*memory.Message]{applyMessages, func(sc *scrubber, m *memory.Message) (*memory.Message, bool) {
		return sc.message(space, id, m)
	}}
}

// readBody reads the body that find returns. find runs under the reader's lock and returns nil for none.
func readBody[T any](v *Space, find func(*spaceState) *body, kind bodyKind[T]) ([]T, error) {
	var err error
	// A snapshot may replace and remove the file between find and the read; then try again with its new place.
	for range 3 {
		var d body
		v.read(func(sp *spaceState) {
			if found := find(sp); found != nil {
				d = *found
				d.tail = d.tail[:len(d.tail):len(d.tail)]
			}
		})
		var items []T
		if items, _, err = kind.file(v.store.fs, &d); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		return kind.apply(items, d.tail), nil
	}
	return nil, fmt.Errorf("read log or session: %w", err)
}

// applyEntries applies changes to the entries of a day and sorts them by time.
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

// applyMessages appends the messages of tail. Messages are never changed or removed one by one.
func applyMessages(messages []*memory.Message, tail []journal.Change) []*memory.Message {
	for _, c := range tail {
		messages = append(messages, c.Message.Message)
	}
	return messages
}
