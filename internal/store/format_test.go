package store

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var updateFormat = flag.Bool("update-format", false, "rewrite testdata/format.txt")

// members lists the members of the JSON of a type, with their own members.
func members(typ reflect.Type, path string, seen []reflect.Type) (out []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || slices.Contains(seen, typ) {
		return nil
	}
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			out = append(out, members(f.Type, path, append(seen, typ))...)
		default:
			out = append(out, path+"."+name)
			out = append(out, members(f.Type, path+"."+name, append(seen, typ))...)
		}
	}
	return out
}

// TestFormat: nothing is added to what segments and snapshots hold without a new minor version.
func TestFormat(t *testing.T) {
	list := []string{fmt.Sprintf("format %d.%d", journal.Version, journal.Minor)}
	for name, v := range map[string]any{"record": journal.Record{}, "manifest": manifest{}, "space": spaceHeader{},
		"body": bodyHeader{}, "message": memory.Message{}, "purge": purgeIntent{}} {
		list = append(list, members(reflect.TypeOf(v), name, nil)...)
	}
	slices.Sort(list[1:])
	got := strings.Join(list, "\n") + "\n"
	const golden = "testdata/format.txt"
	want, err := os.ReadFile(golden)
	if err != nil && !*updateFormat {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	if !*updateFormat {
		t.Errorf("members were added or removed (-before +now):\n%s\nRaise journal.Minor, say there and in docs/format.md "+
			"what was added, and run go test ./internal/store -run TestFormat -update-format. Never remove a member.",
			cmp.Diff(string(want), got))
		return
	}
	before, _, _ := strings.Cut(string(want), "\n")
	if before == list[0] && len(want) > 0 {
		t.Fatalf("%s already; raise journal.Minor first", before)
	}
	if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(got), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestNewerSnapshotRefused: a snapshot of a newer program, or with anything this one does not know, is refused by name
// and stays as it is, by Open and by Repair.
func TestNewerSnapshotRefused(t *testing.T) {
	fs := crashfs.New()
	open := func(fs durable.FS) (*Store, error) {
		return Open(Config{FS: fs, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	}
	st, err := open(fs)
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.Update(t.Context(), Meta{Actor: journal.ActorClient}, func(tx *Tx) error {
		return tx.Put(&memory.Memory{ID: "a", Category: "facts", Content: "one", Source: "import"})
	})
	if err := errors.Join(err, st.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"MANIFEST.json", ".space.1.jsonl"} {
		name := fs.Names()[slices.IndexFunc(fs.Names(), func(n string) bool { return strings.HasSuffix(n, suffix) })]
		data, err := durable.ReadFile(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		if compressed.Is(data) {
			data = compressed.Decompress(data)
		}
		for number := range strings.Count(string(data), "\n") {
			for member, value := range map[string]any{"min_reader": journal.Minor + 1, "mood": "good"} {
				if number > 0 && member == "min_reader" {
					continue
				}
				crafted := fs.Clone()
				lines := strings.SplitAfter(string(data), "\n")
				var m map[string]any
				if err := json.Unmarshal([]byte(lines[number]), &m); err != nil {
					t.Fatal(err)
				}
				delete(m, "crc")
				m[member] = value
				line, err := durable.AppendLine(nil, m)
				if err != nil {
					t.Fatal(err)
				}
				lines[number] = string(line)
				if err := crafted.WriteRaw(name, []byte(strings.Join(lines, ""))); err != nil {
					t.Fatal(err)
				}
				ops := crafted.Ops()
				_, err = open(crafted)
				if !errors.Is(err, memory.ErrNewerVersion) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s line %d with %s: %v", name, number+1, member, err)
				}
				if _, err := Repair(crafted, time.Now()); !errors.Is(err, memory.ErrNewerVersion) {
					t.Errorf("%s line %d with %s: repair: %v", name, number+1, member, err)
				}
				if crafted.Ops() != ops {
					t.Errorf("%s line %d with %s: changed: %v", name, number+1, member, crafted.Trace()[ops:])
				}
			}
		}
	}
}
