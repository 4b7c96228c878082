// Command bench measures the real daemon, as a client sees it, beside the floors that the machine sets: an echo over
// the same kind of socket with messages of the same size, an append and fsync of the same bytes, the decoding of the
// same file. Floors and figures are taken in turn in one run, so that their ratio means something on any machine.
//
//	go run ./bench [--quick] [--only add,search] [--sizes 0,10000] [--words] [--dir DIR] [--bin FILE] [--json]
//	go run ./bench --only memory,add,context --random-vectors --sizes 1000000
//	go run ./bench --against FILE
//
// It starts daemons of its own on temporary directories, with the default settings, and touches no other. With --words,
// recalls are measured a second time with half of the processors for the servers and half for the clients, where there
// are two. At its end it lists the targets, and ends with code 1 when one was missed in all rounds.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// The names that --only takes, in the order they run.
var scenarios = []string{"written", "add", "batch", "get", "list", "search", "recall", "checkpoint", "journal", "sync",
	"start", "memory", "context", "reflect", "hook", "disk", "sqlite", "embedding", "spaces", "archive", "shared", "fleet"}

// ownStores are the scenarios that fill stores for themselves.
var ownStores = []string{"embedding", "spaces", "archive", "shared", "fleet"}

// bench is one run. Its fields do not change once it has started, the report excepted, which only the main goroutine
// fills.
type bench struct {
	dir    string // of this run, removed at its end
	bin    string // the daemon
	self   string // this program, for the child processes of the floors
	least  string // bench/minimal
	other  string // another daemon, to compare this one with; "" for none
	only   []string
	words  bool          // without the models inside, which are the default
	random bool          // the store is filled with random vectors, see randomVectors
	sizes  []int         // memories in the store before the measurement
	spaces int           // how many spaces the scenario of that name fills
	each   int           // memories of each of them
	rounds int           // how often floor and figure are taken in turn
	slice  time.Duration // how long one of them runs
	starts int           // how often a cold start is timed
	settle time.Duration // wait before resident memory is read
	// How long the scenario fleet mixes load, and after how long of it each node in turn is killed.
	fleetLoad, fleetKill time.Duration

	log    io.Writer // progress, for people
	report report
	next   serial // makes every memory another one
}

// run measures the scenarios that the flags name and prints a report.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 2 && args[0] == childEcho {
		return serveEcho(args[1], stdin)
	}
	if len(args) == 2 && args[0] == childDecode {
		return decode(args[1], stdout)
	}
	b, asJSON, err := configure(args, stderr)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // a leftover below the temporary directory harms nobody
	if b.bin == "" {
		if b.bin, err = process.Build(ctx, b.dir, "cmd/memsidecar", stderr); err != nil {
			return err
		}
	}
	if b.least, err = process.Build(ctx, b.dir, "bench/minimal", stderr); err != nil {
		return err
	}
	if b.other != "" {
		return b.against(ctx, b.other, stdout)
	}
	b.report.Machine = describe(b.dir)
	for _, size := range b.sizes {
		if len(b.only) == 1 && slices.Contains(ownStores, b.only[0]) {
			break
		}
		if err := b.measure(ctx, size); err != nil {
			return fmt.Errorf("store of %d memories: %w", size, err)
		}
	}
	b.acrossSizes()
	if size := slices.Max(b.sizes); b.wants("embedding") && size > 0 && !b.words {
		if err := b.besideEmbedding(ctx, size); err != nil {
			return fmt.Errorf("embedding: %w", err)
		}
	}
	if b.wants("spaces") {
		if err := b.repeat(func() error { return b.manySpaces(ctx, b.spaces) }); err != nil {
			return fmt.Errorf("%d spaces: %w", b.spaces, err)
		}
	}
	if b.wants("archive") {
		if err := b.repeat(func() error { return b.archiving(ctx) }); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
	}
	if b.wants("fleet") {
		if err := b.fleet(ctx, b.spaces); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	if b.wants("shared") {
		if err := b.shared(ctx, slices.Max(b.sizes)); err != nil {
			return fmt.Errorf("shared: %w", err)
		}
	}
	write := b.report.writeTable
	if asJSON {
		write = b.report.writeJSON
	}
	if err := write(stdout); err != nil {
		return err
	}
	if b.rounds == 1 { // of one round nothing can be said
		return nil
	}
	return b.report.verdict()
}

