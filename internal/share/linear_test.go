package share_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// register is one memory whose content clients read and replace.
type register struct {
	id    string
	write string // "" for a read
}

// registers is what a memory must look like to clients: each read returns what was written last.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byID := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(register).id
			byID[id] = append(byID[id], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byID {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(register); in.write != "" {
			return true, in.write
		}
		return output == state, state
	},
}

// slot is a place for one node after another: its directory is deleted at times.
type slot struct {
	proxy *proxy

	mu   sync.RWMutex // held for reading while a client works
	node *node        // guarded by mu

	cancelMu sync.Mutex
	cancel   context.CancelFunc // ends the requests to the node; guarded by cancelMu
	ctx      context.Context    //nolint:containedctx // of those requests; guarded by cancelMu
}

// cluster is what the clients of one test share.
type cluster struct {
	t     *testing.T
	slots []*slot
	start time.Time

	mu        sync.Mutex
	positions []string // the newest of each slot that a client was told; guarded by mu
	history   []porcupine.Operation
	unknown   int
	deleted   int
}

// TestLinearizable: 8 clients write and read memories at 3 machines, whose connections break and whose directories are
// deleted, with replies that wait for the log and reads that ask for the positions that others were told. The history
// of each memory is that of one copy: no acknowledged write is ever lost or seen out of order. It takes 3 seconds, and
// a minute with the variable.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	pg.Database(t, "linear")
	c := &cluster{t: t, start: time.Now(), positions: make([]string, 3)}
	for i := range 3 {
		s := &slot{proxy: newProxy(t, pg)}
		c.slots = append(c.slots, s)
		s.node = start(t, crashfs.New())
		address := s.proxy.address("linear")
		if i == 0 {
			must(t, s.node.share.Start(t.Context(), "team", address))
		} else {
			must(t, s.node.share.Join(t.Context(), "team", "team", address, false))
		}
		must(t, s.node.share.SetAck("team", share.AckShared))
		s.renew()
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		s.proxy.set(func(direction) verdict { // the lock of the proxy is held
			switch r := rng.IntN(1000); {
			case r < 5:
				return cut
			case r < 8:
				return halve
			case r < 50:
				return dawdle
			}
			return pass
		})
	}
	duration := 3 * time.Second
	if os.Getenv(longTests) != "" {
		duration = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() { c.work(ctx, i) })
	}
	for ctx.Err() == nil {
		sleepFor(ctx, duration/4)
		if ctx.Err() == nil {
			c.delete(rand.IntN(3))
		}
	}
	clients.Wait()
	for _, s := range c.slots {
		s.proxy.set(nil)
	}
	settled(t, c.slots[0].node, c.slots[1].node, c.slots[2].node)
	reads := 0
	for _, op := range c.history {
		if op.Input.(register).write == "" {
			reads++
		}
	}
	if writes := len(c.history) - reads - c.unknown; reads < 20 || writes < 20 || c.deleted < 2 {
		t.Errorf("%d reads, %d acknowledged writes, %d directories deleted: that shows little", reads, writes, c.deleted)
	}
	switch result := porcupine.CheckOperationsTimeout(registers, c.history, time.Minute); result {
	case porcupine.Ok:
	default:
		t.Fatalf("the history of %d operations is not that of one copy: %s", len(c.history), result)
	}
	t.Logf("%d reads, %d writes, %d of them with an unknown outcome, %d directories deleted", reads, len(c.history)-reads,
		c.unknown, c.deleted)
}

// renew gives the requests to a node a new context.
func (s *slot) renew() {
	s.cancelMu.Lock()
	defer s.cancelMu.Unlock()
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// request returns the context of a request, of two seconds at most.
func (s *slot) request() (context.Context, context.CancelFunc) {
	s.cancelMu.Lock()
	defer s.cancelMu.Unlock()
	return context.WithTimeout(s.ctx, 2*time.Second)
}

// delete ends a node with whatever it does, deletes its directory and has a new machine join in its place.
func (c *cluster) delete(i int) {
	s := c.slots[i]
	s.cancelMu.Lock()
	s.cancel()
	s.cancelMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node.stop()
	n := start(c.t, crashfs.New())
	var err error
	for range 50 { // its connection breaks, too
		if err = n.share.Join(c.t.Context(), "team", "team", s.proxy.address("linear"), false); err == nil {
			break
		}
	}
	must(c.t, err)
	must(c.t, n.share.SetAck("team", share.AckShared))
	s.node = n
	s.renew()
	c.deleted++
}

// work is one client: it reads and writes at one machine after another until ctx ends.
func (c *cluster) work(ctx context.Context, client int) {
	rng := rand.New(rand.NewPCG(uint64(client), 2))
	for k := 0; ctx.Err() == nil; k++ {
		i := rng.IntN(len(c.slots))
		in := register{id: fmt.Sprint("r", rng.IntN(4))}
		if rng.IntN(2) == 0 {
			in.write = fmt.Sprintf("client %d wrote number %d", client, k)
		}
		c.do(client, i, in)
	}
}

// do is one request, which the history gets when its result is known or may be.
func (c *cluster) do(client, i int, in register) {
	s := c.slots[i]
	s.mu.RLock()
	defer s.mu.RUnlock()
	ctx, cancel := s.request()
	defer cancel()
	op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(c.start))}
	var err error
	if in.write != "" {
		_, err = s.node.request(ctx, "", func(tx *store.Tx) error { return tx.Put(memtest.Fact(in.id, in.write)) })
	} else {
		op.Output, err = c.read(ctx, s.node, in.id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.positions[i] = s.node.share.Position("team", true)
		op.Return = int64(time.Since(c.start)) // the position belongs to the reply: others may not read without it
	case in.write == "":
		return // nothing was read
	default:
		op.Return = int64(time.Hour) // it may happen at any time, or never
		op.ClientId = 1000 + len(c.history)
		c.unknown++
	}
	c.history = append(c.history, op)
}

// read reads as a request with min_positions does.
func (c *cluster) read(ctx context.Context, n *node, id string) (string, error) {
	c.mu.Lock()
	positions := slices.DeleteFunc(slices.Clone(c.positions), func(p string) bool { return p == "" })
	c.mu.Unlock()
	strict, err := n.share.Reach(ctx, positions)
	if err != nil {
		return "", err
	}
	content := n.content(id)
	return content, n.share.AwaitAll(ctx, strict)
}

// sleepFor waits for d or the end of ctx.
func sleepFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
