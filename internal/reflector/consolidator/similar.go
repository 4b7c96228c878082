package consolidator

import (
	"context"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
)

// otherWordHits is how many memories are looked at for each other wording.
const otherWordHits = 3

// similar finds the memories that a text may repeat or correct: by its own words and its meaning, and by the words in
// which rules know that the same is said otherwise. The latter have the least score that counts as similar, since their
// likeness is not that of the text.
func (s *Service) similar(ctx context.Context, space, text string) ([]search.Hit, error) {
	hits, err := s.search.Similar(ctx, space, text, maxNeighbours)
	if err != nil {
		return nil, fmt.Errorf("find similar memories: %w", err)
	}
	for _, words := range guard.OtherWords(text) {
		more, err := s.search.SimilarByWords(ctx, space, words, otherWordHits)
		if err != nil {
			return nil, fmt.Errorf("find what says the same in other words: %w", err)
		}
		for _, h := range more {
			if !slices.ContainsFunc(hits, func(known search.Hit) bool { return known.Memory.ID == h.Memory.ID }) {
				h.Score = minSimilar
				hits = append(hits, h)
			}
		}
	}
	return hits, nil
}
