package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// Sizes of the scenario of a fleet.
const (
	fleetNodes    = 4
	fleetMemories = 20 // of a space
	fleetCold     = 2000
	fleetClients  = 16
	fleetRounds   = 8    // of mixed load, unless the flags say how long; a node is killed at the end of each
	fleetMiB      = 1024 // that a node may have resident at most
)

// arrival is how long what is acknowledged at one node may take to a node that was just started.
const arrival = 30 * time.Second

// templateSpace is the space of which all others are copies, and templateWord the word of its name in them.
const (
	templateSpace = "template"
	templateWord  = "zebra000000"
)

// fleet is what the scenario of a fleet measures.
type fleet struct {
	b      *bench
	spaces int
	url    string
	plain  *process.Server // a daemon without a fleet
	nodes  []*process.Server
	again  []*process.Server // nodes that were started after a kill; the connections of those before go on
	// peaks are the most that each node had resident, in MiB, of all its processes.
	peaks [fleetNodes]float64
}

// fleet measures a fleet with many spaces.
func (b *bench) fleet(ctx context.Context, spaces int) error {
	return b.onPostgres(ctx, fmt.Sprintf("%7d spaces: a fleet", spaces), func(url string) error {
		return (&fleet{b: b, spaces: spaces, url: url}).measure(ctx)
	})
}

// measure fills the database, and measures what nodes make of it.
func (f *fleet) measure(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, f.stop()) }()
	for _, step := range []func(context.Context) error{f.fill, f.serve, f.cold, f.warm, f.mixed} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop stops all daemons.
func (f *fleet) stop() error {
	var errs []error
	for _, s := range append(append([]*process.Server{f.plain}, f.again...), f.nodes...) {
		if s != nil {
			errs = append(errs, s.Stop())
		}
	}
	return errors.Join(errs...)
}

