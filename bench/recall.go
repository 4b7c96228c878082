package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// promptsPerSession is after how many recalls a client begins another session: within one, nothing is shown twice.
const promptsPerSession = 20

// Recall answers with a block of the usual size.
func (echo) Recall(_ context.Context, req *memsidecarv1.SearchServiceRecallRequest) (
	*memsidecarv1.SearchServiceRecallResponse, error) {
	began := time.Now()
	res := &memsidecarv1.SearchServiceRecallResponse{Language: memsidecarv1.Language_LANGUAGE_EN}
	if steps, ok := stepsOf(req.GetText()); ok {
		if compute(steps) == 0 {
			res.Reason = "never: it keeps the compiler from leaving the work out"
		}
		res.Tokens = int32(time.Since(began).Microseconds())
	}
	for i := range 3 {
		m := echoMemory(i)
		res.Items = append(res.Items, &memsidecarv1.RecalledMemory{Memory: m, Space: "default", Score: 1,
			Text: m.Content, Age: "today"})
		res.Block += m.Content + "\n"
	}
	return res, nil
}

// recalls measures what a prompt costs: in the server, over the socket, and as the process that a hook starts.
func (b *bench) recalls(ctx context.Context, d, e *process.Server, size int, _ []string) error {
	for _, clients := range []int{1, 8} {
		r, err := b.recalling(ctx, "Recall", d, e, size, clients)
		if err != nil {
			return err
		}
		if r != nil && clients == 8 && !b.words {
			b.limitRecall(r)
		}
	}
	if err := b.unhurried(ctx, d, size); err != nil {
		return err
	}
	return b.recallProcesses(ctx, d, e, size)
}

// recalling measures recalls, and returns the row of what they took in the server, nil when its log has none.
func (b *bench) recalling(ctx context.Context, name string, d, e *process.Server, size, clients int) (*row, error) {
	var calls, shown serial // of the last turn, which is the daemon's
	_, err := b.reading(ctx, name, d, e, size, clients, func(s *process.Server) (call, error) {
		calls, shown = serial{}, serial{}
		return b.recaller(s, size, clients, func(res *memsidecarv1.SearchServiceRecallResponse) {
			calls.take()
			shown.n.Add(int64(len(res.GetItems())))
		})
	})
	if err != nil {
		return nil, err
	}
	if size > 0 && shown.n.Load() == 0 {
		return nil, fmt.Errorf("%d recalls showed nothing at all", calls.n.Load())
	}
	if clients == 1 {
		b.report.value("memories per recall", size, float64(shown.n.Load())/float64(max(1, calls.n.Load())), "")
	}
	return b.inServer(ctx, d, e, name, memsidecarv1.SearchService_Recall_FullMethodName, size, clients)
}

// limitRecall sets the target of eight clients' recalls in the server.
func (b *bench) limitRecall(r *row) {
	switch {
	case r.Memories != 100_000:
	case !b.words:
		r.limit(r.P99, 25_000, "p99 ≤ 25 ms")
	default:
		r.limit(r.P99, 2000, "p99 ≤ 2 ms")
	}
}

