package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// judged is one hit of an explicit search.
type judged struct {
	probability float64 // of being relevant, as the daemon says
	strength    memsidecarv1.HitStrength
	relevant    bool
}

// reliability compares the probabilities of hits with how many of them are relevant.
type reliability struct {
	sets     []string
	own      map[string][]judged // by set: hits for its own questions
	strange  []judged            // the best hit for each question of another family, which has no answer in the set
	silent   int                 // such questions that found nothing
	emptied  map[string]float64  // by set: share of the answerable questions that found nothing
	ungraded int                 // hits without a strength: words alone decided
}

// mostStrange bounds the questions of a set that are asked of another one.
const mostStrange = 60

// measureReliability loads the sets and prints how reliable the strengths of their hits are.
func measureReliability(ctx context.Context, c *client, sets []*set, o options, stdout, log io.Writer) error {
	if err := c.loadAll(ctx, sets, log); err != nil {
		return err
	}
	if err := c.waitForVectors(ctx, log); err != nil {
		return err
	}
	r, err := c.judgeHits(ctx, sets, o.half)
	if err != nil {
		return err
	}
	return r.writeTable(stdout)
}

// judgeHits asks all sets their own questions and some of the others', and judges each hit.
func (c *client) judgeHits(ctx context.Context, sets []*set, half string) (*reliability, error) {
	c.explain = true
	r := &reliability{own: map[string][]judged{}, emptied: map[string]float64{}}
	for _, s := range sets {
		r.sets = append(r.sets, s.name)
		if err := r.askOwn(ctx, c, s, half); err != nil {
			return nil, err
		}
		for _, o := range sets {
			if o.family() == s.family() {
				continue
			}
			if err := r.askStrange(ctx, c, s, o); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

// askOwn asks a set its own questions.
func (r *reliability) askOwn(ctx context.Context, c *client, s *set, half string) error {
	answerable, empty := 0, 0
	for _, q := range s.chosen(half) {
		hits, err := c.ask(ctx, s, slices.Index(s.convs, q.Conv), q)
		if err != nil {
			return err
		}
		relevant := c.ids(s, q.Relevant)
		if len(relevant) > 0 {
			answerable++
			if len(hits) == 0 {
				empty++
			}
		}
		r.own[s.name] = append(r.own[s.name], r.judge(hits, relevant)...)
	}
	r.emptied[s.name] = float64(empty) / float64(max(1, answerable))
	return nil
}

// askStrange asks a set questions of another one, evenly spread over it.
func (r *reliability) askStrange(ctx context.Context, c *client, s, other *set) error {
	step := max(1, (len(other.queries)+mostStrange-1)/mostStrange)
	for i := 0; i < len(other.queries); i += step {
		q := other.queries[i]
		q.Scope, q.Time = nil, ""
		hits, err := c.ask(ctx, s, i%len(s.convs), q)
		if err != nil {
			return err
		}
		if len(hits) == 0 {
			r.silent++
			continue
		}
		r.strange = append(r.strange, r.judge(hits[:1], nil)...)
	}
	return nil
}

// judge compares hits with the ids of what is relevant.
func (r *reliability) judge(hits []*memsidecarv1.SearchHit, relevant []string) (out []judged) {
	for _, h := range hits {
		j := judged{strength: h.GetStrength(), relevant: slices.Contains(relevant, h.GetMemory().GetId())}
		for _, p := range h.GetComponents() {
			if p.GetName() == "probability" {
				j.probability = p.GetValue()
			}
		}
		if j.strength == memsidecarv1.HitStrength_HIT_STRENGTH_UNSPECIFIED {
			r.ungraded++
			continue
		}
		out = append(out, j)
	}
	return out
}

// bin is a range of probabilities.
type bin struct{ hits, predicted, relevant float64 }

// binsOf sorts hits into bins of equal width. Each set counts the same, whatever its size.
func binsOf(n int, sets ...[]judged) []bin {
	bins := make([]bin, n)
	for _, hits := range sets {
		for _, j := range hits {
			b, weight := &bins[min(n-1, int(j.probability*float64(n)))], 1/float64(len(hits))
			b.hits += weight
			b.predicted += weight * j.probability
			if j.relevant {
				b.relevant += weight
			}
		}
	}
	return bins
}

// calibrationError is the expected calibration error with ten bins (Naeini and others 2015): the mean distance between
// the probability said and the share of relevant hits.
func calibrationError(sets ...[]judged) (e float64) {
	for _, b := range binsOf(10, sets...) {
		e += math.Abs(b.predicted-b.relevant) / float64(max(1, len(sets)))
	}
	return e
}

// correction fits the logistic regression of relevance on the logit of the probability by Newton's method, each set
// weighed the same: bias 0 and slope 1 say that nothing is to be corrected.
func correction(sets ...[]judged) (bias, slope float64) {
	slope = 1
	for range 30 {
		var g0, g1, h00, h01, h11 float64
		for _, hits := range sets {
			weight := 1 / float64(max(1, len(hits)))
			for _, j := range hits {
				p := min(max(j.probability, 1e-9), 1-1e-9)
				x, y := math.Log(p/(1-p)), 0.0
				if j.relevant {
					y = 1
				}
				q := 1 / (1 + math.Exp(-bias-slope*x))
				d, v := weight*(y-q), weight*q*(1-q)
				g0, g1 = g0+d, g1+d*x
				h00, h01, h11 = h00+v, h01+v*x, h11+v*x*x
			}
		}
		det := h00*h11 - h01*h01
		if det == 0 {
			return 0, 1 // no hits, or all alike
		}
		bias, slope = bias+(g0*h11-g1*h01)/det, slope+(g1*h00-g0*h01)/det
	}
	return bias, slope
}

// strengthNames are the strengths, weakest first.
var strengthNames = []struct {
	strength memsidecarv1.HitStrength
	name     string
}{
	{memsidecarv1.HitStrength_HIT_STRENGTH_WEAK, "weak"},
	{memsidecarv1.HitStrength_HIT_STRENGTH_FAIR, "fair"},
	{memsidecarv1.HitStrength_HIT_STRENGTH_STRONG, "strong"},
}

func (r *reliability) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	all := make([][]judged, len(r.sets))
	fmt.Fprintf(t, "set\thits\trelevant\tcalibration error\tanswerable, empty\n")
	for i, name := range r.sets {
		all[i] = r.own[name]
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%.3f\n", name, len(all[i]), shareRelevant(all[i]), calibrationError(all[i]),
			r.emptied[name])
	}
	pooled := slices.Concat(all...)
	fmt.Fprintf(t, "all hits\t%d\t%.3f\t%.3f\nall sets, each the same\t\t\t%.3f\n", len(pooled), shareRelevant(pooled),
		calibrationError(pooled), calibrationError(all...))
	fmt.Fprintf(t, "\npredicted\thits\tmean\trelevant\n")
	for i, b := range binsOf(10, pooled) {
		if b.hits > 0 {
			fmt.Fprintf(t, "%.1f to %.1f\t%.0f\t%.3f\t%.3f\n", float64(i)/10, float64(i+1)/10,
				b.hits*float64(len(pooled)), b.predicted/b.hits, b.relevant/b.hits)
		}
	}
	asked := len(r.strange) + r.silent
	fmt.Fprintf(t, "\nstrength\thits\trelevant\tbest hit of %d questions of other sets (%.2f silent)\n", asked,
		float64(r.silent)/float64(max(1, asked)))
	for _, s := range strengthNames {
		other := func(j judged) bool { return j.strength != s.strength }
		of := slices.DeleteFunc(slices.Clone(pooled), other)
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.2f\n", s.name, len(of), shareRelevant(of),
			float64(len(slices.DeleteFunc(slices.Clone(r.strange), other)))/float64(max(1, asked)))
	}
	bias, slope := correction(all...)
	fmt.Fprintf(t, "\nlogit of relevance, fitted: %.2f + %.2f · logit of the probability; %d hits without a strength\n",
		bias, slope, r.ungraded)
	return t.Flush()
}

func shareRelevant(hits []judged) float64 {
	n := 0
	for _, j := range hits {
		if j.relevant {
			n++
		}
	}
	return float64(n) / float64(max(1, len(hits)))
}
