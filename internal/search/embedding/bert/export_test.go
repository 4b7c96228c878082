package bert

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// Internals under test.
var (
	Exp        = exp
	ErrDamaged = errDamaged
)

const (
	MiniLMSHA256 = miniLMSHA256
	E5SHA256     = e5SHA256
	CenteringSHA = e5CenteringSHA256
)

// Files in the program.
func MiniLMFile() string  { return miniLMFile }
func E5File() string      { return e5File }
func E5Centering() string { return e5Centering }

// LoadMiniLM and LoadE5 read a model file.
func LoadMiniLM(file string) error { _, err := parseMiniLM(file, miniLMTokenWeights); return err }
func LoadE5(file string) error     { _, err := parseE5(file, e5Centering, e5TokenWeights); return err }

func (e *Encoder) mustModel() *model {
	m, err := e.model(context.Background())
	if err != nil {
		panic(err)
	}
	return m
}

// Tokens returns the token ids of a text.
func (e *Encoder) Tokens(text string) []int32 {
	m := e.mustModel()
	return m.tokenizer.tokenize(text, m.MaxTokens)
}

// MaxTokens is the greatest number of tokens of a text.
func (e *Encoder) MaxTokens() int { return e.mustModel().MaxTokens }

// VocabularySize is the number of different tokens.
func (e *Encoder) VocabularySize() int { return e.mustModel().tokenizer.size() }

// Encode returns the mean of the last layer for each text, scaled to length 1, without prefixes and centering.
func (e *Encoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	m := e.mustModel()
	out := make([][]float32, len(texts))
	err := e.encode(ctx, background.Pace{}, m, m.tokenizeAll("", texts), func(i int, rows []float32) {
		out[i] = make([]float32, m.Width)
		meanPool(out[i], rows)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// NewGELU returns the activation function.
func NewGELU() func(float32) float32 { return geluTable().gelu }

// SetQueryTimeout sets how long EmbedQuery may take.
func (e *Encoder) SetQueryTimeout(d time.Duration) { e.queryTimeout = d }

// PieceProbability is the probability of a piece of e5 in memories.
func (e *Encoder) PieceProbability(id int) float64 {
	u := e.mustModel().tokenizer.(*unigram)
	if u.scores[id] == 0 { // a special token
		return 0
	}
	return math.Exp(float64(u.scores[id])) * E5Boost
}

// E5Boost is explained in TestTokenWeights.
const E5Boost = 32

// Halves returns the last layer's output for a query. With help, a second goroutine is there from the beginning on.
func (e *Encoder) Halves(ctx context.Context, text string, help bool) ([]float32, error) {
	m := e.mustModel()
	h := &halves{model: m}
	var helper sync.WaitGroup
	defer helper.Wait()
	defer h.over.Store(true)
	if help {
		helper.Go(func() { h.help(e) })
		for !h.helper.Load() {
			runtime.Gosched()
		}
	}
	return h.forward(ctx, &scratch{}, m.tokenizer.tokenize(m.queryPrefix+text, m.MaxTokens))
}

// Forward is what Halves returns, by one goroutine.
func (e *Encoder) Forward(ctx context.Context, text string) (out []float32, err error) {
	m := e.mustModel()
	err = e.encode(ctx, background.Pace{}, m, m.tokenizeAll(m.queryPrefix, []string{text}), func(_ int, rows []float32) {
		out = slices.Clone(rows)
	})
	return out, err
}
