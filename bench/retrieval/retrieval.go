// Command retrieval measures how well the real daemon finds things: it loads evaluation sets over the socket and asks
// their questions, as a client does.
//
//	go run ./bench/retrieval [--profile balanced] [--arm keyword|vector|fusion] [--half a|b] [--quick] [--json] [--bin FILE] DIR
//	go run ./bench/retrieval --suite precisionmembench|forgeteval DIR
//	go run ./bench/retrieval --reliability [--half a|b] DIR
//	go run ./bench/retrieval --mirror DATABASE [--half a|b] DIR
//	go run ./bench/retrieval --embeddings URL --embeddings-model NAME DIR
//
// The arms vector and fusion go by the model inside, or by a server with /v1/embeddings, which is no part of this
// project; a key can come from the variable RETRIEVAL_KEY. What is asked is asked once every memory has its vector.
//
// The sets paraphrase-en, -zh and -cross are in bench/retrieval/testdata. Their questions are asked as searches and,
// in rows that begin with "implicit", as prompts of an agent. Beside them, bursts has two chats of short messages, in
// which several in a row belong together; no weight may be chosen on it. bench/retrieval/fitdata has the same of more
// people, for the fit of the gate of implicit recall, and bench/heldout of people whom no weight may be chosen on.
//
// With --reliability it compares the probabilities behind the strengths of hits with how many are relevant.
//
// With --mirror it compares the daemon's search with that of the mirror (docs/shared.md): it shares every space through an
// empty database, which must have pgvector, and asks both.
//
// DIR holds one folder per set. Its corpus.jsonl has one memory a line: id, conv, text, and optionally time, session,
// tags, scope (the first is the category), status, pinned, salience. Its queries.jsonl has id, conv, text, relevant
// (ids), and optionally category, time, scope. Every conv becomes a space. Other sets are no part of this project.
//
// With --suite, DIR is that of a behaviour suite instead: PrecisionMemBench (beliefs.json, cases.json: does a list hold
// what bears on the question, and nothing else?) or ForgetEval (templated_*.jsonl: is what was changed, deleted or
// purged by its description gone, and everything else there?).
//
// Intervals are of 95 %, from 1,000 samples drawn with replacement from the queries of each set; with the same seed
// every time, so that two runs on the same ranking print the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "retrieval:", err)
		os.Exit(1)
	}
}

// options of a run.
type options struct {
	dir     string // of the sets
	bin     string // the daemon; "" builds it
	profile memsidecarv1.RankingProfile
	name    string // of the profile
	half    string // "a" or "b": only every other conversation of each set; "" all
	quick   bool   // leave out what changes the store
	json    bool
	arm     memsidecarv1.SearchArm
	server  embeddings
	suite   string // precisionmembench or forgeteval; "" measures retrieval sets
	data    string // directory of the daemon's data
	// reliability measures the strengths of hits instead.
	reliability bool
	mirror      string // database; compares the search of its mirror instead
}

// meant reports whether meaning is to take part.
func (o *options) meant() bool { return o.arm != memsidecarv1.SearchArm_SEARCH_ARM_KEYWORD }

// configure reads the flags. A name that does not exist is an error before the daemon starts: a run takes
// minutes.
func configure(args []string, stderr io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("retrieval", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.name, "profile", "balanced", "ranking profile: balanced, product, weighted, overlap, recent")
	fs.StringVar(&o.half, "half", "", "a or b: ask only the first, third, … or the second, fourth, … conversation of "+
		"each set (of a set with one: query)")
	fs.BoolVar(&o.quick, "quick", false, "do not ask questions whose answer was removed")
	fs.BoolVar(&o.json, "json", false, "print JSON")
	fs.BoolVar(&o.reliability, "reliability", false, "print how reliable the strengths of hits are, and nothing else")
	fs.StringVar(&o.mirror, "mirror", "", "compare with the search of the mirror in this empty `database`, and nothing else")
	arm := fs.String("arm", "fusion", "keyword, fusion or vector")
	fs.StringVar(&o.server.URL, "embeddings", "", "base address of a server with /v1/embeddings")
	fs.StringVar(&o.server.model, "embeddings-model", "", "its model")
	fs.StringVar(&o.server.queryPrefix, "query-prefix", "", "put before queries, as some models want it")
	fs.StringVar(&o.server.textPrefix, "text-prefix", "", "put before memories, as some models want it")
	fs.StringVar(&o.bin, "bin", "", "measure this binary instead of building one")
	fs.StringVar(&o.suite, "suite", "", "run a behaviour suite: precisionmembench or forgeteval")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() != 1 {
		return o, errors.New("name one directory of evaluation sets")
	}
	o.dir = fs.Arg(0)
	n, ok := memsidecarv1.RankingProfile_value["RANKING_PROFILE_"+strings.ToUpper(o.name)]
	if !ok || n == 0 {
		return o, fmt.Errorf("--profile: there is no profile %q", o.name)
	}
	o.profile = memsidecarv1.RankingProfile(n)
	if n, ok = memsidecarv1.SearchArm_value["SEARCH_ARM_"+strings.ToUpper(*arm)]; !ok || n == 0 {
		return o, fmt.Errorf("--arm: there is no arm %q", *arm)
	}
	o.arm = memsidecarv1.SearchArm(n)
	if o.suite != "" && o.suite != "precisionmembench" && o.suite != "forgeteval" {
		return o, fmt.Errorf("--suite: there is no suite %q", o.suite)
	}
	if o.half != "" && o.half != "a" && o.half != "b" {
		return o, fmt.Errorf("--half: %q is neither a nor b", o.half)
	}
	return o, nil
}

// run measures a daemon of its own in a temporary directory, with the defaults but for what the flags change.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := configure(args, stderr)
	if err != nil {
		return err
	}
	var sets []*set
	if o.suite == "" {
		if sets, err = readSets(o.dir); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "msret") // short: socket paths are limited to 107 bytes
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover below the temporary directory harms nobody
	if o.bin == "" {
		if o.bin, err = process.Build(ctx, dir, "cmd/memsidecar", stderr); err != nil {
			return err
		}
	}
	if o.suite == "forgeteval" {
		return measureForgetting(ctx, o, dir, stdout, stderr)
	}
	c, stop, err := o.start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if o.suite == "precisionmembench" {
		return c.measureBeliefs(ctx, o.dir, stdout, stderr)
	}
	o.data = filepath.Join(dir, "data")
	if o.reliability {
		return measureReliability(ctx, c, sets, o, stdout, stderr)
	}
	if o.mirror != "" {
		return compareMirror(ctx, c, sets, o, stdout, stderr)
	}
	r, err := measure(ctx, c, sets, o, stderr)
	if err != nil {
		return err
	}
	if o.json {
		return r.writeJSON(stdout)
	}
	return r.writeTable(stdout)
}

// start starts a daemon on an empty directory below dir and connects to it.
func (o *options) start(ctx context.Context, dir string) (c *client, stop func() error, err error) {
	if err := o.server.configure(filepath.Join(dir, "data.config"), o.meant()); err != nil {
		return nil, nil, err
	}
	o.data = filepath.Join(dir, "data")
	d, err := process.Start(ctx, o.bin, o.data, filepath.Join(dir, "run", "s"))
	if err != nil {
		return nil, nil, err
	}
	if c, err = connect(d, o.profile, o.arm); err != nil {
		return nil, nil, errors.Join(err, d.Stop())
	}
	return c, d.Stop, nil
}
