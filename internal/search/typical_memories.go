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
