package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

const (
	tenants    = 64
	notes      = 4 // that each adds
	raceRounds = 4
)

var spaces = []string{"amber", "birch", "coral", "delta"}

// tenant is one client with a connection of its own, and what was acknowledged to it. The ids and half of the words are
// the same in all spaces.
type tenant struct {
	number   int
	space    string
	memories pb.MemoryServiceClient
	search   pb.SearchServiceClient
	content  map[string]string // by id, as last acknowledged
	retired  map[string]bool
}

// TestClientsAndSpaces lets 64 connections work on four spaces at once. Everything acknowledged is there after a kill,
// nothing shows up in another space, of all who update one revision one wins, and a request repeated with its
// idempotency key is applied once.
func TestClientsAndSpaces(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	clients := connect(t, p)
	together(t, clients, (*tenant).work)
	refused := 0
	for round := range raceRounds {
		refused += race(t, clients, round)
	}
	operation := repeat(t, clients, "")

	d.Kill()
	d = p.serve(t)
	again := connect(t, p)
	for i, c := range again {
		c.content, c.retired = clients[i].content, clients[i].retired
	}
	together(t, again, (*tenant).verify)
	if got := repeat(t, again, operation); got != operation {
		t.Errorf("the repeated request is operation %s, was %s", got, operation)
	}
	if want := raceRounds * (tenants - len(spaces)); refused != want {
		t.Errorf("%d updates of an old revision were refused, want %d", refused, want)
	}
	d.Stop(t)
	p.Succeeds(t, "check")
}

func connect(t *testing.T, p place) []*tenant {
	t.Helper()
	all := make([]*tenant, tenants)
	for i := range all {
		conn := p.dial(t)
		all[i] = &tenant{
			number: i / len(spaces), space: spaces[i%len(spaces)], content: map[string]string{},
			retired:  map[string]bool{},
			memories: pb.NewMemoryServiceClient(conn), search: pb.NewSearchServiceClient(conn),
		}
	}
	return all
}

func (c *tenant) index() int { return c.number*len(spaces) + slices.Index(spaces, c.space) }

