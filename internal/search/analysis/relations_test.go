package analysis_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

func TestRelations(t *testing.T) {
	for _, c := range []struct {
		query, memory string
		holds         bool
		name          string
	}{
		{"What does my wife eat for breakfast?", "The user's wife Anna is a midwife.", true, "Anna"},
		{"What does my wife eat for breakfast?", "Anna, the user's wife, is a midwife.", true, "Anna"},
		{"What does my wife eat for breakfast?", "Wife is called Anna.", true, "Anna"},
		{"What does my wife eat for breakfast?", "The user's partner works nights.", true, ""},
		{"What does my wife eat for breakfast?", "Priya's wife Tara paints.", false, "Tara"},
		{"What does my wife eat for breakfast?", "The midwife comes on Monday.", false, ""},
		{"a gift for my elder sister", "The user's sister is called Ines and rows.", true, "Ines"},
		{"我妹妹做什么工作", "用户的妹妹叫林小雨。", true, "林小雨"},
		{"我妹妹做什么工作", "林小雨是用户的妹妹。", true, "林小雨"},
		{"我妹妹做什么工作", "用户的姐姐叫林小雪。", false, "林小雪"},
		{"我妹妹做什么工作", "The user's sister is a nurse.", true, ""},
		{"我大儿子几点放学", "大儿子读初二，住校。", true, ""},
		{"where did my dog sleep", "The user's dog, Rex, sleeps in the hall.", true, "Rex"},
		{"What does Anna eat?", "The user's wife Anna is a midwife.", false, "Anna"},
	} {
		if got := analysis.HoldsRelation(c.memory, analysis.OwnRelations(c.query)); got != c.holds {
			t.Errorf("%q holds the relation of %q: %v", c.memory, c.query, got)
		}
		if got := analysis.NameOfRelation(c.memory); got != c.name {
			t.Errorf("%q names %q, want %q", c.memory, got, c.name)
		}
	}
}
