package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	memsidecarv1alpha1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

const (
	depth = 10  // results asked for
	batch = 500 // memories in one Add
)

// client asks the daemon.
type client struct {
	memories memsidecarv1.MemoryServiceClient
	search   memsidecarv1.SearchServiceClient
	share    memsidecarv1alpha1.ShareServiceClient
	profile  memsidecarv1.RankingProfile
	arm      memsidecarv1.SearchArm
	byWords  int                        // searches in which meaning took no part
	spaces   map[*set][]string          // by number of the conversation
	stored   map[*set]map[string]string // id of a document → id of the memory
	took     []time.Duration            // of searches
	explain  bool                       // ask for the parts of scores
	mirror   bool                       // ask the mirror of the spaces
}

// connect opens one connection; the sets are asked one query at a time, so that a latency is never that of a
// queue.
func connect(d *process.Server, profile memsidecarv1.RankingProfile, arm memsidecarv1.SearchArm) (*client, error) {
	conn, err := d.Client(0)
	if err != nil {
		return nil, err
	}
	return &client{
		memories: memsidecarv1.NewMemoryServiceClient(conn), search: memsidecarv1.NewSearchServiceClient(conn),
		share:   memsidecarv1alpha1.NewShareServiceClient(conn),
		profile: profile, arm: arm,
		spaces: map[*set][]string{}, stored: map[*set]map[string]string{},
	}, nil
}

// load stores a set, each conversation in a space of its own.
func (c *client) load(ctx context.Context, s *set) error {
	items := make([][]*memsidecarv1.NewMemory, len(s.convs))
	origin := make([][]*document, len(s.convs))
	for i := range s.docs {
		d := &s.docs[i]
		n := slices.Index(s.convs, d.Conv)
		items[n] = append(items[n], newMemory(d, i))
		origin[n] = append(origin[n], d)
	}
	c.stored[s] = map[string]string{}
	for n := range items {
		space := fmt.Sprintf("%s-%d", s.name, n)
		c.spaces[s] = append(c.spaces[s], space)
		at := 0
		for part := range slices.Chunk(items[n], batch) {
			res, err := c.memories.Add(ctx, &memsidecarv1.MemoryServiceAddRequest{Space: space, Items: part})
			if err != nil {
				return fmt.Errorf("add to %s: %w", space, err)
			}
			for i, o := range res.GetResult().GetOutcomes() {
				if o.GetId() == "" {
					return fmt.Errorf("add to %s: document %s: %v", space, origin[n][at+i].ID, o)
				}
				c.stored[s][origin[n][at+i].ID] = o.GetId()
			}
			at += len(part)
		}
		if err := c.retire(ctx, s, space, origin[n]); err != nil {
			return err
		}
	}
	return nil
}

// retire takes away what the set says is superseded.
func (c *client) retire(ctx context.Context, s *set, space string, docs []*document) error {
	var ids []string
	for _, d := range docs {
		if d.Status == "superseded" {
			ids = append(ids, c.stored[s][d.ID])
		}
	}
	return c.remove(ctx, space, ids)
}

// newMemory gives a memory the number of its document as id, so that hits can be matched with the judgements
// without comparing texts, which redaction may have changed.
func newMemory(d *document, n int) *memsidecarv1.NewMemory {
	m := &memsidecarv1.NewMemory{
		Id: fmt.Sprintf("m%06d", n), Content: d.Text, Tags: d.Tags, Pinned: d.Pinned, Salience: d.Salience,
		Category: cmp.Or(d.Kind, category(d.Scope)),
	}
	if at := moment(d.Time); !at.IsZero() {
		m.CreatedAt = timestamppb.New(at)
	}
	if d.Session != "" {
		m.Context = &memsidecarv1.MemoryContext{LearnedFrom: "session_" + d.Session.String()}
	}
	return m
}

// category makes a slug of the first scope.
func category(scope []string) string {
	if len(scope) == 0 {
		return ""
	}
	return slug(scope[0])
}

// slug replaces what the name of a space may not hold.
func slug(s string) string {
	out := []byte(s)
	for i, b := range out {
		if b == ':' {
			out[i] = '-'
		}
	}
	return string(out)
}

// remove retires memories and keeps them learnable: a forgotten value could not be restored for the next
// question.
func (c *client) remove(ctx context.Context, space string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := c.memories.Delete(ctx, &memsidecarv1.MemoryServiceDeleteRequest{Space: space, Ids: ids,
		KeepLearnable: true})
	return err
}

// restore undoes remove.
func (c *client) restore(ctx context.Context, space string, ids []string) error {
	_, err := c.memories.Restore(ctx, &memsidecarv1.MemoryServiceRestoreRequest{Space: space, Ids: ids})
	return err
}

// recall asks one space, the nth of a set, for what bears on a prompt, as a hook does.
func (c *client) recall(ctx context.Context, s *set, n int, q query) ([]string, error) {
	req := &memsidecarv1.SearchServiceRecallRequest{Spaces: []string{c.spaces[s][n]}, Text: q.Text}
	res, err := c.search.Recall(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("recall of prompt %s: %w", q.ID, err)
	}
	var ids []string
	for _, m := range res.GetItems() {
		ids = append(ids, m.GetMemory().GetId())
	}
	return ids, nil
}

// ask searches one space, the nth of a set, with the question of another or the same set.
func (c *client) ask(ctx context.Context, s *set, n int, q query) ([]*memsidecarv1.SearchHit, error) {
	at := s.newest.Add(time.Hour)
	if own := moment(q.Time); !own.IsZero() {
		at = own.Add(24 * time.Hour)
	}
	req := &memsidecarv1.SearchServiceSearchRequest{
		Spaces: []string{c.spaces[s][n]}, Query: q.Text, Limit: depth, Profile: c.profile, Arm: c.arm,
		AsOf: timestamppb.New(at), NoTouch: true, Explain: c.explain, Mirror: c.mirror,
	}
	if len(q.Scope) > 0 {
		req.Filter = &memsidecarv1.MemoryFilter{Categories: []string{"user-universal"}}
		for _, s := range q.Scope {
			req.Filter.Categories = append(req.Filter.Categories, slug(s))
		}
	}
	began := time.Now()
	res, err := c.search.Search(ctx, req)
	c.took = append(c.took, time.Since(began))
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", q.ID, err)
	}
	if len(res.GetHits()) > 0 && !res.GetVectorsUsed() {
		c.byWords++
	}
	return res.GetHits(), nil
}
