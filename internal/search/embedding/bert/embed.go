package bert

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// tokenSetVersion grows when token sets are selected or packed differently.
const tokenSetVersion = 2

// tokenSetIdentity is the part of a model's identity on which only token sets depend.
func tokenSetIdentity(weights string) string {
	return fmt.Sprintf("token sets %d of weights %08x", tokenSetVersion, crc32.ChecksumIEEE(bytesOf(weights)))
}

const (
	minTokenWeight = 0.5 // stored tokens of less weight are left out …
	minTokens      = 8   // … unless a text would have fewer than this
	maxTokens      = 64  // stored tokens of a text: 6 KB
)

// bulkTexts is the number of texts from which EmbedDocuments runs at low priority: it takes more than some 50 ms then.
const bulkTexts = 6

// EmbedDocuments embeds texts that are stored. One call runs at a time; many texts at once run on a thread of low
// priority, and step aside for requests, so that an import does not slow down searches and writes
// (embedding.WithPace). Errors: embedding.ErrRefused when the model does not support one of the texts, before anything
// is computed; one that says what is damaged; that of ctx.
func (e *Encoder) EmbedDocuments(ctx context.Context, texts []string) ([]embedding.Document, error) {
	if len(texts) > embedding.MaxBatch || slices.ContainsFunc(texts, func(text string) bool {
		return !e.Supports(text)
	}) {
		return nil, embedding.ErrRefused
	}
	select {
	case e.background <- struct{}{}:
		defer func() { <-e.background }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pace := embedding.PaceOf(ctx)
	urgent := pace.Urgency()
	select {
	case <-urgent:
		return e.embedDocuments(ctx, background.Pace{}, texts)
	default:
	}
	if len(texts) < bulkTexts {
		return e.embedDocuments(ctx, pace, texts)
	}
	// A thread cannot raise its priority again, and on a busy machine one of low priority gets no turn for seconds. So
	// when it becomes urgent, the work begins again on another.
	low, giveUp := context.WithCancel(ctx)
	defer giveUp()
	type result struct {
		documents []embedding.Document
		err       error
	}
	done := make(chan result, 1)
	go runLowPriority(func() {
		documents, err := e.embedDocuments(low, pace, texts)
		done <- result{documents, err}
	})
	select {
	case r := <-done:
		return r.documents, r.err
	case <-urgent:
		giveUp()
		return e.embedDocuments(ctx, background.Pace{}, texts)
	}
}

// embedDocuments returns a pooled vector and the packed token vectors for each text, in the order of the
// texts.
func (e *Encoder) embedDocuments(ctx context.Context, p background.Pace, texts []string) ([]embedding.Document, error) {
	m, err := e.model(ctx)
	if err != nil {
		return nil, err
	}
	out, valid := make([]embedding.Document, len(texts)), true
	ids, v := m.tokenizeAll(m.textPrefix, texts), make([]float32, m.Width)
	err = e.encode(ctx, p, m, ids, func(i int, rows []float32) {
		var ok bool
		out[i].Vector, ok = m.pool(v, rows)
		out[i].Tokens = m.packTokens(v, ids[i], rows)
		valid = valid && ok
	})
	if err == nil && !valid {
		err = fmt.Errorf("%w: a text has no vector", errDamaged)
	}
	return out, err
}

// EmbedQuery embeds a query within a second or the deadline of ctx. The first query also waits for the model, at most
// loadTimeout: without that, a search right after the start would find by words alone and seem to have forgotten.
// Errors: embedding.ErrTooSlow, embedding.ErrRefused when the model does not support the text; one that says what is
// damaged; that of ctx.
func (e *Encoder) EmbedQuery(ctx context.Context, text string) (embedding.Query, error) {
	if !e.Supports(text) {
		return embedding.Query{}, embedding.ErrRefused
	}
	key := vector.KeyOf(text)
	if q, ok := e.cache.Get(key); ok {
		return q, nil
	}
	loading, stopLoading := context.WithTimeout(ctx, loadTimeout)
	defer stopLoading()
	m, err := e.model(loading)
	var q embedding.Query
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, e.queryTimeout)
		defer cancel()
		q, err = e.embedQuery(bounded, m, text)
	}
	switch {
	case ctx.Err() != nil:
		return embedding.Query{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return embedding.Query{}, embedding.ErrTooSlow
	case err != nil:
		return embedding.Query{}, err
	}
	e.cache.Put(key, q)
	return q, nil
}

// embedQuery embeds one query with a loaded model.
func (e *Encoder) embedQuery(ctx context.Context, m *model, text string) (q embedding.Query, err error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return embedding.Query{}, ctx.Err()
	}
	h := e.newHalves(m)
	defer h.over.Store(true)
	ids := m.tokenizer.tokenize(m.queryPrefix+text, m.MaxTokens)
	s := e.takeScratch()
	defer e.returnScratch(s)
	rows, err := h.forward(ctx, s, ids)
	if err != nil {
		return q, fmt.Errorf("embed a query: %w", err)
	}
	var valid bool
	if q.Vector, valid = m.pool(make([]float32, m.Width), rows); !valid {
		return q, fmt.Errorf("%w: the query has no vector", errDamaged)
	}
	q.Tokens = m.queryTokens(text, ids, rows)
	return q, nil
}

