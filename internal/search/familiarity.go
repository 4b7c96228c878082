package search

import (
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Some memories are near to every question (hubs; Radovanović et al. 2010), so that being near says little of them. The
// familiarity of a memory is its mean cosine with the nearest of a fixed set of typical questions, in the language of
// the query; its cosine counts less that, as in CSLS (Conneau et al. 2018, "Word Translation Without Parallel Data").
// The questions are the same for every store, so that the evidence stays absolute.

const (
	nearestQuestions   = 10  // typical questions that familiarity compares
	typicalFamiliarity = 0.2 // of the mean memory, by either model and in either language
)

// questionVectors are the vectors of the typical questions, by model and language; empty for a model that has none.
type questionVectors [maxModels]struct{ english, chinese vector.Rows }

// loadQuestions returns the vectors of the typical questions.
func loadQuestions(models []embedding.Model) *questionVectors {
	var all questionVectors
	for i, m := range models {
		file := shippedVectors(typicalQuestionTexts, m)
		for _, line := range shippedTexts(typicalQuestionTexts) {
			v, ok := file.Get(vector.KeyOf(line))
			if !ok {
				continue // MiniLM knows no Chinese
			}
			rows := &all[i].english
			if analysis.HasHan(line) {
				rows = &all[i].chinese
			}
			rows.Set(rows.Len(), v)
		}
	}
	return &all
}

// familiarityOf is the familiarity of a document beyond the typical one, summed over the models of the query.
func (c *evidenceCollector) familiarityOf(doc uint32) (sum float64) {
	for i, q := range c.queries {
		questions := &c.questions[i].english
		if analysis.HasHan(c.req.Query) {
			questions = &c.questions[i].chinese
		}
		if q.Vector.Dim() == 0 || questions.Len() == 0 {
			continue
		}
		if v, ok := c.index.vectors[i].rows.View(int(doc)); ok {
			sum += nearestMean(questions, v) - typicalFamiliarity
		}
	}
	return sum
}

// nearestMean is the mean cosine of a vector with the nearestQuestions rows that are nearest to it.
func nearestMean(rows *vector.Rows, v vector.Quantized) (mean float64) {
	var nearest [nearestQuestions]float64 // ascending
	n := 0
	rows.Cosines(v, func(_ int, cosine float64) {
		switch {
		case n < len(nearest):
			at := n
			for ; at > 0 && nearest[at-1] > cosine; at-- {
				nearest[at] = nearest[at-1]
			}
			nearest[at] = cosine
			n++
		case cosine > nearest[0]:
			at := 1
			for ; at < len(nearest) && nearest[at] < cosine; at++ {
				nearest[at-1] = nearest[at]
			}
			nearest[at-1] = cosine
		}
	})
	for _, cosine := range nearest[:n] {
		mean += cosine / float64(n)
	}
	return mean
}