// recallsApart measures recalls of eight clients without a pause that leave half of the processors to the daemon: on
// processors that they share, p99 is what the system makes of more threads than processors. No daemon has data open.
func (b *bench) recallsApart(ctx context.Context, data string, size int) (err error) {
	var d, e *process.Server
	restore, err := process.Aside(func() error {
		var err error
		if d, err = b.start(ctx, data); err == nil {
			e, err = b.startEcho(ctx)
		}
		return err
	})
	defer func() {
		for _, s := range []*process.Server{d, e} {
			if s != nil {
				err = errors.Join(err, s.Stop())
			}
		}
	}()
	if errors.Is(err, process.ErrOneProcessor) {
		fmt.Fprintf(b.log, "%7d memories: no recalls with processors apart: %v\n", size, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	r, err := b.recalling(ctx, "Recall, processors apart", d, e, size, 8)
	if err == nil && r != nil {
		b.limitRecall(r)
	}
	return err
}

// recaller makes the call of a client that recalls for one prompt after another.
func (b *bench) recaller(s *process.Server, size, clients int,
	then func(*memsidecarv1.SearchServiceRecallResponse)) (call, error) {
	cs := make([]memsidecarv1.SearchServiceClient, clients)
	for i := range cs {
		conn, err := s.Client(i)
		if err != nil {
			return nil, err
		}
		cs[i] = memsidecarv1.NewSearchServiceClient(conn)
	}
	return func(ctx context.Context, c int) error {
		n := b.next.take()
		res, err := cs[c].Recall(ctx, &memsidecarv1.SearchServiceRecallRequest{
			Text: newQuery(n, size), SessionId: fmt.Sprintf("s%d-%d", c, n/promptsPerSession/clients),
		})
		then(res)
		return err
	}, nil
}

// unhurried has eight clients recall that think for a moment between two prompts, 40 ms in the mean, instead of
// keeping every processor busy without a pause: some 200 recalls a second.
func (b *bench) unhurried(ctx context.Context, d *process.Server, size int) error {
	const clients = 8
	recall, err := b.recaller(d, size, clients, func(*memsidecarv1.SearchServiceRecallResponse) {})
	if err != nil {
		return err
	}
	if _, err := d.Handled(memsidecarv1.SearchService_Recall_FullMethodName); err != nil { // the calls before these
		return err
	}
	all, err := load(ctx, clients, 2*time.Duration(b.rounds)*b.slice, mostCalls,
		func(ctx context.Context, c int) error {
			thought := time.NewTimer(time.Duration(rand.Int64N(int64(80 * time.Millisecond))))
			defer thought.Stop()
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-thought.C:
				return recall(ctx, c)
			}
		})
	if err != nil {
		return err
	}
	took, err := d.Handled(memsidecarv1.SearchService_Recall_FullMethodName)
	if err != nil || len(took) == 0 {
		return err
	}
	s := sample{elapsed: all.elapsed}
	s.merge(sample{calls: took})
	b.limitRecall(b.report.timed("Recall, in the server, with 40 ms between two prompts", size, clients, s))
	return nil
}

// recallProcesses compares the processes that recall for a prompt with one that makes a gRPC call and does nothing
// else.
func (b *bench) recallProcesses(ctx context.Context, d, e *process.Server, size int) error {
	run := func(cmd func() *exec.Cmd) func() (sample, error) {
		return func() (sample, error) {
			return load(ctx, 1, b.slice, mostCalls, func(context.Context, int) error {
				c := cmd()
				if out, err := c.CombinedOutput(); err != nil {
					return fmt.Errorf("%s: %w: %s", c, err, out)
				}
				return nil
			})
		}
	}
	recall := func(socket string, more ...string) func() (sample, error) {
		return run(func() *exec.Cmd {
			n := b.next.take()
			args := append([]string{"recall", newQuery(n, size), "--session",
				fmt.Sprint("h", n/promptsPerSession)}, more...)
			cmd := exec.Command(b.bin, append(args, "--data", b.dataDir(size), "--socket", socket, "--no-start")...)
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+b.dataDir(size)+".state", "XDG_CONFIG_HOME="+
				b.dataDir(size)+".config")
			return cmd
		})
	}
	silent, err := b.silence()
	if err != nil {
		return err
	}
	defer silent.Close()
	s, err := b.turns(
		run(func() *exec.Cmd { return b.minimalCall(e.Socket) }),
		recall(d.Socket), recall(d.Socket, "--or-nothing", "--timeout", "10s"),
		recall(b.socket(), "--or-nothing"), recall(silent.Addr().String(), "--or-nothing"))
	if err != nil {
		return err
	}
	b.report.timed("floor: a process that makes one gRPC call", size, 1, s[0])
	for i, name := range []string{"memsidecar recall", "memsidecar recall --or-nothing"} {
		r := b.report.timed(name, size, 1, s[i+1])
		r.compare("p50 of the process", p50s, s[i+1], s[0])
		if b.words {
			r.limit(r.P50, 10_000, "p50 ≤ 10 ms")
		} else {
			r.limit(r.P50, 25_000, "p50 ≤ 25 ms")
		}
	}
	for i, name := range []string{"the same, no daemon", "the same, a daemon that does not answer"} {
		r := b.report.timed(name, size, 1, s[i+3])
		r.compare("p50 of the process", p50s, s[i+3], s[0])
		r.limit(r.P50, 50_000, "p50 ≤ 50 ms")
	}
	return nil
}

// minimalCall is a process that makes one call with a prompt.
func (b *bench) minimalCall(socket string) *exec.Cmd {
	cmd := exec.Command(b.least, socket, memsidecarv1.SearchService_Recall_FullMethodName)
	request, err := proto.Marshal(&memsidecarv1.SearchServiceRecallRequest{Text: query(1)})
	if err == nil {
		cmd.Stdin = bytes.NewReader(request)
	}
	return cmd
}

// silence is a socket behind which nobody answers.
func (b *bench) silence() (net.Listener, error) {
	socket := b.socket()
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, err
	}
	return net.Listen("unix", socket)
}
