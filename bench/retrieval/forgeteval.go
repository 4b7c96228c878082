package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// forgetCase is a line of ForgetEval: facts, changes of them that are described in words, and a question after them.
type forgetCase struct {
	ID, Lang, Family, Template string
	Flawed                     any        // why the case cannot be passed; nil for most
	Facts                      []string   `json:"setup_facts"`
	Mutations                  [][]string // supersede TARGET TEXT, release TARGET, purge TARGET
	Query                      string     `json:"final_query"`
	MustContain                []string   `json:"must_contain"`
	MustNotContain             []string   `json:"must_not_contain"`
	Survivors                  []string   // facts that must be active after the changes
	space                      string     // in which the case was loaded
}

// forgetCount counts the cases of one language and family.
type forgetCount struct{ cases, strict, found, gone, spared int }

// forgetGroup is how many cases are loaded at a time: each has a space of its own.
const forgetGroup = 50

// releaseShare is the share of the best score from which on a hit is released, too: "Sam profile information" describes
// several memories.
const releaseShare = 0.8

// measureForgetting runs DIR/templated_*.jsonl. Each change does what an agent does: it searches for what the words
// describe, and updates or purges the first hit, or deletes all that are about as good as it.
func measureForgetting(ctx context.Context, o options, dir string, stdout, log io.Writer) error {
	files, err := filepath.Glob(filepath.Join(o.dir, "templated_*.jsonl"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there is no %s/templated_*.jsonl", o.dir)
	}
	counts := map[string]*forgetCount{}
	for _, f := range files {
		cases, err := readLines[forgetCase](f)
		if err != nil {
			return err
		}
		cases = slices.DeleteFunc(cases, func(c forgetCase) bool { return c.Flawed != nil })
		slices.SortStableFunc(cases, func(a, b forgetCase) int { return strings.Compare(a.Family, b.Family) })
		for group := range slices.Chunk(cases, forgetGroup) {
			fmt.Fprintf(log, "%s: %d cases from %s\n", filepath.Base(f), len(group), group[0].ID)
			below, err := os.MkdirTemp(dir, "g")
			if err != nil {
				return err
			}
			if err := forgetGroupOf(ctx, o, below, group, counts, log); err != nil {
				return err
			}
		}
	}
	return writeForgetting(stdout, counts)
}

// forgetGroupOf runs a group of cases with a daemon of its own, since a purge takes the longer the more is stored.
func forgetGroupOf(ctx context.Context, o options, dir string, group []forgetCase, counts map[string]*forgetCount,
	log io.Writer) (err error) {
	c, stop, err := o.start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop(), os.RemoveAll(dir)) }()
	size := len(group)
	if group[0].Family == "purge" {
		size = 1 // a purge erases a text in all spaces, also in those of other cases
	}
	for part := range slices.Chunk(group, size) {
		if err := c.runForgetting(ctx, part); err != nil {
			return err
		}
		for i := range part {
			g, err := c.judgeForgetting(ctx, &part[i], log)
			if err != nil {
				return err
			}
			for _, key := range []string{part[i].Lang, part[i].Lang + " " + part[i].Family} {
				if counts[key] == nil {
					counts[key] = &forgetCount{}
				}
				counts[key].add(g)
			}
		}
	}
	return nil
}

func (f *forgetCount) add(o forgetCount) {
	f.cases, f.strict, f.found = f.cases+o.cases, f.strict+o.strict, f.found+o.found
	f.gone, f.spared = f.gone+o.gone, f.spared+o.spared
}

// runForgetting loads a group and makes its changes, once everything has its vectors.
func (c *client) runForgetting(ctx context.Context, group []forgetCase) error {
	for i := range group { // with secrets, which redaction would make equal: then nothing is left to tell apart
		f := &group[i]
		f.space = fmt.Sprintf("%s-%s", f.Lang, slug(strings.ReplaceAll(f.ID, "_", "-")))
		req := &memsidecarv1.MemoryServiceAddRequest{Space: f.space, AllowSensitive: true}
		for _, fact := range f.Facts {
			req.Items = append(req.Items, &memsidecarv1.NewMemory{Content: fact})
		}
		if _, err := c.memories.Add(ctx, req); err != nil {
			return fmt.Errorf("case %s: %w", f.ID, err)
		}
	}
	if err := c.waitForVectors(ctx, io.Discard); err != nil {
		return err
	}
	for i := range group {
		for _, m := range group[i].Mutations {
			if err := c.change(ctx, group[i].space, m); err != nil {
				return fmt.Errorf("case %s: %w", group[i].ID, err)
			}
		}
	}
	return c.waitForVectors(ctx, io.Discard)
}

