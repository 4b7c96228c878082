package search

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// An implicit request is a prompt that did not ask for memories. Words do not tell whether a memory bears on it: an
// unrelated prompt shares a word by accident, and a paraphrase shares none. What tells is how near the nearest memories
// are, and how much the prompt resembles typical memories of other people: small talk, "continue" and questions of
// general knowledge resemble none. The gate is a logistic regression of these features.

// typicalTexts are memories of other people, one a line, English and Chinese: the corpora of the paraphrase sets.
//
//go:embed typical.txt
var typicalTexts string

// typicalMemories are the vectors of the typical texts, by model.
type typicalMemories struct {
	vectors [maxModels]atomic.Pointer[[]typicalVector]
}

type typicalVector struct {
	key    vector.Key
	vector vector.Quantized
}

// nearestTypical is how many typical memories likeness compares.
const nearestTypical = 10

// likeness is the mean cosine of a query with all typical memories, and with the nearest of them.
func (t *typicalMemories) likeness(model int, query vector.Quantized) (all, nearest float64) {
	vectors := t.vectors[model].Load()
	if vectors == nil || query.Dim() == 0 {
		return 0, 0
	}
	cosines := make([]float64, len(*vectors))
	for i := range *vectors {
		cosines[i] = (*vectors)[i].vector.Cosine(query)
	}
	slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, c := range cosines {
		all += c / float64(len(cosines))
		if i < nearestTypical {
			nearest += c / float64(min(nearestTypical, len(cosines)))
		}
	}
	return all, nearest
}

func typicalFile(model string) string { return "index/.typical." + model + ".vectors" }

// embedTypical makes the vectors of the typical texts, or reads them from the file that it wrote before.
func (e *Engine) embedTypical(ctx context.Context, fsys durable.FS) error {
	for i, m := range e.models {
		if !m.Calibrated() || e.typical.vectors[i].Load() != nil {
			continue
		}
		var texts []string
		for text := range strings.Lines(typicalTexts) {
			if text = strings.TrimSpace(text); m.Supports(text) {
				texts = append(texts, text)
			}
		}
		vectors := readTypical(fsys, m, texts)
		if vectors == nil {
			var err error
			if vectors, err = embedTypicalTexts(ctx, m, texts); err != nil {
				return fmt.Errorf("embed typical memories: %w", err)
			}
			if err := writeTypical(fsys, m, vectors); err != nil {
				e.log.Warn("typical memories are not saved; a restart embeds them again", slog.Any("error", err))
			}
		}
		e.typical.vectors[i].Store(&vectors)
	}
	return nil
}