// repeat runs a scenario that measures once. While it misses a target it runs again, as often as other scenarios have
// rounds: a target that one run met was missed by noise.
func (b *bench) repeat(scenario func() error) error {
	first := len(b.report.Rows)
	for run := 1; ; run++ {
		now := len(b.report.Rows)
		if err := scenario(); err != nil {
			return err
		}
		if run > 1 {
			b.report.joinRuns(first, now)
		}
		if run >= b.rounds || !slices.ContainsFunc(b.report.Rows[first:], (*row).missed) {
			return nil
		}
	}
}

// configure parses the flags. asJSON selects the output.
func configure(args []string, stderr io.Writer) (*bench, bool, error) {
	b := &bench{rounds: 3, slice: 2 * time.Second, starts: 7, settle: 10 * time.Second, log: stderr}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	quick := fs.Bool("quick", false, "small stores and short runs: shows that everything works, not how fast it is")
	only := fs.String("only", "", "comma-separated scenarios: "+strings.Join(scenarios, ", "))
	sizes := fs.String("sizes", "", "comma-separated numbers of memories (default 0,1000,10000)")
	fs.IntVar(&b.spaces, "spaces", 10_000, "spaces of the scenarios spaces and fleet")
	fs.IntVar(&b.each, "each", memoriesOfSpace, "memories of each space of the scenario spaces")
	fs.DurationVar(&b.fleetLoad, "fleet-load", 0, "how long the scenario fleet mixes load (default half a minute)")
	fs.DurationVar(&b.fleetKill, "fleet-kill", 0, "after how long of it one node after another is killed (default 4 s)")
	dir := fs.String("dir", "", "where to put the data; must be on the kind of disk you want to know about (default "+
		"the temporary directory)")
	fs.StringVar(&b.bin, "bin", "", "measure this binary instead of building one")
	fs.BoolVar(&b.words, "words", false, "without the models inside: searches and recalls by words alone")
	fs.BoolVar(&b.random, "random-vectors", false, "fill stores with vectors of random directions, which needs no "+
		"hours for a million memories; without --words")
	fs.StringVar(&b.other, "against", "", "compare with this other binary, for half a minute, and do nothing else")
	asJSON := fs.Bool("json", false, "print JSON")
	if err := fs.Parse(args); err != nil {
		return nil, false, err
	}
	if b.random && b.words {
		return nil, false, errors.New("--random-vectors: with --words there are no vectors")
	}
	list := "0,1000,10000"
	if *quick {
		list, b.rounds, b.slice, b.starts, b.settle = "0,1000", 1, 200*time.Millisecond, 2, time.Second
		b.spaces = min(b.spaces, 200)
	}
	b.fleetKill = cmp.Or(b.fleetKill, 2*b.slice)
	b.fleetLoad = cmp.Or(b.fleetLoad, fleetRounds*b.fleetKill)
	if *sizes != "" {
		list = *sizes
	}
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return nil, false, fmt.Errorf("--sizes: %q is not a number of memories", s)
		}
		b.sizes = append(b.sizes, n)
	}
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	for _, s := range b.only {
		if !slices.Contains(scenarios, s) {
			return nil, false, fmt.Errorf("--only: there is no scenario %q; there are %s", s,
				strings.Join(scenarios, ", "))
		}
	}
	if slices.Contains(b.only, "embedding") && (b.words || slices.Max(b.sizes) == 0) {
		return nil, false, errors.New("--only embedding: nothing is embedded with --words, or without memories")
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return nil, false, err
	}
	b.dir, err = os.MkdirTemp(*dir, "msbench") // short: socket paths are limited to 107 bytes
	return b, *asJSON, err
}

// wants reports whether the flags name a scenario.
func (b *bench) wants(scenario string) bool {
	return len(b.only) == 0 || slices.Contains(b.only, scenario)
}

// wantsApart says whether recalls are measured with processors apart, too. With the models, half of the processors
// would be half of the models' time.
func (b *bench) wantsApart() bool { return b.wants("recall") && b.words }

