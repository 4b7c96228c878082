package bert_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
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

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

// newMiniLM and newE5 share one encoder each: loading takes a while.
func newMiniLM(t testing.TB) *bert.Encoder { return open(t, sharedMiniLM) }
func newE5(t testing.TB) *bert.Encoder     { return open(t, sharedE5) }

var (
	sharedMiniLM = sync.OnceValues(bert.NewMiniLM)
	sharedE5     = sync.OnceValues(bert.NewE5)
)

func open(t testing.TB, newEncoder func() (*bert.Encoder, error)) *bert.Encoder {
	t.Helper()
	e, err := newEncoder()
	if errors.Is(err, bert.ErrNoModel) {
		t.Skip("built with -tags nomodel")
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// perModel runs a test with each model and its examples.
func perModel(t *testing.T, test func(t *testing.T, e *bert.Encoder, examples []example)) {
	t.Run("minilm", func(t *testing.T) { test(t, newMiniLM(t), examples(t, "minilm")) })
	t.Run("e5", func(t *testing.T) { test(t, newE5(t), examples(t, "e5")) })
}

// example is what another implementation computes of a text from the original weights: see tools/encoder.
type example struct {
	Text   string
	IDs    []int32
	Vector hexVector
}

type hexVector []float32

func (v *hexVector) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	for i := 0; i+3 < len(raw); i += 4 {
		*v = append(*v, math.Float32frombits(
			uint32(raw[i])<<24|uint32(raw[i+1])<<16|uint32(raw[i+2])<<8|uint32(raw[i+3])))
	}
	return err
}

func examples(t testing.TB, model string) (out []example) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + model + "_reference.json")
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
	perModel(t, func(t *testing.T, e *bert.Encoder, examples []example) {
		for _, x := range examples {
			if diff := cmp.Diff(x.IDs, e.Tokens(x.Text)); diff != "" {
				t.Errorf("tokens of %.60q are not the original's (-want +got):\n%s", x.Text, diff)
			}
		}
	})
}

func TestVectors(t *testing.T) { perModel(t, testVectors) }

func testVectors(t *testing.T, e *bert.Encoder, examples []example) {
	least, sum, n := 1.0, 0.0, 0
	for i, x := range examples {
		if memtest.SkipSample(i, 16) {
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
	for _, x := range examples(t, "minilm") {
		if len(x.IDs) < 24 {
			texts = append(texts, x.Text)
		}
	}
	return texts[:8]
}

func TestBatch(t *testing.T) {
	perModel(t, func(t *testing.T, e *bert.Encoder, _ []example) { testBatch(t, e) })
}

func testBatch(t *testing.T, e *bert.Encoder) {
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

// TestBits has the bits of a vector, which must be the same on every machine.
func TestBits(t *testing.T) {
	want := map[string]string{
		"minilm": "ab293bc754b1c9a3cc04378fd8faef23b1811d0eb21cf217a8ed55f189a745dc",
		"e5":     "a9a5c93f00479194590029b7c8a610b1178bad53255ea0119f3efacffd0ef9b0",
	}
	perModel(t, func(t *testing.T, e *bert.Encoder, _ []example) {
		v, err := e.Encode(t.Context(), []string{"Deploys happen on Fridays."})
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, x := range v[0] {
			_ = binary.Write(h, binary.LittleEndian, math.Float32bits(x))
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want[e.Name()] {
			t.Errorf("SHA-256 of the vector's bits is %s, want %s: if weights or arithmetic changed on purpose, "+
				"change it here",
				got, want[e.Name()])
		}
	})
}

func TestCancelled(t *testing.T) {
	e := newMiniLM(t)
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
	e := newMiniLM(t)
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

// TestChecksums reads the files again after the models were loaded and their pages released.
func TestChecksums(t *testing.T) {
	newMiniLM(t).Tokens("")
	newE5(t).Tokens("")
	for _, f := range []struct{ file, want string }{
		{bert.MiniLMFile(), bert.MiniLMSHA256}, {bert.E5File(), bert.E5SHA256}, {bert.E5Centering(), bert.CenteringSHA},
	} {
		sum := sha256.Sum256([]byte(f.file))
		if got := hex.EncodeToString(sum[:]); got != f.want {
			t.Errorf("SHA-256 of a file of %d bytes is %s, not %s", len(f.file), got, f.want)
		}
	}
}

func TestDamaged(t *testing.T) {
	newMiniLM(t)
	file := bert.MiniLMFile()
	flipped := []byte(file)
	flipped[len(flipped)/2] ^= 1
	for name, damaged := range map[string]string{
		"a flipped bit": string(flipped), "nothing but the beginning": file[:1000], "cut": file[:len(file)-1],
		"another":               strings.Repeat("x", 100),
		"a checksum of nothing": file[:24] + "\xff\xff\xff\xff" + "\x00\x00\x00\x00",
	} {
		if err := bert.LoadMiniLM(damaged); !errors.Is(err, bert.ErrDamaged) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestDamagedE5 changes the header: the file has no checksum, so that loading need not read the word embeddings.
func TestDamagedE5(t *testing.T) {
	newE5(t)
	file := bert.E5File()
	replace := func(old, with string) string {
		if !strings.Contains(file[:1<<16], old) {
			t.Fatalf("no %s in the header", old)
		}
		return strings.Replace(file[:1<<16], old, with, 1) + file[1<<16:]
	}
	for name, damaged := range map[string]string{
		"nothing": "", "nothing but the beginning": file[:1000], "cut": file[:len(file)/2],
		"another":       strings.Repeat("x", 100),
		"no layer norm": replace(`"emb.ln.w"`, `"emb.ln.x"`), "another width": replace(`"hidden":384`, `"hidden":256`),
		"too many layers": replace(`"layers":12`, `"layers":13`), "negative": replace(`"offset":`, `"offset":-`),
		"unknown piece": replace(`"unk":3,`, `"unk":-`), "another vocabulary": replace(`"n":63499`, `"n":63498`),
	} {
		if err := bert.LoadE5(damaged); !errors.Is(err, bert.ErrDamaged) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestNoModel(t *testing.T) {
	for _, newEncoder := range []func() (*bert.Encoder, error){bert.NewMiniLM, bert.NewE5} {
		if _, err := newEncoder(); (bert.MiniLMFile() == "") != errors.Is(err, bert.ErrNoModel) {
			t.Errorf("error is %v", err)
		}
	}
}

func FuzzTokens(f *testing.F) {
	minilm, e5 := newMiniLM(f), newE5(f)
	for _, x := range slices.Concat(examples(f, "minilm"), examples(f, "e5")) {
		f.Add(x.Text)
	}
	f.Add("\xff\xc3\x28[CLS")
	f.Add("～▁\u200b▁")
	f.Fuzz(func(t *testing.T, text string) {
		checkTokens(t, minilm, text, 101, 102)
		checkTokens(t, e5, text, 0, 2)
	})
}

func checkTokens(t *testing.T, e *bert.Encoder, text string, start, end int32) {
	t.Helper()
	ids := e.Tokens(text)
	if len(ids) < 2 || len(ids) > e.MaxTokens() || ids[0] != start || ids[len(ids)-1] != end {
		t.Fatalf("%d tokens, or the wrong ones at the ends: %v", len(ids), ids)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= e.VocabularySize() {
			t.Fatalf("token %d", id)
		}
	}
	if twice := e.Tokens(text); !slices.Equal(ids, twice) {
		t.Fatalf("%v, then %v", ids, twice)
	}
}