// shared returns the revision of the memory that all of a space fight for, after adding it if asked to.
func (c *tenant) shared(t *testing.T, add bool) int64 {
	t.Helper()
	if add {
		if _, err := c.memories.Add(t.Context(), &pb.MemoryServiceAddRequest{
			Space: c.space, Items: []*pb.NewMemory{{Id: "shared", Category: "facts", Content: "the harbour of " +
				c.space}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.memories.Get(t.Context(), &pb.MemoryServiceGetRequest{Space: c.space, Ids: []string{"shared"}})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetMemories()[0].GetRevision()
}

// together lets all clients do something at once.
func together(t *testing.T, clients []*tenant, f func(*tenant, context.Context) error) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	for _, c := range clients {
		g.Go(func() error {
			if err := f(c, ctx); err != nil {
				return fmt.Errorf("client %d of %s: %w", c.number, c.space, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// work adds, updates and deletes, and looks around after every step.
func (c *tenant) work(ctx context.Context) error {
	for n := range notes {
		id := fmt.Sprintf("note-%d-%d", c.number, n)
		text := fmt.Sprintf("the lighthouse keeper of %s wrote note %d of client%d", c.space, n, c.number)
		if _, err := c.memories.Add(ctx, &pb.MemoryServiceAddRequest{
			Space: c.space, Items: []*pb.NewMemory{{Id: id, Category: "facts", Content: text}},
		}); err != nil {
			return fmt.Errorf("add: %w", err)
		}
		c.content[id] = text
		if err := c.look(ctx, id); err != nil {
			return err
		}
		switch n % 3 {
		case 1:
			if err := c.revise(ctx, id); err != nil {
				return err
			}
		case 2:
			if _, err := c.memories.Delete(ctx,
				&pb.MemoryServiceDeleteRequest{Space: c.space, Ids: []string{id}}); err != nil {
				return fmt.Errorf("delete: %w", err)
			}
			c.retired[id] = true
		}
		if err := c.look(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// revise updates a memory at its revision; the same revision does not serve a second time.
func (c *tenant) revise(ctx context.Context, id string) error {
	got, err := c.memories.Get(ctx, &pb.MemoryServiceGetRequest{Space: c.space, Ids: []string{id}})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	text := c.content[id] + " and revised it"
	req := &pb.MemoryServiceUpdateRequest{
		Space: c.space, Id: id, ExpectedRevision: got.GetMemories()[0].GetRevision(),
		Patch: &pb.MemoryPatch{Content: &text},
	}
	if _, err := c.memories.Update(ctx, req); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	c.content[id] = text
	other := text + " twice"
	req.Patch.Content = &other
	if _, err := c.memories.Update(ctx, req); status.Code(err) != codes.FailedPrecondition {
		return fmt.Errorf("an update of an old revision: %w", err)
	}
	return nil
}

// look reads its own writes, and everything of its space that a search and a list show.
func (c *tenant) look(ctx context.Context, id string) error {
	got, err := c.memories.Get(ctx, &pb.MemoryServiceGetRequest{Space: c.space, Ids: []string{id}})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if m := got.GetMemories()[0]; m.GetContent() != c.content[id] ||
		(m.GetStatus() == pb.MemoryStatus_MEMORY_STATUS_RETIRED) != c.retired[id] {
		return fmt.Errorf("%s is %q, %v; acknowledged was %q, retired %v", id, m.GetContent(), m.GetStatus(),
			c.content[id], c.retired[id])
	}
	found, err := c.search.Search(ctx, &pb.SearchServiceSearchRequest{
		Spaces: []string{c.space}, Query: fmt.Sprintf("lighthouse keeper client%d", c.number), Limit: 50,
	})
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	for _, h := range found.GetHits() {
		if h.GetSpace() != c.space || !c.own(h.GetMemory()) ||
			h.GetMemory().GetStatus() == pb.MemoryStatus_MEMORY_STATUS_RETIRED {
			return fmt.Errorf("search found %v", h)
		}
	}
	if len(found.GetHits()) == 0 && !c.retired[id] {
		return fmt.Errorf("search for %s found nothing: %s", id, found.GetReason())
	}
	_, err = c.list(ctx)
	return err
}

// own reports that a memory names the space of the client and no other.
func (c *tenant) own(m *pb.Memory) bool {
	return !slices.ContainsFunc(spaces, func(s string) bool {
		return strings.Contains(m.GetContent(), s) != (s == c.space)
	})
}

// list pages through the active memories of the space.
func (c *tenant) list(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	req := &pb.MemoryServiceListRequest{Space: c.space, PageSize: 25}
	for {
		page, err := c.memories.List(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		for _, m := range page.GetMemories() {
			if !c.own(m) {
				return nil, fmt.Errorf("list shows %v", m)
			}
			all[m.GetId()] = m.GetContent()
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return all, nil
		}
	}
}

// verify compares what is there with what was acknowledged.
func (c *tenant) verify(ctx context.Context) error {
	if len(c.content) < notes {
		return fmt.Errorf("only %d writes acknowledged", len(c.content))
	}
	active, err := c.list(ctx)
	if err != nil {
		return err
	}
	for id, text := range c.content {
		if err := c.look(ctx, id); err != nil {
			return err
		}
		if got, listed := active[id]; listed == c.retired[id] || listed && got != text {
			return fmt.Errorf("%s is listed as %q; acknowledged was %q, retired %v", id, got, text, c.retired[id])
		}
	}
	return nil
}

// race lets all clients of each space update the same revision of one memory, and returns how many were refused.
func race(t *testing.T, clients []*tenant, round int) (refused int) {
	t.Helper()
	revisions := map[string]int64{}
	for _, c := range clients[:len(spaces)] {
		revisions[c.space] = c.shared(t, round == 0)
	}
	won, lost := make([]bool, len(clients)), make([]bool, len(clients))
	text := func(c *tenant) string {
		return fmt.Sprintf("the harbour of %s, round %d, by %d", c.space, round, c.number)
	}
	together(t, clients, func(c *tenant, ctx context.Context) error {
		mine := text(c)
		_, err := c.memories.Update(ctx, &pb.MemoryServiceUpdateRequest{
			Space: c.space, Id: "shared", ExpectedRevision: revisions[c.space], Patch: &pb.MemoryPatch{Content: &mine},
		})
		won[c.index()], lost[c.index()] = err == nil, status.Code(err) == codes.FailedPrecondition
		if lost[c.index()] {
			return nil
		}
		return err
	})
	for i, space := range spaces {
		var winners []*tenant
		for n := i; n < len(clients); n += len(spaces) {
			delete(clients[n].content, "shared")
			if lost[n] {
				refused++
			}
			if won[n] {
				winners = append(winners, clients[n])
			}
		}
		if len(winners) != 1 {
			t.Fatalf("round %d: %d clients of %s updated revision %d", round, len(winners), space, revisions[space])
		}
		winners[0].content["shared"] = text(winners[0])
	}
	return refused
}

// repeat sends one request with one key from all clients at once. It is applied by the first alone, or by none when it
// was done as an operation before; everybody gets its id.
func repeat(t *testing.T, clients []*tenant, before string) string {
	t.Helper()
	results := make([]*pb.WriteResult, len(clients))
	together(t, clients, func(c *tenant, ctx context.Context) error {
		resp, err := c.memories.Add(ctx, &pb.MemoryServiceAddRequest{
			Space: spaces[0], IdempotencyKey: "only-once",
			Items: []*pb.NewMemory{{Category: "facts", Content: "the bridge of " + spaces[0] +
				" is closed on Sundays"}},
		})
		results[c.index()] = resp.GetResult()
		return err
	})
	first := 0
	for _, r := range results {
		if !r.GetReplayed() {
			first++
		}
		if r.GetOperationId() == "" || r.GetOperationId() != results[0].GetOperationId() ||
			r.GetOutcomes()[0].GetId() != results[0].GetOutcomes()[0].GetId() {
			t.Errorf("one client got %v, another %v", results[0], r)
		}
	}
	if want := map[bool]int{true: 1, false: 0}[before == ""]; first != want {
		t.Errorf("%d clients were told that it was done for them, want %d", first, want)
	}
	all, err := clients[0].list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copies := 0
	for _, text := range all {
		if strings.Contains(text, "bridge") {
			copies++
		}
	}
	if copies != 1 {
		t.Errorf("%d memories were added", copies)
	}
	return results[0].GetOperationId()
}
