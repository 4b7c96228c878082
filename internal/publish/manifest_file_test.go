package publish_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

const manifestLog = "index/published.log"

// reopened checks that a start knows what f knows about the files of names.
func reopened(t *testing.T, fsys durable.FS, f *publish.Files, names ...string) {
	t.Helper()
	again := files(t, fsys)
	for _, name := range names {
		want, wantOK, err := f.Published(name)
		must(t, err)
		got, ok, err := again.Published(name)
		must(t, err)
		if got.Hash != want.Hash || got.Revision != want.Revision || got.Claimed != want.Claimed || ok != wantOK {
			t.Errorf("%s: after a start %+v, %v; want %+v, %v", name, got, ok, want, wantOK)
		}
	}
}

// Whatever order of changes, and wherever a whole manifest is written between them, a start knows the same.
func TestManifestSurvives(t *testing.T) {
	for _, maxLog := range []int64{0, 1000, 1 << 20} {
		t.Run(fmt.Sprint(maxLog), func(t *testing.T) {
			fsys, rng := crashfs.New(), rand.New(rand.NewPCG(uint64(maxLog), 3))
			f := files(t, fsys)
			f.SetMaxLog(maxLog)
			names := []string{"memory.json", "spaces/a/memory.json", "spaces/b/memory.json", "logs/2026-02-21.json"}
			for i := range 60 {
				name := names[rng.IntN(len(names))]
				switch rng.IntN(4) {
				case 0:
					must(t, f.Claim(name, hash(fmt.Sprint(i))))
				case 1:
					must(t, f.Remove(name))
				default:
					must(t, replace(f, name, int64(i+1), fmt.Sprint("text ", i)))
				}
				reopened(t, fsys, f, names...)
			}
		})
	}
}

// A log that is torn, or that continues another manifest, is not continued, and what it holds wholly counts.
func TestManifestLogDamaged(t *testing.T) {
	for what, damage := range map[string]func(data []byte) []byte{
		"torn":              func(data []byte) []byte { return data[:len(data)-9] },
		"longer":            func(data []byte) []byte { return append(data, `{"files":{"memory.json":{"revis`...) },
		"of another":        func(data []byte) []byte { return append([]byte(`{"log":"other","crc":"00000000"}`+"\n"), data...) },
		"zeros at the end":  func(data []byte) []byte { return append(data, make([]byte, 600)...) },
		"no log any longer": func([]byte) []byte { return nil },
	} {
		t.Run(what, func(t *testing.T) {
			fsys := crashfs.New()
			f := files(t, fsys)
			for i := range int64(4) {
				must(t, replace(f, "memory.json", i+1, fmt.Sprint("text ", i)))
			}
			data, err := durable.ReadFile(fsys, manifestLog)
			must(t, err)
			must(t, writeTo(fsys, manifestLog, os.O_WRONLY|os.O_TRUNC, func(file durable.File) error {
				_, err := file.Write(damage(bytes.Clone(data)))
				return err
			}))
			must(t, publish.Recover(fsys))
			f = files(t, fsys)
			must(t, f.UnlessEdited("memory.json", nil, func() error { return replace(f, "memory.json", 9, "text 9") }))
			must(t, replace(f, "memory.json", 10, "text 10"))
			reopened(t, fsys, f, "memory.json", "memory.json.bak")
			want(t, fsys, "memory.json", "text 10")
		})
	}
}

// BenchmarkPublishBesideMany publishes one small file while the manifest has many others: what it costs must not
// depend on how many. The writes of whole manifests between are part of it.
func BenchmarkPublishBesideMany(b *testing.B) {
	for _, others := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			root, err := os.OpenRoot(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer root.Close()
			fsys := durable.Dir(root)
			claimed := make(map[string][sha256.Size]byte, others)
			for i := range others {
				name := fmt.Sprintf("spaces/s%06d/memory.json", i)
				claimed[name] = sha256.Sum256([]byte(name))
			}
			if err := publish.Claim(fsys, manifest, claimed); err != nil {
				b.Fatal(err)
			}
			f := files(b, fsys)
			if err := replace(f, "memory.json", 1, "text"); err != nil { // reads the manifest
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				if err := replace(f, "memory.json", int64(i+2), fmt.Sprint("text ", i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
