package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestGradeOf(t *testing.T) {
	for _, tt := range []struct {
		name            string
		found, relevant string
		want            grade
	}{
		{"nothing found", "", "a", grade{Empty: 1}},
		{"first", "a b", "a", grade{NDCG: 1, At5: 1, At10: 1, Right: 0.5, MRR: 1, First: 1, Three: 1}},
		{"third of two", "x y a", "a b", grade{NDCG: 0.5 / (1 + 1/math.Log2(3)), At5: 0.5, At10: 0.5, MRR: 1.0 / 3,
			Right: 1.0 / 3, Three: 1}},
		{"sixth", "1 2 3 4 5 a", "a", grade{NDCG: 1 / math.Log2(7), At10: 1, Right: 1.0 / 6, MRR: 1.0 / 6}},
		{"beyond ten", "1 2 3 4 5 6 7 8 9 0 a", "a", grade{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := gradeOf(strings.Fields(tt.found), strings.Fields(tt.relevant))
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("grade (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIntervalHoldsTheMean(t *testing.T) {
	group := []grade{{NDCG: 0}, {NDCG: 1}, {NDCG: 1}, {NDCG: 0}, {NDCG: 1}, {NDCG: 0}, {NDCG: 1}, {NDCG: 0}}
	low, high := interval(group, group)
	if low >= 0.5 || high <= 0.5 || low < 0.1 || high > 0.9 {
		t.Errorf("interval %v to %v is not around 0.5", low, high)
	}
	if again, _ := interval(group, group); again != low {
		t.Errorf("another interval for the same questions: %v, %v", low, again)
	}
}

func TestHalvesPartTheQueries(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"corpus.jsonl": `{"id":"1","conv":"x","text":"one"}` + "\n" +
			`{"id":"2","conv":"y","text":"two","time":"2026-01-02T00:00:00Z","session":3}`,
		"queries.jsonl": `{"id":"p","conv":"x","text":"?"}` + "\n" + `{"id":"q","conv":"y","text":"?"}` + "\n" +
			`{"id":"r","conv":"x","text":"?"}`,
	} {
		if err := os.MkdirAll(filepath.Join(dir, "set"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "set", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sets, err := readSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, half := range []string{"", "a", "b"} {
		for _, q := range sets[0].chosen(half) {
			got[half] += q.ID
		}
	}
	if diff := cmp.Diff(map[string]string{"": "pqr", "a": "pr", "b": "q"}, got); diff != "" {
		t.Errorf("halves (-want +got):\n%s", diff)
	}
	if got := sets[0].newest.Format("2006-01-02"); got != "2026-01-02" {
		t.Errorf("newest %s", got)
	}
}
