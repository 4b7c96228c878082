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

// sqlite times the same calls of the daemon and of SQLite with FTS5 behind gRPC, in turn, on stores that hold the same
// memories. Both answer after a sync.
func (b *bench) sqlite(ctx context.Context, d, _ *process.Server, size int, _ []string) (err error) {
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
	for _, f := range []struct {
		name     string
		clients  int
		take     func(s *process.Server, clients int) (sample, error)
		p50, p99 map[int]float64 // most of SQLite's times, by memories; 0 is for all
		rate     float64         // least of its rate
	}{
		{name: "Search", clients: 1, take: b.searching(ctx, size),
			p50: map[int]float64{1000: .5, 10_000: .3}, p99: map[int]float64{10_000: .2, 100_000: .2}},
		{name: "Add", clients: 1, take: func(s *process.Server, clients int) (sample, error) {
			return b.adding(ctx, s, clients, 1, mostAdds)
		}, p50: map[int]float64{0: .5}},
		{name: "Add", clients: 64, take: func(s *process.Server, clients int) (sample, error) {
			return b.adding(ctx, s, clients, 1, mostAdds)
		}, rate: 2.5},
		{name: "Add of 100", clients: 1, take: func(s *process.Server, clients int) (sample, error) {
			return b.adding(ctx, s, clients, batchSize, mostBatches)
		}, rate: 2},
	} {
		s, err := b.turns(
			func() (sample, error) { return f.take(p, f.clients) },
			func() (sample, error) { return f.take(d, f.clients) })
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		b.report.timed(f.name+", SQLite FTS5 behind gRPC", size, f.clients, s[0])
		r := b.report.timed(f.name+", beside SQLite", size, f.clients, s[1])
		if f.rate > 0 {
			r.compare("rate of SQLite", func(s []sample) (figure, floor float64) {
				return s[0].perSecond(), s[1].perSecond()
			}, s[1], s[0])
			r.atLeast(f.rate)
			continue
		}
		r.compare("p50 of SQLite", p50s, s[1], s[0])
		if most := max(f.p50[0], f.p50[size]); most > 0 {
			r.atMost(most)
		}
		if most := f.p99[size]; most > 0 {
			tail := b.report.timed(f.name+", p99 beside SQLite", size, f.clients, s[1])
			tail.compare("p99 of SQLite", p99s, s[1], s[0])
			tail.atMost(most)
		}
	}
	return nil
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