// tokenizeAll returns the tokens of each text with its prefix.
func (m *model) tokenizeAll(prefix string, texts []string) [][]int32 {
	out := make([][]int32, len(texts))
	for i, text := range texts {
		out[i] = m.tokenizer.tokenize(prefix+text, m.MaxTokens)
	}
	return out
}

// pool returns the vector of a text: the mean of its tokens' rows, centered. ok is false when it cannot be quantised. v
// is room for a row.
func (m *model) pool(v, rows []float32) (q vector.Quantized, ok bool) {
	meanPool(v, rows)
	m.pooled.apply(v)
	return vector.Quantize(v)
}

// contentTokens returns the range of a text's tokens without special tokens and prefix.
func (m *model) contentTokens(ids []int32) (first, last int) {
	return min(1+m.prefix, len(ids)-1), len(ids) - 1
}

// packTokens returns the token vectors of a stored text: those of its tokens with the greatest weights, in the order
// of the text. v is room for a row.
func (m *model) packTokens(v []float32, ids []int32, rows []float32) vector.TokenSet {
	first, last := m.contentTokens(ids)
	least, ties := m.leastImportance(ids[first:last])
	set := make(vector.TokenSet, 0, min(last-first, maxTokens)*vector.TokenBytes(m.Width))
	for i := first; i < last; i++ {
		importance := m.importance[ids[i]]
		if importance == least {
			ties--
		}
		if importance < least || importance == least && ties < 0 {
			continue
		}
		copy(v, rows[i*m.Width:(i+1)*m.Width])
		m.token.apply(v)
		set = set.AppendToken(v)
	}
	return slices.Clip(set)
}

// leastImportance is what a token must have to be stored, and how many tokens of exactly this are stored: as much as
// minTokenWeight, less where too few tokens have that, and more where too many do.
func (m *model) leastImportance(ids []int32) (least uint8, ties int) {
	sorted := make([]uint8, len(ids))
	for i, id := range ids {
		sorted[i] = m.importance[id]
	}
	slices.SortFunc(sorted, func(a, b uint8) int { return int(b) - int(a) })
	least = uint8(math.Ceil(minTokenWeight * math.MaxUint8))
	if n := min(minTokens, len(sorted)); n > 0 {
		least = min(least, sorted[n-1])
	}
	if len(sorted) <= maxTokens {
		return least, len(sorted)
	}
	least = max(least, sorted[maxTokens-1])
	above := slices.IndexFunc(sorted, func(w uint8) bool { return w <= least })
	return least, maxTokens - above
}

// queryTokens returns the token vectors of a query, each with its weight.
func (m *model) queryTokens(text string, ids []int32, rows []float32) *vector.TokenQuery {
	first, last := m.contentTokens(ids)
	emphasis := m.emphasis(text, len(ids))
	vectors, weights := make([][]float32, 0, last-first), make([]float32, 0, last-first)
	for i := first; i < last; i++ {
		v := slices.Clone(rows[i*m.Width : (i+1)*m.Width])
		m.token.apply(v)
		vectors, weights = append(vectors, v), append(weights, emphasis[i]*float32(m.importance[ids[i]])/math.MaxUint8)
	}
	return vector.NewTokenQuery(vectors, weights)
}

// emphasis is the factor of the weight of each of n tokens of a query. A token counts by the square of its weight, so
// the factor is the root of what its sentence weighs.
func (m *model) emphasis(text string, n int) []float32 {
	factors := slices.Repeat([]float32{1}, n)
	e := embedding.EmphasisOf(text)
	for _, start := range e.Starts() {
		before := len(m.tokenizer.tokenize(m.queryPrefix+text[:start], m.MaxTokens)) - 1 // without the end
		factor := float32(math.Sqrt(e.At(start - 1)))
		for i := range factors[:min(before, n)] {
			factors[i] = factor
		}
	}
	return factors
}

const (
	// foreignShare bounds the letters of scripts that a model does not know: more than one in so many is too much.
	foreignShare = 4
	// maxHan is the number of Chinese characters up to which a text counts as English.
	maxHan = 2
)

// Supports reports whether the model knows the language of a text, by its script: it would return a vector for others
// too, but a meaningless one. Latin letters pass whatever the language.
func (e *Encoder) Supports(text string) bool {
	foreign, han, letters := 0, 0, 0
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
			continue
		case unicode.Is(unicode.Han, r):
			han++
		case !unicode.Is(unicode.Latin, r):
			foreign++
		}
		letters++
	}
	if !e.knowsHan && han > maxHan {
		return false
	}
	return foreignShare*foreign <= letters
}
