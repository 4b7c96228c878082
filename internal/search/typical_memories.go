package search

import (
	"cmp"
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// typicalMemories are the vectors of memories of other people, by model: the corpora of the paraphrase sets, English
// and Chinese.
type typicalMemories [maxModels][]typicalVector

type typicalVector struct {
	key    vector.Key
	vector vector.Quantized
}

// nearestTypical is how many typical memories likeness compares.
const nearestTypical = 10

// loadTypicalMemories returns the typical memories; none for a model that they have no vectors by.
func loadTypicalMemories(models []embedding.Model) *typicalMemories {
	var all typicalMemories
	for i, m := range models {
		file := shippedVectors(typicalMemoryTexts, m)
		for _, text := range shippedTexts(typicalMemoryTexts) {
			key := vector.KeyOf(text)
			if v, ok := file.Get(key); ok { // MiniLM knows no Chinese
				all[i] = append(all[i], typicalVector{key, v})
			}
		}
	}
	return &all
}

// likeness is the mean cosine of a query with all typical memories, and with the nearest of them.
func (t *typicalMemories) likeness(model int, query vector.Quantized) (all, nearest float64) {
	vectors := t[model]
	if len(vectors) == 0 || query.Dim() == 0 {
		return 0, 0
	}
	cosines := make([]float64, len(vectors))
	for i := range vectors {
		cosines[i] = vectors[i].vector.Cosine(query)
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
