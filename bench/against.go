package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// Size of a comparison of two programs: seconds, not minutes.
const (
	againstMemories = 1000
	againstRounds   = 7
	againstSlice    = 150 * time.Millisecond
	slower          = 1.2 // a ratio that is reported
)

// against measures the program beside another one, such as that of the commit before, in turn, and writes what each
// costs. It is no error when something became slower: on a busy machine that proves nothing, but somebody should look.
func (b *bench) against(ctx context.Context, other string, stdout io.Writer) (err error) {
	b.words, b.slice = true, againstSlice
	var pair [2]*process.Server
	bins := [2]string{other, b.bin}
	for i, bin := range bins {
		data := filepath.Join(b.dir, fmt.Sprintf("against%d", i))
		if err := b.settings(data); err != nil {
			return err
		}
		d, err := process.Start(ctx, bin, data, b.socket())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Stop()) }()
		if _, err := b.fill(ctx, d, againstMemories); err != nil {
			return err
		}
		pair[i] = d
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tBEFORE P50 µs\tNOW P50 µs\tRATIO\tROUNDS\t")
	for _, f := range b.comparisons(bins) {
		took := [2]sample{}
		var ratios []float64
		for range againstRounds {
			var round [2]float64
			for i, d := range pair {
				s, err := f.take(ctx, i, d)
				if err != nil {
					return fmt.Errorf("%s: %w", f.name, err)
				}
				took[i].merge(s)
				round[i] = us(s.at(.5))
			}
			ratios = append(ratios, round[1]/round[0])
		}
		slices.Sort(ratios)
		ratio, note := ratios[len(ratios)/2], ""
		if ratio > slower && ratios[1] > 1 { // in all rounds but one
			note = "SLOWER"
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t%.2f to %.2f\t%s\n", f.name, us(took[0].at(.5)), us(took[1].at(.5)), ratio,
			ratios[0], ratios[len(ratios)-1], note)
	}
	return w.Flush()
}

// comparison is a figure that is taken of two programs.
type comparison struct {
	name string
	take func(ctx context.Context, i int, d *process.Server) (sample, error)
}

// comparisons are the calls that an agent waits for.
func (b *bench) comparisons(bins [2]string) []comparison {
	calls := func(clients int, f func(ctx context.Context, c int, d *process.Server) error) func(context.Context, int,
		*process.Server) (sample, error) {
		return func(ctx context.Context, _ int, d *process.Server) (sample, error) {
			if _, err := d.Client(clients - 1); err != nil { // connections are not made while others are used
				return sample{}, err
			}
			return load(ctx, clients, b.slice, mostAdds, func(ctx context.Context, c int) error { return f(ctx, c, d) })
		}
	}
	search := func(ctx context.Context, c int, d *process.Server) error {
		conn, err := d.Client(c)
		if err != nil {
			return err
		}
		_, err = memsidecarv1.NewSearchServiceClient(conn).Search(ctx,
			&memsidecarv1.SearchServiceSearchRequest{Query: newQuery(b.next.take(), againstMemories), Limit: 10})
		return err
	}
	return []comparison{
		{"Add", func(ctx context.Context, _ int, d *process.Server) (sample, error) {
			return b.adding(ctx, d, 1, 1, mostAdds)
		}},
		{"Add of 100", func(ctx context.Context, _ int, d *process.Server) (sample, error) {
			return b.adding(ctx, d, 1, batchSize, mostBatches)
		}},
		{"Search", calls(1, search)},
		{"Search, 8 clients", calls(8, search)},
		{"Recall", calls(1, func(ctx context.Context, _ int, d *process.Server) error {
			conn, err := d.Client(0)
			if err != nil {
				return err
			}
			n := b.next.take()
			_, err = memsidecarv1.NewSearchServiceClient(conn).Recall(ctx, &memsidecarv1.SearchServiceRecallRequest{
				Text: newQuery(n, againstMemories), SessionId: fmt.Sprint("s", n/promptsPerSession)})
			return err
		})},
		{"Start of a session", calls(1, func(ctx context.Context, _ int, d *process.Server) error {
			conn, err := d.Client(0)
			if err != nil {
				return err
			}
			_, err = memsidecarv1.NewSessionServiceClient(conn).Start(ctx, &memsidecarv1.SessionServiceStartRequest{
				SessionId: fmt.Sprint("start-", b.next.take()), Context: &memsidecarv1.ContextOptions{}})
			return err
		})},
		{"memsidecar hook, a prompt", func(ctx context.Context, i int, d *process.Server) (sample, error) {
			return load(ctx, 1, b.slice, mostAdds, func(ctx context.Context, _ int) error {
				cmd := exec.CommandContext(ctx, bins[i], "hook", "--host", "claude-code", "prompt", "--socket", d.Socket,
					"--no-start")
				cmd.Env = []string{"HOME=" + filepath.Join(b.dir, fmt.Sprint("home", i))}
				n := b.next.take()
				cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s%d","cwd":"/","prompt":%q}`, n/promptsPerSession,
					newQuery(n, againstMemories)))
				return cmd.Run()
			})
		}},
	}
}
