package search

import (
	"context"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Description is what an index elsewhere holds of a memory, to propose candidates for SearchElsewhere.
type Description struct {
	Terms   []string   // distinct
	Length  int64      // words, weighted
	Key     vector.Key // of the text that is embedded
	Session string     // in which it was learnt, "" for none
}

// Describe analyses a memory as the index of its space does.
func (e *Engine) Describe(m *memory.Memory) Description {
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	found := a.analyze(&a.after, m)
	d := Description{Length: int64(found.length), Key: vector.KeyOf(embeddedText(m)), Session: sessionKeyOf(m).session}
	for _, t := range found.terms {
		d.Terms = append(d.Terms, t.term)
	}
	return d
}

// Makers name what Describe and the models make, by "terms" and the names of the models whose cosines are evidence.
// What two engines make can be compared while these are equal.
func (e *Engine) Makers() map[string]string {
	makers := map[string]string{"terms": fmt.Sprintf("%08x", e.fingerprint)}
	for _, m := range e.models {
		if m.Calibrated() {
			makers[m.Name()] = m.Identity()
		}
	}
	return makers
}

// MadeVector is what a model made of the text of a memory.
type MadeVector struct {
	ID, Model string
	Key       vector.Key       // of the text
	Vector    vector.Quantized // without dimensions when the model does not take the text
	Tokens    vector.TokenSet
}

// MadeVectors returns what the models whose cosines are evidence made of memories of a space so far. Error: that of
// ctx.
func (e *Engine) MadeVectors(ctx context.Context, space string, ids []string) (made []MadeVector, err error) {
	if err := e.waitReady(ctx); err != nil {
		return nil, err
	}
	in, err := e.use(ctx, []string{space})
	if err != nil {
		return nil, err
	}
	defer in.release()
	x := in.index(space)
	if x == nil {
		return nil, nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, id := range ids {
		doc, known := x.docIDs.Find(id, x.docs)
		if !known {
			continue
		}
		for i, v := range x.vectors {
			if one, ok := v.made(x.docs[doc], doc); ok && e.models[i].Calibrated() {
				made = append(made, one)
			}
		}
	}
	return made, nil
}

// made is what the model made of a memory, which is a document of the index; false when it has made nothing yet. The
// caller holds the lock.
func (v *docVectors) made(m *memory.Memory, doc uint32) (made MadeVector, ok bool) {
	made = MadeVector{ID: m.ID, Model: v.model.Name(), Key: keyOf(m)}
	if v.rejected.has(doc) {
		return made, true
	}
	if made.Vector, ok = v.rows.At(int(doc)); ok {
		made.Tokens, _ = v.tokensOf(made.Key, nil)
	}
	return made, ok
}
