package jsonstore_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// foreign are values of other programs, laid out by hand: some have lines like those that Encode writes.
var foreign = []string{
	`1`, `"    },"`, `{"theme": "dark"}`, "[\n]", "{\n    }", "[\n    {\n    },\n    {\n    }\n  ]",
	"{\n  \"memories\": [\n    {\n      \"id\": \"x\"\n    }\n  ]\n}", "{\"a\": [\n  ],\n  \"version\": 1,\n  \"memories\": []\n}",
	"[[\n  ],\n    {\"id\": \"x\"\n    },\n  []]",
}

// someFields are up to two of them.
func someFields(rng *rand.Rand) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	for range rng.IntN(3) {
		fields[fmt.Sprint("app", rng.IntN(5))] = json.RawMessage(foreign[rng.IntN(len(foreign))])
	}
	return fields
}

// TestScanAgreesWithDecode: whatever is published, a scan of it that succeeds finds what reading it whole finds, and it
// fails only where a memory has fields of other programs.
func TestScanAgreesWithDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	scanned := 0
	for round := range 2000 {
		f := &jsonstore.File{Revision: 3, LastUpdated: time.Unix(1e9, 0), RollingSummary: "a\n  \"memories\": [\n",
			Extra: someFields(rng)}
		plain := true
		for i := range rng.IntN(4) {
			m := &memory.Memory{ID: fmt.Sprint("m", i), Category: "facts", Content: "b\n    },\n  ],\n",
				More: &memory.More{AccessCount: int64(i), LastAccessed: time.Unix(1e9+int64(i), 0)}}
			if rng.IntN(3) == 0 {
				m.SetExtra(someFields(rng))
				plain = plain && len(m.Extra()) == 0
			}
			f.Memories = append(f.Memories, m)
		}
		if rng.IntN(2) == 0 {
			f.Forgotten = []jsonstore.Forgotten{{Hash: "c", At: time.Unix(1e9, 0)}}
		}
		var text bytes.Buffer
		if err := jsonstore.Encode(&text, f); err != nil {
			t.Fatal(err)
		}
		fsys := crashfs.New()
		write(t, fsys, "memory.json", text.String())
		sum := sha256.Sum256(text.Bytes())
		var got []*memory.Memory
		extra, ok := jsonstore.ScanPublished(fsys, "memory.json", hex.EncodeToString(sum[:]), hurriedly, func(value []byte) error {
			if err := strictjson.Check(value); err != nil {
				return err
			}
			one := decode(t, fmt.Appendf(nil, `{"version": 2, "memories": [%s]}`, value))
			got = append(got, one.Memories...)
			return nil
		})
		if !ok && plain {
			t.Fatalf("round %d: not scanned:\n%s", round, text.String())
		}
		if !ok {
			continue
		}
		scanned++
		whole := decode(t, text.Bytes())
		if !maps.EqualFunc(extra, whole.Extra, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) ||
			len(got) != len(whole.Memories) || len(got) > 0 && !reflect.DeepEqual(got, whole.Memories) {
			t.Fatalf("round %d: scanned %s and %d memories of\n%s", round, extra, len(got), text.String())
		}
	}
	if scanned < 1000 {
		t.Errorf("only %d files were scanned", scanned)
	}
}

// TestReadPublishedAllocatesLittle: a file of a million memories is no reason for hundreds of megabytes of garbage.
func TestReadPublishedAllocatesLittle(t *testing.T) {
	allocations := func(memories int) float64 {
		var text bytes.Buffer
		f := &jsonstore.File{Revision: 3, LastUpdated: time.Unix(1e9, 0)}
		for i := range memories {
			f.Memories = append(f.Memories, &memory.Memory{ID: fmt.Sprint("m", i), Category: "facts", Content: "redis"})
		}
		if err := jsonstore.Encode(&text, f); err != nil {
			t.Fatal(err)
		}
		fsys := crashfs.New()
		write(t, fsys, "memory.json", text.String())
		sum := sha256.Sum256(text.Bytes())
		return testing.AllocsPerRun(3, func() {
			if _, _, ok := jsonstore.ReadPublished(fsys, "default", hex.EncodeToString(sum[:]), hurriedly, f.Memories); !ok {
				t.Fatal("not scanned")
			}
		})
	}
	few, many := allocations(100), allocations(2100)
	if many > few+3000 { // the race detector makes some
		t.Errorf("reading 2,000 memories more made %.0f allocations more", many-few)
	}
}

// TestScanRefusesOtherFiles: not a byte may differ from what was published.
func TestScanRefusesOtherFiles(t *testing.T) {
	var text bytes.Buffer
	if err := jsonstore.Encode(&text, many(3)); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text.Bytes())
	for name, data := range map[string]string{
		"edited": strings.Replace(text.String(), "0.", "1.", 1), "cut": text.String()[:text.Len()-1], "longer": text.String() + "\n",
		"empty": "", "compact": `{"version":2,"memories":[]}`,
	} {
		if data == text.String() {
			t.Fatalf("%s: the file is as it was", name)
		}
		fsys := crashfs.New()
		write(t, fsys, "memory.json", data)
		ignore := func([]byte) error { return nil }
		if _, ok := jsonstore.ScanPublished(fsys, "memory.json", hex.EncodeToString(sum[:]), hurriedly, ignore); ok {
			t.Errorf("%s: taken for what was published", name)
		}
	}
}

// readSizes notes the longest single read of memory.json.
type readSizes struct {
	durable.FS
	longest int
}

func (r *readSizes) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := r.FS.OpenFile(name, flag, perm)
	if err != nil || name != "memory.json" {
		return f, err
	}
	return sizedFile{f, r}, nil
}

// sizedFile is a memory.json that is open.
type sizedFile struct {
	durable.File
	sizes *readSizes
}

func (f sizedFile) Read(p []byte) (int, error) {
	f.sizes.longest = max(f.sizes.longest, len(p))
	return f.File.Read(p)
}

// TestFirstPublicationReadsInPieces: the first publication after a start does not hold the file that it replaces in
// memory, and keeps the fields of other programs in it.
func TestFirstPublicationReadsInPieces(t *testing.T) {
	base := crashfs.New()
	const app = "{\n  \"memories\": [\n    {}\n  ]\n}"
	write(t, base, "memory.json", `{"version":2,"app":`+app+`,"memories":[]}`)
	st, p := open(t, base)
	for i := range 300 {
		put(t, st, "", fmt.Sprint("m", i), func(m *memory.Memory) { m.Content = strings.Repeat("runs the jobs. ", 30) })
	}
	publishAll(t, p)
	fsys := &readSizes{FS: base.Crash(crashfs.Lost, nil)}
	st, p = open(t, fsys)
	put(t, st, "", "next", nil)
	fsys.longest = 0
	publishAll(t, p)
	if fsys.longest == 0 || fsys.longest > 64<<10 {
		t.Errorf("memory.json was read %d bytes at once, want at most 64 KiB", fsys.longest)
	}
	f := read(t, fsys, "memory.json")
	if got := string(f.Extra["app"]); got != app || len(f.Memories) != 301 {
		t.Errorf("app is %s, beside %d memories", got, len(f.Memories))
	}
}

func hurriedly(w io.Writer) io.Writer { return w }
