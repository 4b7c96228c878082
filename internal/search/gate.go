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
// are, and how much the prompt resembles typical memories of other people: small talk, "continue" and questions of general
// knowledge resemble none. The gate is a logistic regression of these features.

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

// gateFeatures are the best words, cosines and tokens among the candidates.
type gateFeatures struct {
	words       float64
	cosines     [maxModels]float64
	tokens      [maxModels]float64
	identifiers int
}

// observe updates the best features by those of one candidate.
func (g *gateFeatures) observe(w *docEvidence) {
	for i := range w.cosines {
		g.cosines[i] = max(g.cosines[i], w.cosines[i])
		g.tokens[i] = max(g.tokens[i], w.tokens[i])
	}
	g.words = max(g.words, w.words)
	g.identifiers = max(g.identifiers, w.identifiers)
}

// The coefficients of the gate: one regression for English prompts about memories with MiniLM vectors, one by e5 for all
// others. They are fitted on the three paraphrase sets: paraphrases, overlap and multi against unrelated prompts and, with
// half of the negatives' weight (.55 in English), questions that belong to another store. Each case is in the fit twice,
// with the typical memories of the two stores and without: people differ from the typical ones as much. Silent on nine
// of ten unrelated prompts.
const (
	gateIntercept    = -5.03
	gateE5           = 2.6
	gateMiniLM       = 9.37
	gateE5Tokens     = 4.09
	gateMiniLMTokens = -3.41 // tokens that match where the whole does not are about something else
	gateWords        = -2.36
	gateE5Likeness   = -8.28
	gateE5Nearest    = 1.53
	gateMiniLMNear   = 8.17

	gateOtherIntercept = -5.88
	gateOtherE5        = 16.56
	gateOtherLikeness  = -26.06
	gateOtherNearest   = 13.56
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

// hasGate reports whether the features of the gate are available: both models inside, and the typical memories. Otherwise
// an implicit request is decided by words.
func (r *ranking) hasGate() bool {
	e5, minilm := r.modelIndex("e5"), r.modelIndex("minilm")
	if e5 < 0 || minilm < 0 || r.queries[e5].Vector.Dim() == 0 {
		return false
	}
	return r.typical.vectors[e5].Load() != nil && r.typical.vectors[minilm].Load() != nil
}

// passesGate reports whether an implicit request is answered.
func (r *ranking) passesGate() bool {
	g := &r.gate
	if g.identifiers > 0 {
		return true
	}
	e5, minilm := r.modelIndex("e5"), r.modelIndex("minilm")
	likeness, nearest := r.typical.likeness(e5, r.queries[e5].Vector)
	if !r.minilmVector() {
		return gateOtherIntercept+gateOtherE5*g.cosines[e5]+gateOtherLikeness*likeness+gateOtherNearest*nearest > 0
	}
	_, miniLMNearest := r.typical.likeness(minilm, r.queries[minilm].Vector)
	return gateIntercept+gateE5*g.cosines[e5]+gateMiniLM*g.cosines[minilm]+gateE5Tokens*g.tokens[e5]+
		gateMiniLMTokens*g.tokens[minilm]+gateWords*g.words+gateE5Likeness*likeness+gateE5Nearest*nearest+
		gateMiniLMNear*miniLMNearest > 0
}