// fill shares one space by a daemon, and copies it in the database: another name, another word in one memory.
func (f *fleet) fill(ctx context.Context) (err error) {
	data := filepath.Join(f.b.dir, "plain")
	if err := errors.Join(os.RemoveAll(data), f.b.settings(data)); err != nil {
		return err
	}
	if f.plain, err = f.b.start(ctx, data); err != nil {
		return err
	}
	cs, err := f.plain.Memories(1)
	if err != nil {
		return err
	}
	req := addRequest(&f.b.next, fleetMemories)
	req.Space = templateSpace
	req.Items[0].Content = "The project of this customer is called " + templateWord
	res, err := cs[0].Add(ctx, req)
	if err := errors.Join(err, applied(res)); err != nil {
		return err
	}
	share, err := shareOf(f.plain)
	if err != nil {
		return err
	}
	if _, err := share.Start(ctx, &memsidecarv1alpha1.ShareServiceStartRequest{Space: templateSpace, Url: f.url}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, f.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // the server is about to go
	began := time.Now()
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO memsidecar.space (name, log, hash) SELECT 'space' || lpad(i::text, 6, '0'), 'log' || i,
			sha256(convert_to('memsidecar log log' || i, 'UTF8')) FROM generate_series(0, %d) i`, f.spaces-1),
		`INSERT INTO memsidecar.snapshot (space, position, hash, parts) SELECT s.id, 0, s.hash, t.parts
			FROM memsidecar.space s, memsidecar.snapshot t JOIN memsidecar.space o ON o.id = t.space
			WHERE o.name = '` + templateSpace + `' AND s.id <> o.id`,
		`INSERT INTO memsidecar.snapshot_part (space, position, part, data, digest)
			SELECT c.id, 0, c.part, c.data, sha256(convert_to(c.data, 'UTF8')) FROM (SELECT s.id, p.part,
			replace(p.data, '` + templateWord + `', replace(s.name, 'space', 'zebra')) AS data FROM memsidecar.space s,
			memsidecar.snapshot_part p JOIN memsidecar.space o ON o.id = p.space
			WHERE o.name = '` + templateSpace + `' AND s.id <> o.id) c`,
		`ANALYZE`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	fmt.Fprintf(f.b.log, "%7d spaces: filled in %v\n", f.spaces, time.Since(began).Round(time.Second))
	return nil
}

// nodeLimit tells the runtime of a node what it may take.
var nodeLimit = fmt.Sprintf("GOMEMLIMIT=%dMiB", fleetMiB)

// serve starts the nodes.
func (f *fleet) serve(ctx context.Context) error {
	for i := range fleetNodes {
		data := filepath.Join(f.b.dir, fmt.Sprint("node", i))
		if err := errors.Join(os.RemoveAll(data), f.b.settings(data, "fleet: "+f.url)); err != nil {
			return err
		}
		node, err := process.Start(ctx, f.b.bin, data, f.b.socket(), nodeLimit)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, node)
	}
	return nil
}

// search searches a space at a daemon for the word that only this space has.
func (f *fleet) search(ctx context.Context, d *process.Server, client int, space, word string) error {
	conn, err := d.Client(client)
	if err != nil {
		return err
	}
	res, err := memsidecarv1.NewSearchServiceClient(conn).Search(ctx, &memsidecarv1.SearchServiceSearchRequest{
		Spaces: []string{space}, Query: "which project is called " + word})
	if err == nil && len(res.GetHits()) == 0 {
		err = fmt.Errorf("nothing is found for %s in space %s", word, space)
	}
	return err
}

// wordOf is the word that only one space has.
func wordOf(i int) string { return fmt.Sprintf("zebra%06d", i) }

// cold times the first search in spaces that no node has.
func (f *fleet) cold(ctx context.Context) error {
	first := sample{}
	n := min(fleetCold, f.spaces/2)
	for i := range n {
		began := time.Now()
		if err := f.search(ctx, f.nodes[i%fleetNodes], 0, spaceName(i), wordOf(i)); err != nil {
			return err
		}
		first.calls = append(first.calls, time.Since(began))
		first.elapsed += time.Since(began)
	}
	slices.Sort(first.calls)
	f.b.report.timed(fmt.Sprintf("first search in a space of a fleet of %d", f.spaces), f.spaces*fleetMemories, 1, first)
	return nil
}

// warm times searches in spaces that are open, beside those of a daemon without a fleet.
func (f *fleet) warm(ctx context.Context) error {
	one := func(d *process.Server, space, word string) func() (sample, error) {
		return func() (sample, error) {
			return load(ctx, 1, f.b.slice, 1<<20, func(ctx context.Context, _ int) error { return f.search(ctx, d, 0, space, word) })
		}
	}
	samples, err := f.b.turns(one(f.nodes[0], spaceName(0), wordOf(0)), one(f.plain, templateSpace, templateWord))
	if err != nil {
		return err
	}
	row := f.b.report.timed("search in an open space of a fleet", f.spaces*fleetMemories, 1, samples[0])
	row.compare("on a daemon without a fleet", p50s, samples...)
	row.atMost(1.2)
	return nil
}

// tally is what the clients of mixed load saw.
type tally struct {
	mu       sync.Mutex
	calls    sample             // guarded by mu
	repeated int                // calls because of UNAVAILABLE; guarded by mu
	failed   map[codes.Code]int // calls with another error, which are not repeated; guarded by mu
	added    map[int][]string   // contents of acknowledged memories by space; guarded by mu
}

// mixed lets clients search and add in any space at any node, while nodes are killed, and looks for what was
// acknowledged at the end.
func (f *fleet) mixed(ctx context.Context) error {
	t := &tally{added: map[int][]string{}, failed: map[codes.Code]int{}}
	load, cancel := context.WithTimeout(ctx, f.b.fleetLoad)
	defer cancel()
	g, gctx := errgroup.WithContext(ctx)
	began := time.Now()
	for c := range fleetClients {
		for _, n := range f.nodes { // the connections are made before they are shared
			if _, err := n.Client(c); err != nil {
				return err
			}
		}
		g.Go(func() error {
			for load.Err() == nil {
				if err := f.step(gctx, c, t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	kills := 0
	for load.Err() == nil {
		select {
		case <-load.Done():
		case <-time.After(f.b.fleetKill):
			if err := f.kill(ctx, kills%fleetNodes); err != nil {
				return err
			}
			kills++
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t.calls.elapsed = time.Since(began)
	slices.Sort(t.calls.calls)
	f.b.report.timed(fmt.Sprintf("mixed load on a fleet, %d SIGKILLs", kills), f.spaces*fleetMemories, fleetClients, t.calls)
	f.b.report.value("calls repeated because of UNAVAILABLE", f.spaces*fleetMemories, float64(t.repeated), "")
	failed := 0
	for _, code := range slices.Sorted(maps.Keys(t.failed)) {
		f.b.report.value("calls that failed with "+code.String(), f.spaces*fleetMemories, float64(t.failed[code]), "")
		failed += t.failed[code]
	}
	f.b.report.value("calls that failed otherwise", f.spaces*fleetMemories, float64(failed), "").limit(float64(failed), 0, "0")
	if err := f.settle(ctx, t); err != nil {
		return err
	}
	for i := range f.nodes {
		if err := f.peak(i); err != nil {
			return err
		}
		f.b.report.value(fmt.Sprintf("most resident of node %d", i), f.spaces*fleetMemories, f.peaks[i], "MiB").
			limit(f.peaks[i], fleetMiB, fmt.Sprintf("≤ %d MiB", fleetMiB))
	}
	return nil
}

// settle waits until one node lists all that was acknowledged. What it lacks is lost when it lists nothing more of it for
// as long as an arrival may take: one look at thousands of spaces takes longer than that.
func (f *fleet) settle(ctx context.Context, t *tally) (err error) {
	least, lost := -1, 0
	for end := time.Now().Add(arrival); ; time.Sleep(100 * time.Millisecond) {
		lost, err = f.lost(ctx, t)
		away := grpcstatus.Code(err) == codes.Unavailable // a node that has just started, or its database
		switch {
		case err == nil && (least < 0 || lost < least):
			least, end = lost, time.Now().Add(arrival)
		case err != nil && !away:
			return err
		}
		if least == 0 || time.Now().After(end) {
			break
		}
	}
	f.b.report.value("acknowledged memories that are lost", f.spaces*fleetMemories, float64(lost), "").limit(float64(lost), 0, "0")
	return err
}

// step is one call of a client, repeated at another node while the answer is UNAVAILABLE. Another error is counted.
func (f *fleet) step(ctx context.Context, client int, t *tally) error {
	space := rand.IntN(f.spaces)
	if rand.IntN(4) > 0 { // most users come back
		space = rand.IntN(min(f.spaces, 500))
	}
	add := rand.IntN(5) == 0
	req := addRequest(&f.b.next, 1)
	req.Space = spaceName(space)
	began := time.Now()
	for tries := 0; ; tries++ {
		node := f.nodes[rand.IntN(fleetNodes)]
		var err error
		if add {
			err = f.addOne(ctx, node, client, req)
		} else {
			err = f.search(ctx, node, client, req.Space, wordOf(space))
		}
		switch {
		case grpcstatus.Code(err) == codes.Unavailable && ctx.Err() == nil:
			time.Sleep(5 * time.Millisecond)
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.repeated += tries
		if err != nil {
			fmt.Fprintf(f.b.log, "space %s: %v\n", req.Space, err)
			t.failed[grpcstatus.Code(err)]++
			return nil
		}
		t.calls.calls = append(t.calls.calls, time.Since(began))
		if add {
			t.added[space] = append(t.added[space], req.Items[0].Content)
		}
		return nil
	}
}

// addOne adds a memory; one that a call before has added, whose reply was lost, is a duplicate.
func (f *fleet) addOne(ctx context.Context, d *process.Server, client int, req *memsidecarv1.MemoryServiceAddRequest) error {
	conn, err := d.Client(client)
	if err == nil {
		_, err = memsidecarv1.NewMemoryServiceClient(conn).Add(ctx, req)
	}
	return err
}

// current is the process of a node, of which those before were killed.
func (f *fleet) current(i int) *process.Server {
	for _, again := range slices.Backward(f.again) {
		if again.Socket == f.nodes[i].Socket {
			return again
		}
	}
	return f.nodes[i]
}

// peak notes how much the process of a node had resident at most.
func (f *fleet) peak(i int) error {
	mib, err := status(f.current(i).PID(), "VmHWM")
	f.peaks[i] = max(f.peaks[i], mib)
	return err
}

// kill kills a node and starts it again.
func (f *fleet) kill(ctx context.Context, i int) error {
	if err := errors.Join(f.peak(i), f.current(i).Kill()); err != nil {
		return err
	}
	node, err := process.Start(ctx, f.b.bin, filepath.Join(f.b.dir, fmt.Sprint("node", i)), f.nodes[i].Socket, nodeLimit)
	if err == nil {
		f.again = append(f.again, node)
	}
	return err
}

// lost counts the acknowledged memories that a node does not list, and does not look again for those that it lists.
func (f *fleet) lost(ctx context.Context, t *tally) (lost int, err error) {
	for space, contents := range t.added {
		held, err := f.contents(ctx, space)
		if err != nil {
			return 0, err
		}
		missing := slices.DeleteFunc(contents, func(content string) bool { return held[content] })
		if lost += len(missing); len(missing) == 0 {
			delete(t.added, space)
		} else {
			t.added[space] = missing
		}
	}
	return lost, nil
}

// contents are those of the memories that a node lists in a space.
func (f *fleet) contents(ctx context.Context, space int) (map[string]bool, error) {
	conn, err := f.nodes[0].Client(0)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for token := ""; ; {
		res, err := memsidecarv1.NewMemoryServiceClient(conn).List(ctx,
			&memsidecarv1.MemoryServiceListRequest{Space: spaceName(space), PageSize: 1000, PageToken: token})
		if err != nil {
			return nil, err
		}
		for _, m := range res.GetMemories() {
			held[m.GetContent()] = true
		}
		if token = res.GetNextPageToken(); token == "" {
			return held, nil
		}
	}
}
