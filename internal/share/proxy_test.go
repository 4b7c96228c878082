package share_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// direction is the way that bytes take through a proxy.
type direction int

const (
	toServer direction = iota
	toClient
)

// proxy passes connections on to a server, and asks before it passes on a piece.
type proxy struct {
	listener net.Listener

	mu sync.Mutex
	// server is where new connections lead. Guarded by mu.
	server *postgres.Server
	// open are the connections of clients. Guarded by mu.
	open []net.Conn
	// judge decides about a piece; nil passes everything on. Guarded by mu.
	judge func(direction) verdict
}

// verdict is what happens to a piece and its connection.
type verdict int

const (
	pass   verdict = iota
	cut            // the piece is lost, and both sides are closed
	halve          // the piece is lost, and this direction is closed
	dawdle         // it arrives later
)

// newProxy starts a proxy before a server. It ends with the test.
func newProxy(t *testing.T, server *postgres.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{listener: l, server: server}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

// address is that of a database through the proxy.
func (p *proxy) address(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.listener.Addr(), database)
}

// set sets what decides about pieces.
func (p *proxy) set(judge func(direction) verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// move closes all connections, and leads new ones to another server.
func (p *proxy) move(server *postgres.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *proxy) decide(way direction) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge == nil {
		return pass
	}
	return p.judge(way)
}

// serve passes one connection on until both directions have ended.
func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	socket := p.server.Socket()
	p.open = append(p.open, client)
	p.mu.Unlock()
	server, err := net.Dial("unix", socket)
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pipe(server, client, toServer) })
	both.Go(func() { p.pipe(client, server, toClient) })
	both.Wait()
	_, _ = client.Close(), server.Close()
}

func (p *proxy) pipe(to, from net.Conn, way direction) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			switch p.decide(way) {
			case cut:
				_, _ = to.Close(), from.Close()
				return
			case halve:
				err = io.EOF
				n = 0
			case dawdle:
				time.Sleep(20 * time.Millisecond)
			}
			if _, writeErr := to.Write(buf[:n]); writeErr != nil && err == nil {
				err = writeErr
			}
		}
		if err != nil {
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}

// longTests is the variable that has tests of this package run in full, which takes minutes.
const longTests = "MEMSIDECAR_TEST_SHARE_LONG"

// TestCutAtEachStatement cuts the connection of a machine at each message to and from the server while it joins, sends,
// receives and leaves. What was acknowledged is in the log once, and everybody holds the same. Without the variable it
// cuts at a few of the places only.
func TestCutAtEachStatement(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address, p := pg.Database(t, "cuts"), newProxy(t, pg)
	a := start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, a.share.SetLogs("team", true))
	a.log(today(), "first", "an entry from before")
	step := 9
	if os.Getenv(longTests) != "" {
		step = 1
	}
	for _, way := range []direction{toServer, toClient} {
		cuts := 0
		for n := 1; ; n += step {
			if !cutAt(t, a, p, way, n) {
				break
			}
			cuts++
		}
		if cuts < 30/step {
			t.Errorf("only %d cuts in direction %d", cuts, way)
		}
		t.Logf("direction %d: %d cuts", way, cuts)
	}
}

// cutAt has a new machine join, send, receive and leave, cuts its connection at piece n in a direction, and reports
// whether there was one.
func cutAt(t *testing.T, a *node, p *proxy, way direction, n int) (hit bool) {
	t.Helper()
	name, pieces := fmt.Sprintf("d%dn%d", way, n), 0
	p.set(func(w direction) verdict { // called with a lock held
		if w == way {
			pieces++
		}
		if w == way && pieces == n {
			hit = true
			return cut
		}
		return pass
	})
	c := start(t, crashfs.New())
	if err := c.share.Join(t.Context(), "team", "team", p.address("cuts"), false); err != nil {
		must(t, c.share.Join(t.Context(), "team", "team", p.address("cuts"), false))
	}
	must(t, c.share.SetLogs("team", true))
	c.update(func(tx *store.Tx) error {
		return errors.Join(tx.Put(memtest.Fact(name+"x", "the first of "+name)),
			tx.AppendEntry(today(), logEntry(name+"x", "an entry of "+name)))
	})
	c.add(name+"y", "the second of "+name)
	a.add(name+"a", "for "+name)
	eventually(t, func() string {
		return map[bool]string{true: "", false: "not exchanged at " + name}[a.content(name+"x") != "" &&
			a.content(name+"y") != "" && c.content(name+"a") != ""]
	})
	settled(t, a, c)
	sameLogs(t, a, c)
	must(t, c.share.Leave(t.Context(), "team", false))
	p.set(nil)
	got := query(t, p.address("cuts"), "SELECT count(*)::text FROM memsidecar.log WHERE origin = '"+c.store.Origin()+"'")
	if got != "2" {
		t.Errorf("cut at %s: %s rows of two operations", name, got)
	}
	c.stop()
	return hit
}

// TestBadNetwork: connections that are cut, closed in one direction and slow, by chance, lose and double nothing.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address, p := pg.Database(t, "network"), newProxy(t, pg)
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, b.share.Join(t.Context(), "team", "team", p.address("network"), false))
	must(t, errors.Join(a.share.SetLogs("team", true), b.share.SetLogs("team", true)))
	rng := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	faults := map[verdict]int{} // guarded by mu
	p.set(func(direction) verdict {
		v := pass
		switch r := rng.IntN(100); { // the lock of the proxy is held
		case r < 5:
			v = cut
		case r < 10:
			v = halve
		case r < 20:
			v = dawdle
		}
		mu.Lock()
		defer mu.Unlock()
		faults[v]++
		return v
	})
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return min(faults[cut], faults[halve], faults[dawdle]) >= 2
	}
	operations := 0
	for ; operations < 30 || !enough() && operations < 1000; operations++ {
		a.add(fmt.Sprint("a", operations), fmt.Sprint("memory of a, number ", operations))
		b.update(func(tx *store.Tx) error {
			id := fmt.Sprint("b", operations)
			return errors.Join(tx.Put(memtest.Fact(id, fmt.Sprint("memory of b, number ", operations))),
				tx.AppendEntry(today(), logEntry(id, "an entry of b")))
		})
		time.Sleep(20 * time.Millisecond)
	}
	p.set(nil)
	settled(t, a, b)
	if n := sameLogs(t, a, b); n != operations {
		t.Errorf("%d entries, want %d", n, operations)
	}
	if got := query(t, address, "SELECT count(*)::text FROM memsidecar.log"); got != fmt.Sprint(2*operations) {
		t.Errorf("%s rows of %d operations", got, 2*operations)
	}
	if got := a.store.Space("team").Count(); got != 2*operations+1 {
		t.Errorf("%d memories, want %d", got, 2*operations+1)
	}
	if !enough() {
		t.Errorf("faults: %v, want two of each", faults)
	}
	t.Logf("%d operations each, %v", operations, faults)
}