func embedTypicalTexts(ctx context.Context, m embedding.Model, texts []string) (vectors []typicalVector, err error) {
	for batch := range slices.Chunk(texts, embedding.MaxBatch) {
		docs, err := m.EmbedDocuments(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, d := range docs {
			vectors = append(vectors, typicalVector{vector.KeyOf(batch[i]), d.Vector})
		}
	}
	return vectors, nil
}

// readTypical reads the vectors of the typical texts; nil when the file does not have them all.
func readTypical(fsys durable.FS, m embedding.Model, texts []string) (vectors []typicalVector) {
	data, err := durable.ReadFile(fsys, typicalFile(m.Name()))
	if err != nil {
		return nil
	}
	file, err := vector.Decode(data, m.Identity())
	if err != nil {
		return nil
	}
	for _, text := range texts {
		key := vector.KeyOf(text)
		v, ok := file.Get(key)
		if !ok {
			return nil
		}
		vectors = append(vectors, typicalVector{key, v})
	}
	return vectors
}

func writeTypical(fsys durable.FS, m embedding.Model, vectors []typicalVector) error {
	if err := fsys.MkdirAll("index"); err != nil {
		return err
	}
	var rows vector.Rows
	for i, v := range vectors {
		rows.Set(i, v.vector)
	}
	var all iter.Seq2[vector.Key, []int8] = func(yield func(vector.Key, []int8) bool) {
		for i, v := range vectors {
			if !yield(v.key, rows.Codes(i)) {
				return
			}
		}
	}
	data := vector.Encode(m.Identity(), rows.Dim(), all)
	return durable.WriteFile(fsys, typicalFile(m.Name()), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// gateFeatures are the best evidence among the candidates of a prompt: of those in its language, and of the others.
// Each feature is the best by itself, but for distinct, which is of one memory.
type gateFeatures struct {
	same, other gateEvidence
	identifiers int
}

type gateEvidence struct {
	found    bool
	sum      float64 // evidence of the best
	words    float64
	distinct float64 // sum of a memory's cosines less its familiarity
	cosine   float64 // by e5
	tokens   float64 // by e5
}

// observe updates the best features by those of one candidate, of a familiarity. e5 is the position of the model.
func (g *gateEvidence) observe(w *docEvidence, familiarity float64, e5 int) {
	distinct := -familiarity
	for _, cosine := range w.cosines {
		distinct += cosine
	}
	if !g.found {
		*g = gateEvidence{true, w.sum, w.words, distinct, w.cosines[e5], w.tokens[e5]}
		return
	}
	g.sum, g.words, g.distinct = max(g.sum, w.sum), max(g.words, w.words), max(g.distinct, distinct)
	g.cosine, g.tokens = max(g.cosine, w.cosines[e5]), max(g.tokens, w.tokens[e5])
}

// observeGate updates the features of the gate by the candidates of a source.
func (c *evidenceCollector) observeGate() {
	e5, minilm := c.modelIndex("e5"), c.modelIndex("minilm")
	if !c.req.Implicit || c.source.isCollection() || e5 < 0 || minilm < 0 {
		return
	}
	english := c.models[minilm].Supports(c.req.Query)
	for i := range c.pool {
		w, g := &c.pool[i], &c.gate.other
		if c.index.vectors[minilm].rows.Has(int(w.doc)) == english {
			g = &c.gate.same
		}
		g.observe(w, c.familiarity[w.doc], e5)
		c.gate.identifiers = max(c.gate.identifiers, w.identifiers)
	}
}

// The coefficients of the gate: one regression for English prompts about memories with MiniLM vectors, one for other
// prompts about memories in their language, one for memories in another language. They are fitted on the paraphrase
// sets: paraphrases, overlap and multi against unrelated prompts and, with .6 of the negatives' weight, questions that
// belong to another store. Each case is in the fit twice, with the typical memories of the two stores and without:
// people differ from the typical ones as much. With a regression that did not see the store that is asked, the
// intercepts silence nine of ten unrelated prompts and eight of ten questions that belong to another store.
const (
	gateEnglishIntercept = -5.66
	gateEnglishDistinct  = 7.79
	gateEnglishWords     = -4.21 // words that a memory shares while its meaning is far are shared by accident
	gateEnglishLikeness  = -17.01
	gateEnglishNearest   = 3.52
	gateEnglishMiniLM    = 10.77 // nearest typical memories by MiniLM

	gateE5Intercept = -5.96 // by e5 alone
	gateE5Distinct  = 18.01
	gateE5Likeness  = -27.99
	gateE5Nearest   = 14.04

	gateCrossIntercept = -5.84
	gateCrossE5        = 12.89
	gateCrossTokens    = 6.03
	gateCrossLikeness  = -22.8
	gateCrossNearest   = 9.58
)

// modelIndex is the position of a model by name, -1 when the engine does not have it.
func (r *ranking) modelIndex(name string) int {
	return slices.IndexFunc(r.models, func(m embedding.Model) bool { return m.Name() == name })
}

// minilmVector reports whether the query has a vector by MiniLM: it is English, and so are memories of the spaces.
func (r *ranking) minilmVector() bool {
	i := r.modelIndex("minilm")
	return i >= 0 && i < len(r.queries) && r.queries[i].Vector.Dim() > 0
}

// hasGate reports whether the features of the gate are available: both models inside, and the typical memories.
// Otherwise an implicit request is decided by words.
func (r *ranking) hasGate() bool {
	e5, minilm := r.modelIndex("e5"), r.modelIndex("minilm")
	if e5 < 0 || minilm < 0 || r.queries[e5].Vector.Dim() == 0 {
		return false
	}
	return r.typical.vectors[e5].Load() != nil && r.typical.vectors[minilm].Load() != nil
}

// passesGate reports whether an implicit request is answered. The language of the best candidate decides by which
// regression.
func (r *ranking) passesGate() bool {
	if r.gate.identifiers > 0 {
		return true
	}
	e5, minilm := r.modelIndex("e5"), r.modelIndex("minilm")
	likeness, nearest := r.typical.likeness(e5, r.queries[e5].Vector)
	same, other := &r.gate.same, &r.gate.other
	if other.found && (!same.found || other.sum > same.sum) {
		return gateCrossIntercept+gateCrossE5*other.cosine+gateCrossTokens*other.tokens+gateCrossLikeness*likeness+
			gateCrossNearest*nearest > 0
	}
	if !same.found {
		return false
	}
	if !r.minilmVector() {
		return gateE5Intercept+gateE5Distinct*same.distinct+gateE5Likeness*likeness+gateE5Nearest*nearest > 0
	}
	_, miniLMNearest := r.typical.likeness(minilm, r.queries[minilm].Vector)
	return gateEnglishIntercept+gateEnglishDistinct*same.distinct+gateEnglishWords*same.words+
		gateEnglishLikeness*likeness+gateEnglishNearest*nearest+gateEnglishMiniLM*miniLMNearest > 0
}
