package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// buildSQLite builds the server that memsidecar is compared with. It is a module of its own, which may have to be
// downloaded.
func (b *bench) buildSQLite(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the source tree: %w", err)
	}
	bin := filepath.Join(b.dir, "sqlite")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	build.Dir = filepath.Join(strings.TrimSpace(string(dir)), "tools", "sqlite")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tools/sqlite: %w: %s", err, out)
	}
	return bin, nil
}

// withSQLite calls f with a server that searches by SQLite with FTS5, and holds the memories of a store of that size.
func (b *bench) withSQLite(ctx context.Context, size int, f func(*process.Server) error) (err error) {
	bin, err := b.buildSQLite(ctx)
	if err != nil {
		return err
	}
	socket := filepath.Join(b.dir, fmt.Sprintf("sqlite%d", b.next.take()))
	cmd := exec.Command(bin, socket, socket+".db")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	p, err := process.Run(ctx, cmd, socket, stdin.Close)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if _, err := b.fill(ctx, p, size); err != nil {
		return fmt.Errorf("fill SQLite: %w", err)
	}
	return f(p)
}

// sqliteSearches times searches of the daemon and of SQLite in turn, on stores that hold the same memories.
func (b *bench) sqliteSearches(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	if size == 0 {
		return nil // nothing is found
	}
	search := b.searching(ctx, size)
	return b.withSQLite(ctx, size, func(p *process.Server) error {
		s, err := b.turns(
			func() (sample, error) { return search(p, 1) },
			func() (sample, error) { return search(d, 1) })
		if err != nil {
			return err
		}
		b.report.timed("Search, SQLite FTS5 behind gRPC", size, 1, s[0])
		r := b.report.timed("Search, beside SQLite", size, 1, s[1])
		r.compare("p50 of SQLite", p50s, s[1], s[0])
		if most := map[int]float64{1000: .5, 10_000: .3}[size]; most > 0 {
			r.atMost(most)
		}
		tail := b.report.timed("Search, p99 beside SQLite", size, 1, s[1])
		tail.compare("p99 of SQLite", p99s, s[1], s[0])
		if size >= 10_000 {
			tail.atMost(.2)
		}
		return nil
	})
}

// sqliteAdds times additions to the daemon and to SQLite in turn. Both answer after a sync, so one client waits about
// as long for either.
func (b *bench) sqliteAdds(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	return b.withSQLite(ctx, size, func(p *process.Server) error {
		for _, f := range []struct {
			name    string
			clients int
			items   int
			most    int
			least   float64 // of the rate of SQLite; 0 sets no target
		}{{"Add", 1, 1, mostAdds, 0}, {"Add", 64, 1, mostAdds, 2.5}, {"Add of 100", 1, batchSize, mostBatches, 0}} {
			add := func(s *process.Server) func() (sample, error) {
				return func() (sample, error) { return b.adding(ctx, s, f.clients, f.items, f.most) }
			}
			s, err := b.turns(add(p), add(d))
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			b.report.timed(f.name+", SQLite FTS5 behind gRPC", size, f.clients, s[0])
			r := b.report.timed(f.name+", beside SQLite", size, f.clients, s[1])
			r.compare("rate of SQLite", func(s []sample) (figure, floor float64) {
				return s[0].perSecond(), s[1].perSecond()
			}, s[1], s[0])
			if f.least > 0 {
				r.atLeast(f.least)
			}
		}
		return nil
	})
}

// searching takes a sample of searches for what was not asked before.
func (b *bench) searching(ctx context.Context, size int) func(s *process.Server, clients int) (sample, error) {
	return func(s *process.Server, clients int) (sample, error) {
		conn, err := s.Client(0)
		if err != nil {
			return sample{}, err
		}
		return load(ctx, clients, b.slice, mostCalls, func(ctx context.Context, _ int) error {
			res, err := memsidecarv1.NewSearchServiceClient(conn).Search(ctx,
				&memsidecarv1.SearchServiceSearchRequest{Query: newQuery(b.next.take(), size), Limit: 10})
			if err == nil && size > 0 && len(res.GetHits()) == 0 {
				err = errors.New("a search found nothing")
			}
			return err
		})
	}
}
