package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// belief is an entry of PrecisionMemBench's beliefs.json.
type belief struct {
	ID         string `json:"_id"`
	Content    string
	Why        string `json:"why_it_matters"`
	Name       string `json:"canonical_name"`
	Aliases    []string
	Scope      []string
	Status     string `json:"epistemic_status"`
	Pinned     bool
	Confidence *float64
	CreatedAt  time.Time `json:"created_at"`
	UserID     string    `json:"user_id"`
}

// beliefCase is an entry of cases.json. What must or may be recalled stands under the part of the answer that its maker
// expects it in; we have one list.
type beliefCase struct {
	ID       string `json:"caseId"`
	Category string
	Scope    []string
	Query    string
	Expect   map[string]struct{ MustInclude, MustExclude, ShouldOnlyInclude []string }
}

// measureBeliefs runs DIR/beliefs.json and DIR/cases.json: for each question the precision and recall of the list of
// hits. Relevant is what must be included or only may be; pinned beliefs, which a context shows always, are neither
// right nor wrong unless the case names them. Cases that expect nothing have precision 1 when nothing wrong is shown.
func (c *client) measureBeliefs(ctx context.Context, dir string, stdout, log io.Writer) error {
	var beliefs []belief
	var cases []beliefCase
	for name, to := range map[string]any{"beliefs.json": &beliefs, "cases.json": &cases} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	pinned, err := c.loadBeliefs(ctx, beliefs)
	if err != nil {
		return err
	}
	if err := c.waitForVectors(ctx, log); err != nil {
		return err
	}
	var precision, recall, silent float64
	answerable, asked := 0, 0
	for _, k := range cases {
		if k.Query == "" {
			continue
		}
		found, err := c.askBelief(ctx, k)
		if err != nil {
			return err
		}
		relevant := k.relevant()
		found = slices.DeleteFunc(found, func(id string) bool { return pinned[id] && !slices.Contains(relevant, id) })
		hits := 0
		for _, id := range found {
			hits += count(slices.Contains(relevant, id))
		}
		if len(relevant) == 0 {
			asked++
			silent += float64(count(len(found) == 0))
			continue
		}
		answerable++
		if len(found) > 0 {
			precision += float64(hits) / float64(len(found))
		}
		recall += float64(hits) / float64(len(relevant))
		if hits < len(relevant) || hits < len(found) {
			fmt.Fprintf(log, "%s: %d of %d found, %d shown\n", k.ID, hits, len(relevant), len(found))
		}
	}
	_, err = fmt.Fprintf(stdout, "answerable cases %d: mean precision %.3f, mean recall %.3f\nothers %d: nothing shown %.3f\n",
		answerable, precision/float64(max(1, answerable)), recall/float64(max(1, answerable)), asked,
		silent/float64(max(1, asked)))
	return err
}

// relevant are the beliefs that a case allows or demands.
func (k *beliefCase) relevant() (ids []string) {
	for _, e := range k.Expect {
		for _, id := range slices.Concat(e.MustInclude, e.ShouldOnlyInclude) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

const beliefSpace = "beliefs"

// loadBeliefs stores the beliefs of the first user and returns which are pinned.
func (c *client) loadBeliefs(ctx context.Context, beliefs []belief) (pinned map[string]bool, err error) {
	pinned = map[string]bool{}
	req := &memsidecarv1.MemoryServiceAddRequest{Space: beliefSpace}
	var superseded []string
	for _, b := range beliefs {
		if b.UserID != beliefs[0].UserID {
			continue
		}
		pinned[b.ID] = b.Pinned
		if b.Status == "superseded" {
			superseded = append(superseded, b.ID)
		}
		req.Items = append(req.Items, &memsidecarv1.NewMemory{
			Id: b.ID, Content: b.Content, Tags: append([]string{b.Name}, b.Aliases...), Category: category(b.Scope),
			Pinned: b.Pinned, CreatedAt: timestamppb.New(b.CreatedAt),
		})
	}
	res, err := c.memories.Add(ctx, req)
	if err != nil {
		return nil, err
	}
	for i, o := range res.GetResult().GetOutcomes() {
		if o.GetId() != req.Items[i].GetId() {
			return nil, fmt.Errorf("belief %s: %v", req.Items[i].GetId(), o)
		}
	}
	return pinned, c.remove(ctx, beliefSpace, superseded)
}

// askBelief searches within the scope of a case and what belongs to every scope.
func (c *client) askBelief(ctx context.Context, k beliefCase) (found []string, err error) {
	req := &memsidecarv1.SearchServiceSearchRequest{
		Spaces: []string{beliefSpace}, Query: k.Query, Limit: depth, Profile: c.profile, Arm: c.arm, NoTouch: true,
		Filter: &memsidecarv1.MemoryFilter{Categories: []string{"user-universal"}},
	}
	for _, s := range k.Scope {
		req.Filter.Categories = append(req.Filter.Categories, slug(s))
	}
	res, err := c.search.Search(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", k.ID, err)
	}
	for _, h := range res.GetHits() {
		found = append(found, h.GetMemory().GetId())
	}
	return found, nil
}
