package search

import (
	"embed"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Some memories are near to every question (hubs; Radovanović et al. 2010), so that being near says little of them. The
// familiarity of a memory is its mean cosine with the nearest of a fixed set of typical questions, in the language of
// the query; its cosine counts less that, as in CSLS (Conneau et al. 2018, "Word Translation Without Parallel Data").
// The questions are the same for every store, so that the evidence stays absolute.

// The questions, one a line, English and Chinese, and their vectors by model, which
//
//	go test ./internal/search -run TestTypicalQuestions -update
//
// makes. They are part of the program because a ranking must not depend on what was embedded since the start.
//
//go:embed typical_questions.txt typical_questions.*.vectors
var typicalQuestions embed.FS

const (
	nearestQuestions   = 10  // typical questions that familiarity compares
	typicalFamiliarity = 0.2 // of the mean memory, by either model and in either language
)

// questionVectors are the vectors of the typical questions, by model and language; empty for a model that has none.
type questionVectors [maxModels]struct{ english, chinese vector.Rows }

// typicalQuestionLines lists the typical questions.
func typicalQuestionLines() (lines []string) {
	data, err := typicalQuestions.ReadFile("typical_questions.txt")
	if err != nil {
		return nil // it is part of the program
	}
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// typicalQuestionFile is the name of the file with the vectors by a model.
func typicalQuestionFile(model string) string { return "typical_questions." + model + ".vectors" }

// loadQuestions returns the vectors of the typical questions. Those of another version of a model are not used.
func loadQuestions(models []embedding.Model) *questionVectors {
	var all questionVectors
	for i, m := range models {
		data, err := typicalQuestions.ReadFile(typicalQuestionFile(m.Name()))
		if err != nil {
			continue // a model of a server
		}
		file, err := vector.Decode(data, m.Identity())
		if err != nil {
			continue
		}
		for _, line := range typicalQuestionLines() {
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
		if v, ok := c.index.vectors[i].rows.At(int(doc)); ok {
			sum += nearestMean(questions, v) - typicalFamiliarity
		}
	}
	return sum
}

// nearestMean is the mean cosine of a vector with the nearestQuestions rows that are nearest to it.
func nearestMean(rows *vector.Rows, v vector.Quantized) (mean float64) {
	nearest := make([]float64, 0, nearestQuestions+1) // ascending
	rows.Cosines(v, func(_ int, cosine float64) {
		if len(nearest) == nearestQuestions && cosine <= nearest[0] {
			return
		}
		at, _ := slices.BinarySearch(nearest, cosine)
		nearest = slices.Insert(nearest, at, cosine)
		if len(nearest) > nearestQuestions {
			nearest = slices.Delete(nearest, 0, 1)
		}
	})
	for _, cosine := range nearest {
		mean += cosine / float64(len(nearest))
	}
	return mean
}
