package compressed_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// lines are n lines with checksums, of up to so many bytes each.
func lines(t testing.TB, n, most int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var out []byte
	for i := range n {
		var err error
		text := strings.Repeat(fmt.Sprintf("word%d ", rng.IntN(1000)), 1+rng.IntN(most)/7)
		if out, err = durable.AppendLine(out, map[string]any{"n": i, "text": text}); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func compress(t testing.TB, lines []byte) []byte {
	t.Helper()
	data, err := compressed.Compress(lines)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDecompress: what was compressed comes back, from Decompress, from File at any place, and from any gunzip.
func TestDecompress(t *testing.T) {
	for _, want := range [][]byte{nil, []byte("a\n"), lines(t, 1, 400_000), lines(t, 3000, 400)} {
		data := compress(t, want)
		if len(want) > 0 && !compressed.Is(data) || compressed.Is(want) {
			t.Errorf("%d bytes: compressed %v, lines %v", len(want), compressed.Is(data), compressed.Is(want))
		}
		if got := compressed.Decompress(data); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: %d decompressed", len(want), len(got))
		}
		f := compressed.Open(data)
		if f.Size() != int64(len(want)) {
			t.Errorf("size %d, not %d", f.Size(), len(want))
		}
		if got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()+5)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d: %v", len(want), len(got), err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			from := rng.IntN(len(want) + 1)
			p := make([]byte, rng.IntN(200_000))
			n, err := f.ReadAt(p, int64(from))
			if short := from+len(p) > len(want); n != min(len(p), len(want)-from) || !bytes.Equal(p[:n], want[from:from+n]) ||
				short != errors.Is(err, io.EOF) {
				t.Fatalf("%d bytes at %d of %d: %d, %v", len(p), from, len(want), n, err)
			}
		}
		if len(want) == 0 {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
			t.Errorf("gunzip: %d bytes, %v", len(got), err)
		}
	}
}

// TestDamage: every flipped bit, cut and hole shows as a line that no checksum fits, and the lines of other members
// stay.
func TestDamage(t *testing.T) {
	want := lines(t, 1200, 400) // in four members
	data := compress(t, want)
	known := map[string]bool{}
	for line := range bytes.Lines(want) {
		known[string(line)] = true
	}
	check := func(what string, damaged []byte) {
		t.Helper()
		got := compressed.Decompress(damaged)
		good, bad := 0, 0
		for line := range bytes.Lines(got) {
			switch {
			case !durable.ValidLine(bytes.TrimSuffix(line, []byte("\n"))):
				bad++
			case known[string(line)]:
				good++
			default:
				t.Fatalf("%s: a line that was never there: %q", what, line)
			}
		}
		if bad == 0 && !bytes.Equal(got, want) { // some bits of a deflate stream mean nothing
			t.Fatalf("%s: not noticed", what)
		}
		if good < 500 {
			t.Fatalf("%s: only %d of 1200 lines are left", what, good)
		}
		f := compressed.Open(damaged)
		if again, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30)); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s: a File reads %d bytes, not %d: %v", what, len(again), len(got), err)
		}
	}
	flip := func(at, bit int) {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1 << bit
		check(fmt.Sprintf("bit %d of byte %d", bit, at), damaged)
	}
	for bit := range 24 * 8 { // of the first head
		flip(bit/8, bit%8)
	}
	for at := 24; at < len(data); at += 199 {
		flip(at, at%8)
	}
	check("a hole", append(bytes.Clone(data[:len(data)/2]), data[len(data)/2+100:]...))
	check("zeros", append(append(bytes.Clone(data[:1000]), make([]byte, 512)...), data[1512:]...))
	check("more at the end", append(bytes.Clone(data), "x"...))
	check("cut in the last member", data[:len(data)-7])
}

// FuzzDecompress: no file makes it fail, and what was compressed comes back.
func FuzzDecompress(f *testing.F) {
	data := compress(f, lines(f, 300, 400))
	f.Add(data)
	f.Add(data[10:])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all := compressed.Decompress(data)
		file := compressed.Open(data)
		if got, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<40)); err != nil || !bytes.Equal(got, all) {
			t.Errorf("File reads %d bytes, not %d: %v", len(got), len(all), err)
		}
		again, err := compressed.Compress(data)
		if err != nil || !bytes.Equal(compressed.Decompress(again), data) {
			t.Errorf("compressed and decompressed %d bytes are others: %v", len(data), err)
		}
	})
}
