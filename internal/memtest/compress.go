package memtest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// Plain returns what is in a file of the data directory: the lines of a compressed one.
func Plain(data []byte) []byte {
	if compressed.Is(data) {
		return compressed.Decompress(data)
	}
	return data
}

// CompressSegments compresses every segment of a journal but the last, as maintenance does in time, and fails the test
// when there are none.
func CompressSegments(t testing.TB, fs *crashfs.FS) {
	t.Helper()
	var segments []string
	for _, name := range fs.Names() {
		if strings.HasPrefix(name, "journal/0") {
			segments = append(segments, name)
		}
	}
	if len(segments) < 2 {
		t.Fatalf("%d segments: none is old", len(segments))
	}
	for _, name := range segments[:len(segments)-1] {
		data, err := durable.ReadFile(fs, name)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = compressed.Compress(bytes.TrimRight(data, "\x00")); err != nil {
			t.Fatal(err)
		}
		if err := fs.WriteRaw(name, data); err != nil {
			t.Fatal(err)
		}
	}
}