// measure fills a store with size memories and runs all scenarios wanted on it.
func (b *bench) measure(ctx context.Context, size int) (err error) {
	data := filepath.Join(b.dir, fmt.Sprintf("d%d", size))
	fmt.Fprintf(b.log, "%7d memories: filling\n", size)
	d, ids, err := b.filled(ctx, data, size)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	defer func() {
		if d != nil {
			err = errors.Join(err, b.stop(d))
		}
	}()
	if b.wants("written") { // since the start
		if err := b.written(ctx, data, size); err != nil {
			return fmt.Errorf("written: %w", err)
		}
	}
	// What needs the store at its exact size comes first; adding changes it.
	if size > 0 && (b.wants("start") || b.wants("memory") || b.wants("disk") || b.wantsApart()) {
		if err := b.stop(d); err != nil {
			return err
		}
		if err := b.restarted(ctx, data, size, ids[0]); err != nil {
			return err
		}
		if d, err = b.start(ctx, data); err != nil {
			return err
		}
	}
	e, err := b.startEcho(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Stop()) }()
	// What only reads comes first: additions by many clients leave a larger store, which is embedded for minutes.
	for _, s := range []struct {
		name string
		run  func(context.Context, *process.Server, *process.Server, int, []string) error
	}{
		{"get", b.gets}, {"list", b.lists}, {"search", b.searches}, {"sqlite", b.sqliteSearches}, {"recall", b.recalls},
		{"context", b.contexts}, {"hook", b.hooks}, {"add", b.adds}, {"batch", b.batches},
		{"checkpoint", b.checkpoints}, {"journal", b.journal}, {"sync", b.syncs},
		{"sqlite", b.sqliteAdds}, {"reflect", b.reflections},
	} {
		if !b.wants(s.name) {
			continue
		}
		fmt.Fprintf(b.log, "%7d memories: %s\n", size, s.name)
		if err := s.run(ctx, d, e, size, ids); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// restarted measures daemons of its own on data, which no other has open.
func (b *bench) restarted(ctx context.Context, data string, size int, id string) error {
	if b.wants("disk") {
		if err := b.disk(ctx, data, size); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.log, "%7d memories: daemons started anew\n", size)
	if err := b.cold(ctx, data, size, id); err != nil {
		return err
	}
	if b.wantsApart() {
		return b.recallsApart(ctx, data, size)
	}
	return nil
}

// withoutModels is the setting of a daemon that searches by words alone.
const withoutModels = "embeddings_inside: false"

// settings writes the configuration of the daemon on data: the defaults, or without the models inside, and more lines.
func (b *bench) settings(data string, more ...string) error {
	dir := filepath.Join(data+".config", "memsidecar")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := ""
	if b.words {
		text = withoutModels + "\n"
	}
	for _, line := range more {
		text += line + "\n"
	}
	return os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600)
}

// embedded returns when nothing waits for its vector: of 10,000 memories that is after two minutes on two processors.
// It says now and then how many wait.
func (b *bench) embedded(ctx context.Context, d *process.Server, size int) error {
	for second := 0; ; second++ {
		waiting, err := waitingIn(ctx, d)
		if err != nil || waiting == 0 {
			return err
		}
		if second%10 == 0 {
			fmt.Fprintf(b.log, "%7d memories: %d wait for their vectors\n", size, waiting)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// waitingIn is how many memories of a daemon wait for their vectors.
func waitingIn(ctx context.Context, d *process.Server) (n int, err error) {
	conn, err := d.Client(0)
	if err != nil {
		return 0, err
	}
	res, err := memsidecarv1.NewMemoryServiceClient(conn).Stats(ctx, &memsidecarv1.MemoryServiceStatsRequest{})
	for _, s := range res.GetSpaces() {
		n += int(s.GetEmbeddingPending())
	}
	return n, err
}

// start starts a daemon on data and waits until it serves.
func (b *bench) start(ctx context.Context, data string) (*process.Server, error) {
	return process.Start(ctx, b.bin, data, b.socket())
}

// stop stops a daemon. One that ends before all is saved, because its time is over, is no error: a large store needs
// more, and the next start makes what is missing.
func (b *bench) stop(d *process.Server) error {
	err := d.Stop()
	if err != nil && strings.Contains(err.Error(), "the stop takes too long") {
		fmt.Fprintln(b.log, "a daemon had too little time to save all when it was stopped")
		return nil
	}
	return err
}

// socket is a path for a socket that nothing uses yet.
func (b *bench) socket() string { return filepath.Join(b.dir, fmt.Sprintf("s%d", b.next.take()), "s") }
