package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// grade is how well one question was answered, each part from 0 to 1.
type grade struct {
	NDCG  float64 `json:"ndcg10"`
	At5   float64 `json:"recall5"`
	At10  float64 `json:"recall10"`
	Right float64 `json:"precision10"` // share of relevant ones among the first ten, or among all where there are fewer
	MRR   float64 `json:"mrr"`
	Empty float64 `json:"empty"` // 1 when nothing was found
	First float64 `json:"first"` // 1 when a relevant one is first
	Three float64 `json:"three"` // 1 when a relevant one is among the first three
}

// gradeOf judges the ids found, best first, against the relevant ones.
func gradeOf(found, relevant []string) (g grade) {
	if len(found) == 0 {
		g.Empty = 1
	}
	if len(relevant) == 0 {
		return g
	}
	var gain, ideal float64
	for i := range min(depth, len(relevant)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	for i, id := range found[:min(depth, len(found))] {
		if !slices.Contains(relevant, id) {
			continue
		}
		gain += 1 / math.Log2(float64(i+2))
		g.At10 += 1 / float64(len(relevant))
		if i < 5 {
			g.At5 += 1 / float64(len(relevant))
		}
		if g.MRR == 0 {
			g.MRR = 1 / float64(i+1)
		}
		if i == 0 {
			g.First = 1
		}
		if i < 3 {
			g.Three = 1
		}
	}
	g.NDCG = gain / ideal
	g.Right = g.At10 * float64(len(relevant)) / float64(max(1, min(depth, len(found))))
	return g
}

func (g *grade) add(o grade, share float64) {
	g.NDCG += o.NDCG * share
	g.At5 += o.At5 * share
	g.At10 += o.At10 * share
	g.Right += o.Right * share
	g.MRR += o.MRR * share
	g.Empty += o.Empty * share
	g.First += o.First * share
	g.Three += o.Three * share
}

func mean(all []grade) (m grade) {
	for _, g := range all {
		m.add(g, 1/float64(len(all)))
	}
	return m
}

// samples are how often the queries are drawn anew for an interval.
const samples = 1000

// interval returns the 2.5th and 97.5th percentile of nDCG@10 of the mean over the groups' means, the queries of each
// drawn anew.
func interval(groups ...[]grade) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	drawn := make([]float64, samples)
	for i := range drawn {
		for _, g := range groups {
			sum := 0.0
			for range g {
				sum += g[r.IntN(len(g))].NDCG
			}
			drawn[i] += sum / float64(max(1, len(g))) / float64(len(groups))
		}
	}
	slices.Sort(drawn)
	return drawn[samples*25/1000], drawn[samples*975/1000]
}

// outcome of one question.
type outcome struct {
	query query
	grade grade
	top   float64 // score of the best; 0 when nothing was found
}

// silence counts how often questions without an answer in the store got none.
type silence struct {
	Asked  int       `json:"asked"`
	Silent int       `json:"silent"`
	tops   []float64 // the best score of each, 0 for silence
}

// take counts one question that the store cannot answer, and keeps the score of the best wrong answer for the
// curve of minimum scores.
func (s *silence) take(hits []*memsidecarv1.SearchHit) {
	s.Asked++
	if len(hits) == 0 {
		s.Silent++
	}
	s.tops = append(s.tops, top(hits))
}

func (s *silence) join(o silence) {
	s.Asked, s.Silent, s.tops = s.Asked+o.Asked, s.Silent+o.Silent, append(s.tops, o.tops...)
}

func (s silence) share() float64 { return float64(s.Silent) / float64(max(1, s.Asked)) }

// top is the score of the best hit, 0 without one.
func top(hits []*memsidecarv1.SearchHit) float64 {
	if len(hits) == 0 {
		return 0
	}
	return hits[0].GetScore()
}

