package journal_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var epoch = time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)

const first = "journal/0000000000000001.jsonl"

// config is that of a journal on fs; what is replayed goes to got, which may be nil.
func config(fs durable.FS, got *[]*journal.Record) journal.Config {
	return journal.Config{
		FS: fs, Logger: slog.New(slog.DiscardHandler), NewOrigin: "here",
		Replay: func(rec *journal.Record) error {
			if got != nil {
				*got = append(*got, rec)
			}
			return nil
		},
	}
}

func open(t *testing.T, cfg journal.Config) *journal.Journal {
	t.Helper()
	j, err := journal.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// record sets summary n; with a size it has that many bytes more.
func record(n int, size int) *journal.Record {
	after := fmt.Sprint("summary ", n, strings.Repeat(".", size))
	return &journal.Record{At: epoch.Add(time.Duration(n) * time.Hour), Space: "default", Actor: journal.ActorClient,
		Changes: []journal.Change{{Summary: &journal.SummaryChange{After: after}}}}
}

// long is an operation of n changes of size bytes each.
func long(n, size int) *journal.Record {
	rec := record(0, size)
	for i := 1; i < n; i++ {
		rec.Changes = append(rec.Changes, journal.Change{
			Summary: &journal.SummaryChange{After: fmt.Sprint(i, strings.Repeat("x", size))}})
	}
	return rec
}

// group appends records as one group.
func group(t *testing.T, j *journal.Journal, recs ...*journal.Record) {
	t.Helper()
	var tickets []journal.Ticket
	for _, rec := range recs {
		ticket, err := j.Stage(rec, false)
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	for _, ticket := range tickets {
		if err := ticket.WaitDurable(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// fill appends n groups of one record each.
func fill(t *testing.T, j *journal.Journal, n int) {
	t.Helper()
	for i := range n {
		group(t, j, record(i+1, 0))
	}
}

func read(t *testing.T, fs durable.FS, name string) []byte {
	t.Helper()
	data, err := durable.ReadFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// lineStart is where line n, from 1, of a file begins.
func lineStart(t *testing.T, data []byte, n int) int64 {
	t.Helper()
	at := 0
	for range n - 1 {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			t.Fatalf("there is no line %d", n)
		}
		at += i + 1
	}
	return int64(at)
}

// flip inverts a byte in the middle of line n.
func flip(t *testing.T, fs *crashfs.FS, name string, n int) {
	t.Helper()
	data := read(t, fs, name)
	at := lineStart(t, data, n) + 30
	if err := fs.Corrupt(name, at, []byte{data[at] ^ 0x20}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, fs durable.FS, name string) {
	t.Helper()
	if err := fs.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// line encodes a line with a good CRC.
func line(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := durable.AppendLine(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func header(t *testing.T, store string, first int64, version int) []byte {
	return line(t, map[string]any{"memsidecar": "journal", "version": version, "store": store, "first": first})
}

// segments lists the segments' names.
func segments(fs *crashfs.FS) (out []string) {
	for _, name := range fs.Names() {
		if strings.HasPrefix(name, "journal/") && strings.HasSuffix(name, ".jsonl") {
			out = append(out, name)
		}
	}
	return out
}

// crash is what is left when the power fails now and everything written survives.
func crash(fs *crashfs.FS) *crashfs.FS { return fs.Crash(crashfs.Kept, nil) }

// summaries is what records add up to, one line each.
func summaries(recs []*journal.Record) string {
	var b strings.Builder
	for _, rec := range recs {
		switch {
		case rec.Actor == journal.ActorRepair:
			fmt.Fprintf(&b, "%d lost\n", rec.Op)
		case len(rec.Changes) == 0:
			fmt.Fprintf(&b, "%d empty\n", rec.Op)
		default:
			fmt.Fprintf(&b, "%d %.12s %d\n", rec.Op, rec.Changes[0].Summary.After, len(rec.Changes))
		}
	}
	return b.String()
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
