package search_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// TestLevels: the bits of a block tell what looking at each level would.
func TestLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := [64]uint8(rapid.SliceOfN(rapid.Uint8(), 64, 64).Draw(t, "levels"))
		atLeast := search.Levels(all)
		for _, level := range []uint8{0, 1, 127, 128, 254, 255, rapid.Uint8().Draw(t, "level"), all[rapid.IntRange(0, 63).Draw(t, "one of")]} {
			want := uint64(0)
			for doc, l := range all {
				if l >= level {
					want |= 1 << doc
				}
			}
			if got := atLeast(level); got != want {
				t.Fatalf("at least %d: %064b, want %064b", level, got, want)
			}
		}
	})
}

// TestOutdone: what is better in anything gets a score.
func TestOutdone(t *testing.T) {
	worst := func() *memory.Memory {
		m := mem("worst", "apricot")
		m.Salience, m.AccessCount, m.CreatedAt, m.LastAccessed = 0.5, 3, epoch.Add(-48*time.Hour), epoch.Add(-24*time.Hour)
		return m
	}
	for _, tt := range []struct {
		name      string
		relevance float64
		change    func(*memory.Memory)
		want      bool
	}{
		{"alike and older", 0.5, func(*memory.Memory) {}, true},
		{"less in all", 0.4, func(m *memory.Memory) { m.Salience, m.AccessCount, m.LastAccessed = 0.1, 0, time.Time{} }, true},
		{"as old", 0.5, func(m *memory.Memory) { m.CreatedAt = m.CreatedAt.Add(time.Hour) }, false},
		{"newer", 0.5, func(m *memory.Memory) { m.CreatedAt = epoch }, false},
		{"more relevant", 0.51, func(*memory.Memory) {}, false},
		{"more salient", 0.5, func(m *memory.Memory) { m.Salience = 0.6 }, false},
		{"used more", 0.5, func(m *memory.Memory) { m.AccessCount = 4 }, false},
		{"used later", 0.5, func(m *memory.Memory) { m.LastAccessed = m.LastAccessed.Add(time.Minute) }, false},
		{"used in the same minute", 0.5, func(m *memory.Memory) { m.LastAccessed = m.LastAccessed.Add(-time.Nanosecond).Add(-time.Second) }, true},
		{"pinned", 0.5, func(m *memory.Memory) { m.Pinned = true }, false},
	} {
		m := worst()
		m.CreatedAt = m.CreatedAt.Add(-time.Hour)
		tt.change(m)
		if got := search.Outdone(worst(), 0.5, m, tt.relevance, epoch); got != tt.want {
			t.Errorf("%s: outdone %v, want %v", tt.name, got, tt.want)
		}
	}
}
