package vector_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

func random(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func quantized(t testing.TB, v []float32) vector.Quantized {
	t.Helper()
	d, ok := vector.Quantize(v)
	if !ok {
		t.Fatalf("%v has no direction", v[:min(4, len(v))])
	}
	return d
}

func exact(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}

func TestQuantize(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		v    []float32
		want bool
	}{
		{"empty", nil, false},
		{"zero", make([]float32, 8), false},
		{"not a number", []float32{1, nan}, false},
		{"infinite", []float32{1, inf}, false},
		{"too long", make([]float32, vector.MaxDim+1), false},
		{"one", []float32{-3}, true},
		{"tiny", []float32{1e-38, 2e-38}, true},
		{"huge", []float32{3e38, -3e38}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, ok := vector.Quantize(tt.v); ok != tt.want {
				t.Errorf("ok = %v, want %v", ok, tt.want)
			}
		})
	}
}

// TestCosine bounds what the codes cost, and that length and padding do not matter.
func TestCosine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dim := range []int{1, 2, 31, 32, 33, 384, 1024, vector.MaxDim} {
		a, b := random(r, dim), random(r, dim)
		for i := range b {
			b[i] = 0.5*b[i] + a[i]
		}
		longer := slices.Clone(a)
		for i := range longer {
			longer[i] *= 1000
		}
		da, db := quantized(t, a), quantized(t, b)
		if got, want := da.Cosine(db), exact(a, b); math.Abs(got-want) > 0.01 {
			t.Errorf("dimension %d: cosine %v, exactly %v", dim, got, want)
		}
		if got := da.Cosine(quantized(t, longer)); math.Abs(got-1) > 1e-9 {
			t.Errorf("dimension %d: cosine with itself %v", dim, got)
		}
		if got := da.Cosine(quantized(t, random(r, 3))); got != 0 {
			t.Errorf("cosine of different dimensions is %v", got)
		}
	}
}

// TestNearest compares the ten nearest by codes with the ten nearest by the embeddings themselves.
func TestNearest(t *testing.T) {
	const n, dim, k = 2000, 384, 10
	r := rand.New(rand.NewPCG(3, 4))
	var rows vector.Rows
	all := make([][]float32, n)
	for i := range all {
		all[i] = random(r, dim)
		rows.Set(i, quantized(t, all[i]))
	}
	hit := 0
	for range 20 {
		q := random(r, dim)
		byCode, byFloat := make([]float64, n), make([]float64, n)
		rows.Cosines(quantized(t, q), func(i int, c float64) { byCode[i] = c })
		for i := range all {
			byFloat[i] = exact(q, all[i])
		}
		nearest := top(byFloat, k)
		for _, i := range top(byCode, k) {
			if slices.Contains(nearest, i) {
				hit++
			}
		}
	}
	if share := float64(hit) / (20 * k); share < 0.95 {
		t.Errorf("%.3f of the nearest are found", share)
	}
}

func top(scores []float64, k int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if scores[a] != scores[b] {
			return map[bool]int{true: -1, false: 1}[scores[a] > scores[b]]
		}
		return a - b
	})
	return order[:k]
}

