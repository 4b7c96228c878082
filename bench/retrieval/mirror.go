package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	memsidecarv1alpha1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// compared is how one set was answered by the daemon's own search and by that of the mirror.
type compared struct {
	name         string
	rows         int64 // of the mirror
	own, mirror  grade
	queries      int
	same         int     // queries with the same first ten in the same order
	shared       float64 // mean share of the first ten that both have
	here, remote []time.Duration
}

// compareMirror loads the sets, shares every space through an empty database with pgvector, and asks each question of
// the daemon's spaces and of the mirror.
func compareMirror(ctx context.Context, c *client, sets []*set, o options, stdout, log io.Writer) error {
	if err := c.loadAll(ctx, sets, log); err != nil {
		return err
	}
	if err := c.waitForVectors(ctx, log); err != nil {
		return err
	}
	rows, err := c.mirrorAll(ctx, sets, o.mirror, log)
	if err != nil {
		return err
	}
	var all []*compared
	for _, s := range sets {
		fmt.Fprintf(log, "%s: asking twice\n", s.name)
		one := &compared{name: s.name, rows: rows}
		if err := one.ask(ctx, c, s, o.half); err != nil {
			return err
		}
		all = append(all, one)
	}
	return writeCompared(stdout, all)
}

// mirrorAll shares the spaces of all sets and waits until the mirror has them with their vectors. It returns how many
// rows the mirror has.
func (c *client) mirrorAll(ctx context.Context, sets []*set, address string, log io.Writer) (rows int64, err error) {
	for _, s := range sets {
		fmt.Fprintf(log, "%s: sharing %d spaces\n", s.name, len(c.spaces[s]))
		for _, space := range c.spaces[s] {
			req := &memsidecarv1alpha1.ShareServiceStartRequest{Space: space, Url: address, Vectors: true}
			if _, err := c.share.Start(ctx, req); err != nil {
				return 0, fmt.Errorf("share %s: %w", space, err)
			}
		}
		rows += int64(len(s.docs))
	}
	for {
		res, err := c.share.Status(ctx, &memsidecarv1alpha1.ShareServiceStatusRequest{})
		if err != nil {
			return 0, err
		}
		waits := func(s *memsidecarv1alpha1.SharedSpace) bool {
			return s.GetWaiting() > 0 || s.GetMirror().GetPosition() < s.GetPosition() || s.GetMirror().GetPending() > 0
		}
		i := slices.IndexFunc(res.GetSpaces(), waits)
		if i < 0 {
			return rows, nil
		}
		if e := res.GetSpaces()[i].GetMirror().GetError(); e != "" {
			return 0, fmt.Errorf("the mirror of %s: %s", res.GetSpaces()[i].GetSpace(), e)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// ask asks a set its own questions, of both.
func (r *compared) ask(ctx context.Context, c *client, s *set, half string) error {
	questions := s.chosen(half)
	for _, q := range questions {
		var found [2][]string
		for i := range found {
			c.mirror = i == 1
			began := time.Now()
			hits, err := c.ask(ctx, s, slices.Index(s.convs, q.Conv), q)
			took := time.Since(began)
			if c.mirror = false; err != nil {
				return err
			}
			for _, h := range hits {
				found[i] = append(found[i], h.GetMemory().GetId())
			}
			if i == 0 {
				r.here = append(r.here, took)
			} else {
				r.remote = append(r.remote, took)
			}
		}
		relevant := c.ids(s, q.Relevant)
		r.own.add(gradeOf(found[0], relevant), 1/float64(len(questions)))
		r.mirror.add(gradeOf(found[1], relevant), 1/float64(len(questions)))
		if slices.Equal(found[0], found[1]) {
			r.same++
		}
		r.shared += overlap(found[0], found[1]) / float64(len(questions))
		r.queries++
	}
	return nil
}

// overlap is the share of what either list has that both have; 1 for two empty ones.
func overlap(a, b []string) float64 {
	both := 0
	for _, id := range a {
		if slices.Contains(b, id) {
			both++
		}
	}
	if all := len(a) + len(b) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 1
}

// writeCompared prints one line for each set.
func writeCompared(w io.Writer, all []*compared) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "set\tqueries\tR@10 here\tmirror\tnDCG@10 here\tmirror\tsame list\tshared hits\tp50 here\tmirror\tp99 mirror\t")
	for _, r := range all {
		fmt.Fprintf(tw, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f %%\t%.1f %%\t%s\t%s\t%s\t\n", r.name, r.queries, 100*r.own.At10,
			100*r.mirror.At10, 100*r.own.NDCG, 100*r.mirror.NDCG, 100*float64(r.same)/float64(max(1, r.queries)), 100*r.shared,
			percentile(r.here, 50), percentile(r.remote, 50), percentile(r.remote, 99))
	}
	if len(all) > 0 {
		fmt.Fprintf(tw, "%d rows in the mirror\n", all[0].rows)
	}
	return tw.Flush()
}

// percentile of some durations.
func percentile(took []time.Duration, n int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)-1)*n/100].Round(100 * time.Microsecond)
}
