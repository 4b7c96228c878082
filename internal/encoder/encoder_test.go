package encoder_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/encoder"
	"github.com/memsidecar/memsidecar/internal/memtest"
)

func newEncoder(t testing.TB) *encoder.Encoder {
	t.Helper()
	e, err := encoder.New()
	if errors.Is(err, encoder.ErrNoModel) {
		t.Skip("built with -tags nomodel")
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// example is what the original model makes of a text: see tools/encoder.
type example struct {
	Text   string
	IDs    []int32
	Vector hexVector
}

type hexVector []float32

func (v *hexVector) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	for i := 0; i+3 < len(raw); i += 4 {
		*v = append(*v, math.Float32frombits(uint32(raw[i])<<24|uint32(raw[i+1])<<16|uint32(raw[i+2])<<8|uint32(raw[i+3])))
	}
	return err
}

func examples(t testing.TB) (out []example) {
	t.Helper()
	raw, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d examples", len(out))
	}
	return out
}

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func cosine(a, b []float32) float64 {
	return product(a, b) / math.Sqrt(product(a, a)*product(b, b))
}

func TestTokens(t *testing.T) {
	e := newEncoder(t)
	for _, x := range examples(t) {
		if diff := cmp.Diff(x.IDs, e.Tokens(x.Text)); diff != "" {
			t.Errorf("tokens of %.60q are not the original's (-want +got):\n%s", x.Text, diff)
		}
	}
}

func TestVectors(t *testing.T) {
	e := newEncoder(t)
	least, sum, n := 1.0, 0.0, 0
	for i, x := range examples(t) {
		if memtest.LeftOut(i, 16) {
			continue
		}
		got, err := e.Encode(t.Context(), []string{x.Text})
		if err != nil {
			t.Fatal(err)
		}
		c := cosine(got[0], x.Vector)
		if !(c >= 0.999) {
			t.Errorf("cosine between the vector of %.60q and the original's is %.6f", x.Text, c)
		}
		if squares := product(got[0], got[0]); math.Abs(squares-1) > 1e-6 {
			t.Errorf("the square of the vector of %.60q is %f", x.Text, squares)
		}
		least, sum, n = min(least, c), sum+c, n+1
	}
	t.Logf("cosines with the original of %d texts: mean %.5f, least %.5f", n, sum/float64(n), least)
}

// some are texts that fill more than one batch.
func some(t testing.TB) (texts []string) {
	for _, x := range examples(t) {
		if len(x.IDs) < 24 {
			texts = append(texts, x.Text)
		}
	}
	return texts[:8]
}

func TestBatch(t *testing.T) {
	e := newEncoder(t)
	texts := some(t)
	together, err := e.Encode(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, text := range texts {
		wg.Go(func() {
			alone, err := e.Encode(context.WithoutCancel(t.Context()), []string{text})
			if err != nil || !slices.Equal(alone[0], together[i]) {
				t.Errorf("vector of %.60q is another when made alone, at the same time as others: %v", text, err)
			}
		})
	}
	wg.Wait()
	none, err := e.Encode(t.Context(), nil)
	if err != nil || len(none) != 0 {
		t.Errorf("no texts have %d vectors: %v", len(none), err)
	}
}

// TestBits holds the bits of a vector, which must be the same on every machine.
func TestBits(t *testing.T) {
	e := newEncoder(t)
	v, err := e.Encode(t.Context(), []string{"Deploys happen on Fridays."})
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, x := range v[0] {
		b := math.Float32bits(x)
		h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
	}
	const want = "ab293bc754b1c9a3cc04378fd8faef23b1811d0eb21cf217a8ed55f189a745dc"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("SHA-256 of the vector's bits is %s, want %s: if weights or arithmetic changed on purpose, change it here", got, want)
	}
}

func TestCancelled(t *testing.T) {
	e := newEncoder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Encode(ctx, []string{"a text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if _, err := e.Encode(t.Context(), []string{"a text"}); err != nil {
		t.Errorf("after a call that was cancelled: %v", err)
	}
}

// ending is a context that is cancelled when it has been asked a number of times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelledUnderWay(t *testing.T) {
	e := newEncoder(t)
	whole := &ending{t.Context(), 1 << 30}
	if _, err := e.Encode(whole, []string{"a text"}); err != nil {
		t.Fatal(err)
	}
	asked := 1<<30 - whole.left
	if asked < 6*4 {
		t.Errorf("asked %d times whether it was cancelled: not before every matrix of 6 layers", asked)
	}
	for left := 0; left < asked; left += 7 {
		if _, err := e.Encode(&ending{t.Context(), left}, []string{"a text"}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d steps: %v", left, err)
		}
	}
}

func TestChecksum(t *testing.T) {
	newEncoder(t)
	sum := sha256.Sum256([]byte(encoder.ModelFile()))
	if got := hex.EncodeToString(sum[:]); got != encoder.ModelSHA256 {
		t.Errorf("SHA-256 of the model file is %s, not %s", got, encoder.ModelSHA256)
	}
}

func TestDamaged(t *testing.T) {
	newEncoder(t)
	file := encoder.ModelFile()
	flipped := []byte(file)
	flipped[len(flipped)/2] ^= 1
	for name, damaged := range map[string]string{
		"a flipped bit": string(flipped), "nothing but the beginning": file[:1000], "cut": file[:len(file)-1], "another": strings.Repeat("x", 100),
		"a checksum of nothing": file[:24] + "\xff\xff\xff\xff" + "\x00\x00\x00\x00",
	} {
		if _, err := encoder.Load(damaged); !errors.Is(err, encoder.ErrDamaged) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestNoModel(t *testing.T) {
	if _, err := encoder.Load(""); !errors.Is(err, encoder.ErrNoModel) {
		t.Errorf("error is %v", err)
	}
	if _, err := encoder.New(); (encoder.ModelFile() == "") != errors.Is(err, encoder.ErrNoModel) {
		t.Errorf("error of New is %v", err)
	}
}

func FuzzTokens(f *testing.F) {
	e := newEncoder(f)
	for _, x := range examples(f) {
		f.Add(x.Text)
	}
	f.Add("\xff\xc3\x28[CLS")
	f.Fuzz(func(t *testing.T, text string) {
		ids := e.Tokens(text)
		if len(ids) < 2 || len(ids) > e.Longest() || ids[0] != 101 || ids[len(ids)-1] != 102 {
			t.Fatalf("%d tokens, or the wrong ones at the ends: %v", len(ids), ids)
		}
		for _, id := range ids {
			if id < 0 || int(id) >= e.Words() {
				t.Fatalf("token %d", id)
			}
		}
		if twice := e.Tokens(text); !slices.Equal(ids, twice) {
			t.Fatalf("%v, then %v", ids, twice)
		}
	})
}