func TestRows(t *testing.T) {
	var rows vector.Rows
	a, b := quantized(t, []float32{1, 0, 0}), quantized(t, []float32{0, 1, 0})
	rows.Set(3, a)
	rows.Set(1300, b)
	rows.Set(1301, a)
	rows.Set(1301, b)
	rows.Clear(3)
	rows.Clear(4)
	rows.Clear(1 << 20)
	if rows.Set(5, quantized(t, []float32{1, 1})) {
		t.Error("a row of another dimension was stored")
	}
	got := map[int]float64{}
	rows.Cosines(b, func(n int, c float64) { got[n] = math.Round(c*1e6) / 1e6 })
	if diff := cmp.Diff(map[int]float64{1300: 1, 1301: 1}, got); diff != "" {
		t.Errorf("cosines (-want +got):\n%s", diff)
	}
	if rows.Len() != 2 || rows.Has(3) || rows.Has(1<<20) || !rows.Has(1300) || rows.Dim() != 3 {
		t.Errorf("len %d, dim %d", rows.Len(), rows.Dim())
	}
	rows.Cosines(quantized(t, []float32{1, 1}), func(int, float64) {
		t.Error("a row of another dimension is compared")
	})
	if diff := cmp.Diff([]int8{0, 127, 0}, rows.Codes(1300)); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// TestRowsLikeMap: rows do what a map does, in whatever order they are set and cleared, and yield ascending.
func TestRowsLikeMap(t *testing.T) {
	const steps, numbers, dim = 6000, 1200, 40
	r := rand.New(rand.NewPCG(3, 4))
	var rows vector.Rows
	want := map[int]vector.Quantized{}
	query := quantized(t, random(r, dim))
	for step := range steps {
		n := r.IntN(numbers)
		if _, known := want[n]; known && step/1000%2 == 1 {
			rows.Clear(n)
			delete(want, n)
		} else {
			want[n] = quantized(t, random(r, dim))
			rows.Set(n, want[n])
		}
		if step%200 != 0 {
			continue
		}
		last := -1
		rows.Cosines(query, func(n int, c float64) {
			if n <= last || c != query.Cosine(want[n]) {
				t.Fatalf("step %d: row %d after %d has the cosine %v, want %v", step, n, last, c, query.Cosine(want[n]))
			}
			last = n
		})
		for n := range numbers {
			q, ok := rows.At(n)
			if _, known := want[n]; ok != known || ok && !bytes.Equal(q.AppendCodes(nil), want[n].AppendCodes(nil)) {
				t.Fatalf("step %d: row %d is another", step, n)
			}
			if view, ok := rows.View(n); ok && view.Cosine(query) != q.Cosine(query) || ok != (q.Dim() > 0) {
				t.Fatalf("step %d: row %d is another when it is not copied", step, n)
			}
		}
		if rows.Len() != len(want) {
			t.Fatalf("step %d: %d rows, want %d", step, rows.Len(), len(want))
		}
	}
}

func saved(t testing.TB) []byte {
	t.Helper()
	return vector.Encode("server model", 3, func(yield func(vector.Key, []int8) bool) {
		_ = yield(vector.KeyOf("a"), []int8{1, -127, 3, 0}) && yield(vector.KeyOf("b"), []int8{127, 0, 0})
	})
}

func TestFile(t *testing.T) {
	data := saved(t)
	s, err := vector.Decode(data, "server model")
	if err != nil {
		t.Fatal(err)
	}
	b, ok := s.Get(vector.KeyOf("b"))
	if _, other := s.Get(vector.KeyOf("c")); !ok || other || s.Len() != 2 || b.Dim() != 3 ||
		b.Cosine(quantized(t, []float32{5, 0, 0})) != 1 {
		t.Errorf("got %+v, %v of %d", b, ok, s.Len())
	}
	if _, err := vector.Decode(data, "server other"); !errors.Is(err, vector.ErrStale) {
		t.Errorf("another model: %v", err)
	}
	for i := range data {
		broken := slices.Clone(data)
		broken[i] ^= 0x10
		if _, err := vector.Decode(broken, "server model"); !errors.Is(err, memory.ErrCorrupt) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := vector.Decode(data[:i], "server model"); !errors.Is(err, memory.ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(saved(f))
	f.Add([]byte("MSVC\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range [][]byte{data, binary.LittleEndian.AppendUint32(slices.Clone(data),
			crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))} {
			if s, err := vector.Decode(d, "server model"); err == nil {
				s.Get(vector.KeyOf("a"))
			}
		}
	})
}

func BenchmarkCosines(b *testing.B) {
	const n, dim = 100_000, 384
	r := rand.New(rand.NewPCG(5, 6))
	var rows vector.Rows
	for i := range n {
		rows.Set(i, quantized(b, random(r, dim)))
	}
	q := quantized(b, random(r, dim))
	for b.Loop() {
		rows.Cosines(q, func(int, float64) {})
	}
}

// BenchmarkLoad is what a start does with the file of 100,000 vectors.
func BenchmarkLoad(b *testing.B) {
	const n, dim = 100_000, 384
	r := rand.New(rand.NewPCG(7, 8))
	keys, codes := make([]vector.Key, n), make([]int8, dim)
	for i := range keys {
		keys[i] = vector.KeyOf(strconv.Itoa(i))
	}
	data := vector.Encode("server model", dim, func(yield func(vector.Key, []int8) bool) {
		for _, key := range keys {
			for i := range codes {
				codes[i] = int8(r.IntN(255) - 127)
			}
			if !yield(key, codes) {
				return
			}
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		s, err := vector.Decode(data, "server model")
		if err != nil {
			b.Fatal(err)
		}
		var rows vector.Rows
		for i, key := range keys {
			d, _ := s.Get(key)
			rows.Set(i, d)
		}
	}
}

// TestRowsGrow sets rows in any order, over several blocks, and reads all of them again after each growth.
func TestRowsGrow(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	var rows vector.Rows
	want := map[int]vector.Quantized{}
	query, _ := vector.Quantize(random(r, 48))
	for _, n := range []int{3, 0, 15, 16, 40, 700, 200, 511, 512, 1500, 1023} {
		q, _ := vector.Quantize(random(r, 48))
		want[n] = q
		if !rows.Set(n, q) {
			t.Fatal(n)
		}
		seen := 0
		rows.Cosines(query, func(n int, cosine float64) {
			seen++
			if got, ok := rows.At(n); !ok || got.Cosine(query) != want[n].Cosine(query) ||
				math.Abs(cosine-got.Cosine(query)) > 1e-12 {
				t.Errorf("row %d: %v", n, cosine)
			}
		})
		if seen != len(want) || rows.Len() != len(want) {
			t.Errorf("%d rows of %d", seen, len(want))
		}
	}
}

// TestRowsOutsideOfTheHeap fills many rows: the collector has nothing to do with them, and gives them back.
func TestRowsOutsideOfTheHeap(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("vectors are in the heap on Windows")
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	r := rand.New(rand.NewPCG(19, 20))
	q, _ := vector.Quantize(random(r, 384))
	before := heap()
	rows := &vector.Rows{}
	const n = 20_000
	for i := range n {
		rows.Set(i, q)
	}
	if grown := int64(heap()) - int64(before); grown > n*50 { // of 384 bytes a row
		t.Errorf("the heap grew by %d bytes for %d rows", grown, n)
	}
	if got, ok := rows.At(n - 1); !ok || got.Cosine(q) < 0.999 {
		t.Error("the last row is lost")
	}
}
