package search_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var evalDir = flag.String("eval", "", "directory of evaluation sets, each a folder with corpus.jsonl and queries.jsonl")

type evalDoc struct {
	ID, Conv, Time, Text, Status string
	Session                      json.Number
	Tags, Scope                  []string
	Pinned                       bool
	Salience                     *float64
}

type evalQuery struct {
	ID, Conv, Text, Category, Time string
	UserText                       string `json:"text_user"`
	Relevant, Scope                []string
	Trap                           bool
}

type evalSet struct {
	name    string
	engine  *search.Engine
	queries []evalQuery
	asOf    time.Time
	spaces  []string
}

// TestEval measures ranking on sets of one folder each: corpus.jsonl has id, conv, time, text and optionally session,
// tags, scope, status, pinned, salience; queries.jsonl has id, conv, text, relevant and optionally time, scope,
// category. A conv is a space. The last column asks each set the questions of all others of its script: the share
// that is rightly left unanswered.
func TestEval(t *testing.T) {
	if *evalDir == "" {
		t.Skip("no -eval DIR given")
	}
	dirs, err := filepath.Glob(filepath.Join(*evalDir, "*", "corpus.jsonl"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no evaluation sets in %s (%v)", *evalDir, err)
	}
	var sets []*evalSet
	for _, d := range dirs {
		sets = append(sets, loadEval(t, filepath.Dir(d)))
	}
	var macro [3]float64 // of all queries, of those of the odd conversations, of the even ones
	var unanswered, all, silent, asked int
	t.Logf("%-14s %5s %6s %8s %7s %7s %9s %8s %8s", "set", "n", "MRR", "nDCG@10", "half a", "half b", "recall@10",
		"empty", "strangers silent")
	for _, s := range sets {
		q, empty := s.measure(t, s.queries)
		a, _ := s.measure(t, s.half(0))
		b, _ := s.measure(t, s.half(1))
		for i, v := range []float64{q.ndcg, a.ndcg, b.ndcg} {
			macro[i] += v / float64(len(sets))
		}
		quiet, n := s.strangers(t, sets)
		unanswered, all, silent, asked = unanswered+empty, all+len(s.queries), silent+quiet, asked+n
		t.Logf("%-14s %5d %6.3f %8.3f %7.3f %7.3f %9.3f %8.3f %8.3f", s.name, len(s.queries), q.mrr, q.ndcg, a.ndcg,
			b.ndcg, q.recall,
			share(empty, len(s.queries)), share(quiet, n))
		if os.Getenv("EVAL_CATEGORIES") != "" {
			s.byCategory(t)
		}
	}
	t.Logf("%-14s %5d %6s %8.3f %7.3f %7.3f %9s %8.3f %8.3f", "macro", all, "", macro[0], macro[1], macro[2], "",
		share(unanswered, all), share(silent, asked))
}

// parted reports whether the queries are of several conversations.
func (s *evalSet) parted() bool {
	return slices.ContainsFunc(s.queries, func(q evalQuery) bool { return q.Conv != s.queries[0].Conv })
}

func share(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

// half are the queries of every other conversation, or every other query when there is one conversation: ranking is
// tuned on the first half and believed when the second agrees.
func (s *evalSet) half(rest int) (out []evalQuery) {
	for i, q := range s.queries {
		if s.parted() {
			i = slices.Index(s.spaces, q.Conv)
		}
		if i%2 == rest {
			out = append(out, q)
		}
	}
	return out
}

func evalTime(s string) time.Time {
	at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(s, "Z"))
	if err != nil {
		return time.Time{}
	}
	return at
}

func loadEval(t *testing.T, dir string) *evalSet {
	t.Helper()
	s := &evalSet{name: filepath.Base(dir), engine: search.New(search.Config{Logger: slog.New(slog.DiscardHandler)})}
	for i, d := range search.ReadLines[evalDoc](t, filepath.Join(dir, "corpus.jsonl")) {
		m := evalMemory(d, i)
		if m.CreatedAt.After(s.asOf) {
			s.asOf = m.CreatedAt
		}
		if !slices.Contains(s.spaces, d.Conv) {
			s.spaces = append(s.spaces, d.Conv)
		}
		s.engine.Apply(record(int64(i+1), d.Conv, journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
	}
	s.asOf = s.asOf.Add(time.Hour)
	s.queries = search.ReadLines[evalQuery](t, filepath.Join(dir, "queries.jsonl"))
	return s
}

// evalMemory is the memory of the nth document.
func evalMemory(d evalDoc, n int) *memory.Memory {
	m := &memory.Memory{
		ID: d.ID, Content: d.Text, Tags: d.Tags, Salience: 0.5, Pinned: d.Pinned, Source: memory.SourceUser, Confidence: 1,
		CreatedAt: evalTime(d.Time).Add(time.Duration(n) * time.Microsecond), Status: memory.Active,
		Category: slug(strings.Join(d.Scope, ",")),
	}
	if d.Salience != nil {
		m.Salience = *d.Salience
	}
	if d.Session != "" {
		m.SetContext(&memory.Context{LearnedFrom: "session_" + d.Session.String()})
	}
	if d.Status == string(memory.Superseded) {
		m.Status = memory.Superseded
	}
	return m
}

// slug makes a category of a scope such as "user:universal".
func slug(s string) string { return strings.ReplaceAll(s, ":", "-") }

func (s *evalSet) ask(t *testing.T, space string, q evalQuery) []search.Hit {
	t.Helper()
	req := search.Request{Spaces: []string{space}, Query: q.Text, K: 10, AsOf: s.asOf}
	if at := evalTime(q.Time); !at.IsZero() {
		req.AsOf = at.Add(24 * time.Hour)
	}
	if len(q.Scope) > 0 {
		req.Filter.Categories = []string{"user-universal"}
		for _, c := range q.Scope {
			req.Filter.Categories = append(req.Filter.Categories, slug(c))
		}
	}
	resp, err := s.engine.Search(t.Context(), req)
	if err != nil {
		t.Fatalf("%s: %v", q.ID, err)
	}
	return resp.Hits
}

func (s *evalSet) measure(t *testing.T, queries []evalQuery) (sum quality, silent int) {
	for _, q := range queries {
		hits := s.ask(t, q.Conv, q)
		ids := make([]string, len(hits))
		for i, h := range hits {
			ids[i] = h.Memory.ID
		}
		if len(hits) == 0 {
			silent++
		}
		sum.add(rate(ids, q.Relevant))
	}
	return sum.over(len(queries)), silent
}

func (s *evalSet) byCategory(t *testing.T) {
	groups := map[string][]evalQuery{}
	for _, q := range s.queries {
		groups[q.Category] = append(groups[q.Category], q)
	}
	for name, g := range groups {
		q, silent := s.measure(t, g)
		t.Logf("    %-32s %4d %6.3f %6.3f %6.3f silent %.3f", name, len(g), q.mrr, q.ndcg, q.recall,
			share(silent, len(g)))
	}
}

// strangers asks the questions of the sets of other origin and counts those that found nothing.
func (s *evalSet) strangers(t *testing.T, sets []*evalSet) (silent, asked int) {
	for _, o := range sets {
		if o.origin() == s.origin() || isHan(o) != isHan(s) {
			continue
		}
		for i, q := range o.queries {
			q.Scope, q.Time = nil, ""
			asked++
			if len(s.ask(t, s.spaces[i%len(s.spaces)], q)) == 0 {
				silent++
			}
		}
	}
	return silent, asked
}

// origin is the name up to the first dash: sets made of the same conversations share it.
func (s *evalSet) origin() string {
	name, _, _ := strings.Cut(s.name, "-")
	return name
}

func isHan(s *evalSet) bool {
	return strings.ContainsFunc(s.queries[0].Text, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
}

type quality struct{ mrr, ndcg, recall5, recall float64 }

func (q *quality) add(o quality) {
	q.mrr, q.ndcg, q.recall5, q.recall = q.mrr+o.mrr, q.ndcg+o.ndcg, q.recall5+o.recall5, q.recall+o.recall
}

func (q quality) over(n int) quality {
	d := float64(max(n, 1))
	return quality{q.mrr / d, q.ndcg / d, q.recall5 / d, q.recall / d}
}

func (q quality) String() string {
	return fmt.Sprintf("MRR %.3f  nDCG@10 %.3f  R@5 %.3f  R@10 %.3f", q.mrr, q.ndcg, q.recall5, q.recall)
}

// rate judges one result list.
func rate(ids, relevant []string) (q quality) {
	var dcg, ideal float64
	for i, id := range ids[:min(10, len(ids))] {
		if !slices.Contains(relevant, id) {
			continue
		}
		if q.mrr == 0 {
			q.mrr = 1 / float64(i+1)
		}
		dcg += 1 / math.Log2(float64(i+2))
		if q.recall++; i < 5 {
			q.recall5++
		}
	}
	for i := range min(10, len(relevant)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	if len(relevant) > 0 {
		q.ndcg = dcg / ideal
		q.recall5 /= float64(len(relevant))
		q.recall /= float64(len(relevant))
	}
	return q
}

func record(lsn int64, space string, changes ...journal.Change) *journal.Record {
	for _, c := range changes {
		if c.Memory != nil && c.Memory.After != nil && c.Memory.After.Revision == 0 {
			c.Memory.After.Revision = lsn
		}
	}
	return &journal.Record{LSN: lsn, Op: lsn, Group: lsn, Space: space, Changes: changes}
}