// change makes one change to what is found for its description; none when nothing is found.
func (c *client) change(ctx context.Context, space string, mutation []string) error {
	hits, err := c.find(ctx, space, mutation[1])
	if err != nil || len(hits) == 0 {
		return err
	}
	id := hits[0].GetMemory().GetId()
	switch mutation[0] {
	case "supersede":
		_, err = c.memories.Update(ctx, &memsidecarv1.MemoryServiceUpdateRequest{
			Space: space, Id: id, Patch: &memsidecarv1.MemoryPatch{Content: &mutation[2]},
		})
	case "release":
		var ids []string
		for _, h := range hits {
			if h.GetScore() >= releaseShare*hits[0].GetScore() {
				ids = append(ids, h.GetMemory().GetId())
			}
		}
		_, err = c.memories.Delete(ctx, &memsidecarv1.MemoryServiceDeleteRequest{Space: space, Ids: ids})
	case "purge":
		_, err = c.memories.Purge(ctx, &memsidecarv1.MemoryServicePurgeRequest{Space: space, Ids: []string{id}})
	default:
		err = fmt.Errorf("unknown change %q", mutation[0])
	}
	return err
}

// find searches one space with the defaults.
func (c *client) find(ctx context.Context, space, query string) ([]*memsidecarv1.SearchHit, error) {
	res, err := c.search.Search(ctx, &memsidecarv1.SearchServiceSearchRequest{
		Spaces: []string{space}, Query: query, Limit: depth, Profile: c.profile, Arm: c.arm, NoTouch: true,
	})
	return res.GetHits(), err
}

// judgeForgetting asks the question of a case. The case is passed strictly when the new is found, the old is gone and
// no bystander is lost.
func (c *client) judgeForgetting(ctx context.Context, f *forgetCase, log io.Writer) (g forgetCount, err error) {
	hits, err := c.find(ctx, f.space, f.Query)
	if err != nil {
		return g, fmt.Errorf("case %s: %w", f.ID, err)
	}
	var found, active []string
	for _, h := range hits {
		found = append(found, h.GetMemory().GetContent())
	}
	list, err := c.memories.List(ctx, &memsidecarv1.MemoryServiceListRequest{Space: f.space, PageSize: 100})
	if err != nil {
		return g, fmt.Errorf("case %s: %w", f.ID, err)
	}
	for _, m := range list.GetMemories() {
		active = append(active, m.GetContent())
	}
	shown := strings.Join(found, "\n")
	inShown := func(s string) bool { return strings.Contains(shown, s) }
	missing := slices.ContainsFunc(f.MustContain, func(s string) bool { return !inShown(s) })
	kept := slices.ContainsFunc(f.MustNotContain, inShown)
	lost := slices.ContainsFunc(f.Survivors, func(s string) bool { return !slices.Contains(active, s) })
	g = forgetCount{cases: 1, found: count(!missing), gone: count(!kept), spared: count(!lost)}
	g.strict = count(!missing && !kept && !lost)
	if g.strict == 0 {
		fmt.Fprintf(log, "%s %s: missing %v, kept %v, lost %v\n", f.Lang, f.ID, missing, kept, lost)
	}
	return g, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeForgetting writes a row for each language and each of its families.
func writeForgetting(w io.Writer, counts map[string]*forgetCount) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tcases\tstrict\tnew found\told gone\tbystanders spared")
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		n := counts[key]
		share := func(k int) float64 { return float64(k) / float64(n.cases) }
		fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\n", key, n.cases, share(n.strict), share(n.found), share(n.gone),
			share(n.spared))
	}
	return t.Flush()
}
