package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// recraft replaces line n of the first segment by what change makes of it, with a right checksum.
func recraft(t *testing.T, fs *crashfs.FS, n int, change func(map[string]any)) {
	t.Helper()
	lines := bytes.SplitAfter(bytes.TrimRight(read(t, fs, first), "\x00"), []byte{'\n'})
	var members map[string]any
	if err := json.Unmarshal(lines[n-1], &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "crc")
	change(members)
	lines[n-1] = line(t, inOrder(members))
	if err := fs.WriteRaw(first, bytes.Join(lines, nil)); err != nil {
		t.Fatal(err)
	}
}

// inOrder encodes a header or record with the members first that recovery reads without decoding JSON.
type inOrder map[string]any

func (m inOrder) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	for _, name := range []string{"memsidecar", "lsn", "group", "op", "parts"} {
		if v, ok := m[name]; ok {
			raw, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			dst = fmt.Appendf(dst, "%q:%s,", name, raw)
		}
	}
	rest := map[string]any{}
	for name, v := range m {
		if !bytes.Contains(dst, fmt.Appendf(nil, "%q:", name)) {
			rest[name] = v
		}
	}
	raw, err := json.Marshal(rest)
	return append(dst, raw[1:]...), err
}

// TestUnknownIsNeverSkipped: whatever a newer program may have written, this one refuses the directory, names the file
// and changes nothing; and repair does not turn what it does not know into a placeholder.
func TestUnknownIsNeverSkipped(t *testing.T) {
	change := func(rec map[string]any) map[string]any { return rec["changes"].([]any)[0].(map[string]any) }
	for _, tt := range []struct {
		name  string
		line  int
		craft func(map[string]any)
		want  string // in the message
	}{
		{"version", 1, func(h map[string]any) { h["version"] = journal.Version + 1 }, "has format 2."},
		{"min_reader", 1, func(h map[string]any) { h["min_reader"] = journal.Minor + 1 }, "needs a reader of"},
		{"member of a header", 1, func(h map[string]any) { h["sealed"] = true }, `"sealed"`},
		{"member of a record", 3, func(r map[string]any) { r["vector"] = []int{1} }, `"vector"`},
		{"kind of change", 3, func(r map[string]any) { r["changes"] = []any{map[string]any{"album": 1}} }, `"album"`},
		{"second kind in a change", 3, func(r map[string]any) { change(r)["album"] = 1 }, `"album"`},
		{"member of a change", 3, func(r map[string]any) { change(r)["summary"].(map[string]any)["by"] = "x" }, `"by"`},
		{"member of a memory", 3, func(r map[string]any) {
			r["changes"] = []any{map[string]any{"memory": map[string]any{"id": "a", "after": map[string]any{
				"id": "a", "category": "facts", "content": "c", "mood": "good"}}}}
		}, `"mood"`},
		{"member of a receipt", 3, func(r map[string]any) { r["receipt"] = map[string]any{"key": "k", "ttl": 1} }, `"ttl"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fs := crashfs.New()
			fill(t, open(t, config(fs, nil)), 4)
			recraft(t, fs, tt.line, tt.craft)
			before, ops := read(t, fs, first), fs.Ops()
			_, err := journal.Open(config(fs, nil))
			if !errors.Is(err, memory.ErrNewerVersion) || !strings.Contains(err.Error(), first) ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("open: %v, want one that names %s and %s", err, first, tt.want)
			}
			if fs.Ops() != ops {
				t.Errorf("the refused open changed something: %v", fs.Trace()[ops:])
			}
			flip(t, fs, first, 5) // damage behind it
			before = append(before[:lineStart(t, before, 5)], read(t, fs, first)[lineStart(t, before, 5):]...)
			if _, err := journal.Repair(fs, "", 0, epoch, journal.Proof{File: "proof", LSN: 4}); !errors.Is(err,
				memory.ErrNewerVersion) {
				t.Errorf("repair: %v", err)
			}
			if !bytes.Equal(before, read(t, fs, first)) {
				t.Error("repair changed the segment")
			}
		})
	}
}

// TestOlderFormatContinues: a journal from before minor versions opens and keeps its bytes. What is written from then
// on goes into a segment whose header names the present format. A crash at any operation of the change loses nothing.
func TestOlderFormatContinues(t *testing.T) {
	for _, records := range []int{0, 3} {
		old := crashfs.New()
		fill(t, open(t, config(old, nil)), records)
		recraft(t, old, 1, func(h map[string]any) {
			delete(h, "minor")
			delete(h, "min_reader")
		})
		before := read(t, old, first)
		whole := old.Clone()
		fill(t, open(t, config(whole, nil)), 2)
		names := segments(whole)
		newest := read(t, whole, names[len(names)-1])
		if want := fmt.Sprintf(`"minor":%d,"min_reader":`, journal.Minor); !bytes.Contains(
			newest[:lineStart(t, newest, 2)], []byte(want)) {
			t.Errorf("%d records: the header of %s has no %s", records, names[len(names)-1], want)
		}
		if records > 0 && !bytes.HasPrefix(read(t, whole, first), before) {
			t.Errorf("%d records: the old segment changed", records)
		}
		for n := old.Ops() + 1; n <= whole.Ops(); n++ {
			for seed, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn} {
				crashed := old.Clone()
				crashed.CrashAt(n)
				acknowledged := records
				if j, err := journal.Open(config(crashed, nil)); err == nil {
					for i := range 2 {
						ticket, err := j.Stage(record(i, 0), false)
						if err != nil || ticket.WaitDurable(t.Context()) != nil {
							break
						}
						acknowledged++
					}
				}
				var got []*journal.Record
				fs := crashed.Crash(mode, rand.New(rand.NewPCG(uint64(n), uint64(seed))))
				if _, err := journal.Open(config(fs, &got)); err != nil || len(got) < acknowledged {
					t.Fatalf("%d records, crash at %d (%s), %v: %d of %d acknowledged, %v", records, n,
						whole.Trace()[n-1], mode, len(got), acknowledged, err)
				}
			}
		}
	}
}

// TestMarksOfOtherFormats: the high-water mark and the mark of a clean stop are refused by name when a newer program
// wrote them, and nothing changes; those from before they had a minor version are read.
func TestMarksOfOtherFormats(t *testing.T) {
	for _, name := range []string{journal.HighWaterFile, "journal/mark.json"} {
		for _, tt := range []struct {
			name  string
			craft func(map[string]any)
			newer bool
		}{
			{"older", func(m map[string]any) { delete(m, "minor"); delete(m, "min_reader") }, false},
			{"version", func(m map[string]any) { m["version"] = journal.Version + 1 }, true},
			{"min_reader", func(m map[string]any) { m["min_reader"] = journal.Minor + 1 }, true},
			{"member", func(m map[string]any) { m["sealed"] = true }, true},
		} {
			fs := crashfs.New()
			j := open(t, config(fs, nil))
			fill(t, j, 4)
			if err := j.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			data := read(t, fs, name)
			if !bytes.Contains(data, fmt.Appendf(nil, `"minor":%d,"min_reader":`, journal.Minor)) {
				t.Fatalf("%s has no minor version: %s", name, data)
			}
			var members map[string]any
			for part := range bytes.SplitSeq(data, []byte("\n")) { // of two slots, the one that counts
				part = bytes.Trim(part, "\x00")
				var m map[string]any
				if json.Unmarshal(part, &m) == nil && (members == nil || m["lsn"].(float64) > members["lsn"].(float64)) {
					members = m
				}
			}
			delete(members, "crc")
			tt.craft(members)
			if err := fs.WriteRaw(name, line(t, members)); err != nil {
				t.Fatal(err)
			}
			ops := fs.Ops()
			_, err := journal.Open(config(fs, nil))
			switch {
			case !tt.newer && err != nil:
				t.Errorf("%s, %s: %v", name, tt.name, err)
			case tt.newer && (!errors.Is(err, memory.ErrNewerVersion) || !strings.Contains(err.Error(), name)):
				t.Errorf("%s, %s: %v", name, tt.name, err)
			case tt.newer && fs.Ops() != ops:
				t.Errorf("%s, %s: changed %v", name, tt.name, fs.Trace()[ops:])
			}
		}
	}
}

// TestDecodeLineReusesItsDecoder: what one line leaves must not leak into the next one, also after an error.
func TestDecodeLineReusesItsDecoder(t *testing.T) {
	type value struct {
		A string `json:"a"`
	}
	for i := range 50 {
		good := line(t, map[string]string{"a": strings.Repeat("x", i*100)})
		var v value
		if err := durable.DecodeLine(bytes.TrimSuffix(good, []byte("\n")), &v); err != nil || len(v.A) != i*100 {
			t.Fatalf("%d: %d bytes, %v", i, len(v.A), err)
		}
		unknown := line(t, map[string]string{"a": "y", "b": strings.Repeat("z", i*50)})
		if err := durable.DecodeLine(bytes.TrimSuffix(unknown, []byte("\n")), &v); !errors.Is(err, memory.ErrNewerVersion) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}