// loadAll stores all sets.
func (c *client) loadAll(ctx context.Context, sets []*set, log io.Writer) error {
	for _, s := range sets {
		fmt.Fprintf(log, "%s: loading %d memories\n", s.name, len(s.docs))
		if err := c.load(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// measure loads the sets and asks everything.
func measure(ctx context.Context, c *client, sets []*set, o options, log io.Writer) (*report, error) {
	if err := c.loadAll(ctx, sets, log); err != nil {
		return nil, err
	}
	if o.meant() {
		if err := c.waitForVectors(ctx, log); err != nil {
			return nil, err
		}
	}
	r := &report{Profile: o.name, Half: o.half}
	for _, s := range sets {
		fmt.Fprintf(log, "%s: asking\n", s.name)
		f := figures{Name: s.name}
		var err error
		if f.outcomes, err = c.own(ctx, s, o.half); err != nil {
			return nil, err
		}
		if s.implicit() {
			if f.implicit, err = c.prompts(ctx, s, o.half); err != nil {
				return nil, err
			}
			strange, err := c.strangePrompts(ctx, s, o.half)
			if err != nil {
				return nil, err
			}
			f.implicit = append(f.implicit, strange...)
		}
		if f.strange, f.foreign, err = c.strangers(ctx, s, sets); err != nil {
			return nil, err
		}
		if !o.quick {
			if f.removed, err = c.removed(ctx, s, o.half); err != nil {
				return nil, err
			}
		}
		r.sets = append(r.sets, &f)
	}
	if o.meant() && c.byWords > 0 {
		fmt.Fprintf(log, "%d of %d searches went by words alone: they were in another language than the model's, or "+
			"it was too slow or failed\n", c.byWords, len(c.took))
	}
	r.finish(c.took)
	return r, nil
}

// own asks a set its own questions.
func (c *client) own(ctx context.Context, s *set, half string) ([]outcome, error) {
	var all []outcome
	for _, q := range s.chosen(half) {
		hits, err := c.ask(ctx, s, slices.Index(s.convs, q.Conv), q)
		if err != nil {
			return nil, err
		}
		found := make([]string, len(hits))
		for i, h := range hits {
			found[i] = h.GetMemory().GetId()
		}
		all = append(all, outcome{q, gradeOf(found, c.ids(s, q.Relevant)), top(hits)})
	}
	return all, nil
}

// prompts recalls for the questions of a set as for prompts of an agent.
func (c *client) prompts(ctx context.Context, s *set, half string) ([]outcome, error) {
	var all []outcome
	for _, q := range s.chosen(half) {
		found, err := c.recall(ctx, s, slices.Index(s.convs, q.Conv), q)
		if err != nil {
			return nil, err
		}
		all = append(all, outcome{query: q, grade: gradeOf(found, c.ids(s, q.Relevant))})
	}
	return all, nil
}

// strangePrompts recalls in every other store of the same language for the questions of paraphrases: they are about
// somebody's memories, but not these. Unrelated prompts that share a word with a memory are asked again, as traps.
func (c *client) strangePrompts(ctx context.Context, s *set, half string) ([]outcome, error) {
	var all []outcome
	for _, q := range s.chosen(half) {
		if q.Category == "unrelated" && q.Trap {
			q.Category = "trap"
			found, err := c.recall(ctx, s, slices.Index(s.convs, q.Conv), q)
			if err != nil {
				return nil, err
			}
			all = append(all, outcome{query: q, grade: gradeOf(found, nil)})
		}
		if q.Category != "paraphrase" {
			continue
		}
		own := s.speaksChinese(q.Conv)
		for n, conv := range s.convs {
			if conv == q.Conv || s.speaksChinese(conv) != own {
				continue
			}
			found, err := c.recall(ctx, s, n, q)
			if err != nil {
				return nil, err
			}
			stranger := q
			stranger.Category = "stranger"
			all = append(all, outcome{query: stranger, grade: gradeOf(found, nil)})
		}
	}
	return all, nil
}

// ids of the memories that the documents became. Two equal documents are one memory.
func (c *client) ids(s *set, documents []string) []string {
	var out []string
	for _, d := range documents {
		if id := c.stored[s][d]; id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// strangers asks a set the questions of the other families: those in its own language, and those in the other.
func (c *client) strangers(ctx context.Context, s *set, sets []*set) (same, other silence, err error) {
	for _, o := range sets {
		if o.family() == s.family() {
			continue
		}
		for i, q := range o.queries {
			q.Scope, q.Time = nil, ""
			hits, err := c.ask(ctx, s, i%len(s.convs), q)
			if err != nil {
				return same, other, err
			}
			if o.chinese() == s.chinese() {
				same.take(hits)
			} else {
				other.take(hits)
			}
		}
	}
	return same, other, nil
}

// mostRemoved bounds the questions of a set that are asked without their answer.
const mostRemoved = 150

// removed asks questions while what answers them is deleted.
func (c *client) removed(ctx context.Context, s *set, half string) (out silence, err error) {
	all := s.chosen(half)
	step := max(1, (len(all)+mostRemoved-1)/mostRemoved)
	for i := 0; i < len(all); i += step {
		q := all[i]
		n := slices.Index(s.convs, q.Conv)
		ids := c.ids(s, q.Relevant)
		if len(ids) == 0 {
			continue
		}
		if err := c.remove(ctx, c.spaces[s][n], ids); err != nil {
			return out, err
		}
		hits, err := c.ask(ctx, s, n, q)
		if err != nil {
			return out, err
		}
		out.take(hits)
		if err := c.restore(ctx, c.spaces[s][n], ids); err != nil {
			return out, err
		}
	}
	return out, nil
}
