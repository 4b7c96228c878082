package vectorstore_test

import (
	"bytes"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/vectorstore"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

const name = "index/default.e5.vectors"

func key(n int) vector.Key { return vector.KeyOf(strconv.Itoa(n)) }

// setOf returns the set that the tests store for a number.
func setOf(n int) vector.TokenSet {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	out := make(vector.TokenSet, 96*(n%12))
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

const dim = 6

// vectorOf returns the vector that the tests store for a number.
func vectorOf(n int) vector.Quantized {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32((n+i)%7) - 2.5
	}
	q, _ := vector.Quantize(v)
	return q
}

func open(t testing.TB, fsys durable.FS) *vectorstore.Store {
	t.Helper()
	s, err := vectorstore.Open(fsys, name, "a model")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s *vectorstore.Store, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := s.Put(key(n), vectorOf(n), setOf(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// stored returns the numbers below 200 whose sets are there, and fails when one is another's.
func stored(t testing.TB, s *vectorstore.Store) (out []int) {
	t.Helper()
	for n := range 200 {
		set, ok := s.Tokens(key(n), nil)
		if ok && !bytes.Equal(set, setOf(n)) {
			t.Errorf("the set of %d is another", n)
		}
		v, has := s.Vector(key(n), nil)
		if ok = ok && has; ok && !bytes.Equal(v.AppendCodes(nil), vectorOf(n).AppendCodes(nil)) {
			t.Errorf("the vector of %d is another", n)
		}
		if ok {
			out = append(out, n)
		}
	}
	if s.Len() != len(out) {
		t.Errorf("Len is %d of %d", s.Len(), len(out))
	}
	return out
}

// only are the keys of these numbers.
func only(numbers ...int) iter.Seq[vector.Key] {
	return func(yield func(vector.Key) bool) {
		for _, n := range numbers {
			if !yield(key(n)) {
				return
			}
		}
	}
}

func TestStore(t *testing.T) {
	fsys := crashfs.New()
	s := open(t, fsys)
	put(t, s, 1, 2, 3, 12, 2)
	if got := stored(t, s); !slices.Equal(got, []int{1, 2, 3, 12}) {
		t.Errorf("stored: %v", got)
	}
	if err := s.Retain(only(1, 3, 12)); err != nil {
		t.Fatal(err)
	}
	put(t, s, 4)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, s); len(got) > 0 {
		t.Errorf("stored after Close: %v", got)
	}
	if s.Put(key(9), vectorOf(9), nil) == nil || s.Retain(only(1)) == nil {
		t.Error("a closed store stores")
	}
	s = open(t, fsys)
	if got := stored(t, s); !slices.Equal(got, []int{1, 3, 4, 12}) {
		t.Errorf("stored after opening again: %v", got)
	}
	if other, err := vectorstore.Open(fsys, name, "another model"); err != nil || other.Len() != 0 || other.Unusable() == 0 {
		t.Errorf("another model's vectors: %v", err)
	}
}

// TestOtherDimensions: a server may have another model under the same name.
func TestOtherDimensions(t *testing.T) {
	fsys := crashfs.New()
	s := open(t, fsys)
	put(t, s, 1, 2)
	longer, _ := vector.Quantize([]float32{1, 2, 3, 4, 5, 6, 7})
	old := vectorOf(1).AppendCodes(nil)
	if err := s.Put(key(1), longer, setOf(1)); err != nil {
		t.Fatal(err)
	}
	if data, err := durable.ReadFile(fsys, name); err != nil || bytes.Contains(data, old) {
		t.Errorf("the replaced vector is still there: %v", err)
	}
	for range 2 {
		if v, ok := s.Vector(key(1), nil); !ok || v.Dim() != 7 || v.Cosine(longer) < .999 {
			t.Errorf("the vector has %d dimensions", v.Dim())
		}
		s = open(t, fsys)
	}
	if s.Len() != 2 || s.Unusable() != 0 {
		t.Errorf("%d texts, %d bytes of no use", s.Len(), s.Unusable())
	}
}

// TestSync makes durable what Retain would, without looking at what lives.
func TestSync(t *testing.T) {
	fsys := crashfs.New()
	s := open(t, fsys)
	put(t, s, 1, 2, 3)
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	put(t, s, 4)
	if got := stored(t, open(t, fsys.Crash(crashfs.Lost, rand.New(rand.NewPCG(1, 1))))); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("stored after a crash: %v", got)
	}
}

func TestErasedIsGone(t *testing.T) {
	fsys := crashfs.New()
	s := open(t, fsys)
	put(t, s, 11, 23)
	if err := s.Retain(only(23)); err != nil {
		t.Fatal(err)
	}
	data, err := durable.ReadFile(fsys, name)
	erased := key(11)
	if err != nil || bytes.Contains(data, setOf(11)[:16]) || bytes.Contains(data, erased[:]) ||
		!bytes.Contains(data, setOf(23)) || bytes.Contains(data, vectorOf(11).AppendCodes(nil)) ||
		!bytes.Contains(data, vectorOf(23).AppendCodes(nil)) {
		t.Errorf("the file has what was removed, or not what was not: %v", err)
	}
}

func TestReclaims(t *testing.T) {
	fsys := crashfs.New()
	s := open(t, fsys)
	for n := range 3000 {
		if err := s.Put(key(n), vectorOf(n), setOf(11)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Retain(only(5, 2999)); err != nil {
		t.Fatal(err)
	}
	data, err := durable.ReadFile(fsys, name)
	if err != nil || len(data) > 5000 || s.Len() != 2 {
		t.Errorf("%d bytes for %d sets: %v", len(data), s.Len(), err)
	}
	if set, ok := s.Tokens(key(5), make([]byte, 4096)); !ok || !bytes.Equal(set, setOf(11)) {
		t.Error("a set is lost")
	}
}

// TestDamage flips every byte of a file, and cuts it everywhere: sets are lost then, but never wrong.
func TestDamage(t *testing.T) {
	fsys := crashfs.New()
	s := open(t, fsys)
	put(t, s, 1, 2, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		flipped := slices.Clone(data)
		flipped[i] ^= 0x40
		for _, damaged := range [][]byte{flipped, data[:i]} {
			fsys := crashfs.New()
			write(t, fsys, damaged)
			s := open(t, fsys)
			stored(t, s)
			put(t, s, 1, 2, 3)
			if got := stored(t, s); !slices.Equal(got, []int{1, 2, 3}) {
				t.Fatalf("byte %d: stored %v after storing them again", i, got)
			}
		}
	}
}

// TestCrash crashes a run after each operation. What is found afterwards is right, what was made durable is there,
// and what was durably removed is gone.
func TestCrash(t *testing.T) {
	for at := 1; ; at++ {
		fsys := crashfs.New()
		fsys.CrashAt(at)
		durableSets, erased := run(fsys)
		for _, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			after := fsys.Crash(mode, rand.New(rand.NewPCG(uint64(at), 1)))
			if data, err := durable.ReadFile(after, name); err == nil && erased && bytes.Contains(data, setOf(2)[:16]) {
				t.Errorf("crash at %d, %v: what was removed is in the file", at, mode)
			}
			s := open(t, after)
			got := stored(t, s)
			for _, n := range durableSets {
				if !slices.Contains(got, n) {
					t.Errorf("crash at %d, %v: stored %v, durable %v", at, mode, got, durableSets)
				}
			}
			put(t, s, 1, 2, 3, 4)
			if got := stored(t, s); !slices.Equal(got[:4], []int{1, 2, 3, 4}) {
				t.Errorf("crash at %d, %v: stored %v", at, mode, got)
			}
		}
		if !fsys.Crashed() {
			break
		}
	}
}

// run stores, removes and reopens, until an error. It returns the numbers whose sets are durable and stay, and
// whether 2 was durably removed.
func run(fsys durable.FS) (durableSets []int, erased bool) {
	s, err := vectorstore.Open(fsys, name, "a model")
	if err != nil {
		return nil, false
	}
	put := func(n int) bool { return s.Put(key(n), vectorOf(n), setOf(n)) == nil }
	if !put(1) || !put(2) || !put(3) || s.Retain(only(1, 2, 3)) != nil {
		return nil, false
	}
	durableSets = []int{1, 3}
	if !put(4) || s.Retain(only(1, 3, 4)) != nil {
		return durableSets, false
	}
	durableSets = append(durableSets, 4)
	if s.Close() != nil {
		return durableSets, true
	}
	if s, err = vectorstore.Open(fsys, name, "a model"); err != nil || !put(5) {
		return durableSets, true
	}
	return durableSets, true
}

func write(t *testing.T, fsys durable.FS, data []byte) {
	t.Helper()
	if err := fsys.MkdirAll("index"); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestConcurrent(t *testing.T) {
	s := open(t, crashfs.New())
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			buf := make([]byte, 2048)
			for n := range 200 {
				if err := s.Put(key(n), vectorOf(n), setOf(n)); err != nil {
					t.Error(err)
				}
				if set, ok := s.Tokens(key(n), buf); ok && !bytes.Equal(set, setOf(n)) {
					t.Errorf("the set of %d is another", n)
				}
				if n%50 == 49 && w == 0 {
					if err := s.Retain(only(1, 2, 3, 50, 120)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkGet reads the sets of 30 candidates out of 10,000.
func BenchmarkTokens(b *testing.B) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s := open(b, durable.Dir(root))
	for n := range 10_000 {
		put(b, s, n)
	}
	buf, r := make([]byte, 8192), rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		for range 30 {
			if _, ok := s.Tokens(key(r.IntN(10_000)), buf); !ok {
				b.Fatal("lost")
			}
		}
	}
}
