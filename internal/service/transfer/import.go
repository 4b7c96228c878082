package transfer

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// One operation imports at most so much; a session is never divided.
const (
	batchItems = 500
	batchBytes = 1 << 20
)

// maxAhead is how far in the future something may have been made: clocks of machines differ.
const maxAhead = 24 * time.Hour

// maxSkipped is how many skipped things a report names; all are counted.
const maxSkipped = 1000

// Reasons why something was not imported.
const (
	ReasonExists    = "ID_EXISTS" // something else has its id, or its place
	ReasonForgotten = "FORGOTTEN" // the user asked to forget it
	ReasonInvalid   = "INVALID"
)

// Options of an import.
type Options struct {
	Space  string // import everything into this space; "" is where each thing was
	DryRun bool   // only say what would be done
	Keep   bool   // what looks like a secret stays
}

// Report says what an import did or, in a dry run, would do.
type Report struct {
	Counts     []Count // by space and kind
	Skipped    []Skip  // at most the first 1,000
	Merged     []Merge // the same
	Redacted   []Taken // the same
	Operations []int64

	RedactedCount int64 // things from which something was taken out

	Adjusted      []Adjusted // at most the first 1,000
	AdjustedCount int64
}

// Taken is one thing from which something was taken out.
type Taken struct {
	Line       int64 // 0 in a memory.json
	Kind, ID   string
	Redactions []memory.Redaction
}

// Adjusted is one value that was out of its limits and was brought within them. Detail is for people and holds no
// memory text.
type Adjusted struct {
	Line       int64 // 0 in a memory.json
	ID, Detail string
}

// Count is the result for the things of one kind in one space.
type Count struct {
	Space, Kind          string // what is counted
	Added, Same, Skipped int64  // things
	Merged               int64  // said already by another memory; only of what comes from other systems
}

// Skip is one thing that was not imported. Detail is for people and holds no memory text.
type Skip struct {
	Line                     int64 // 0 in a memory.json
	Kind, ID, Reason, Detail string
}

// Import imports an export or a memory.json, as operations of actor import. Their reasons share a random name. Ids,
// times, sources, evidence and unknown fields are kept; texts are redacted as those of an Add. An equal thing that
// is there already is not written again, so an import may be repeated after any error. Another thing with the same
// id stays as it is, and forgotten values stay forgotten.
//
// What was imported before an error stays. Errors: those of r, *memory.InvalidError when the format is unknown,
// memory.ErrNewerVersion, and those of store.Update.
func (s *Service) Import(ctx context.Context, r io.Reader, opts Options) (Report, error) {
	if opts.Space != "" {
		var check memory.Check
		check.Slug("space", opts.Space)
		if err := check.Err(); err != nil {
			return Report{}, err
		}
	}
	from, what, err := detect(r, cmp.Or(opts.Space, memory.DefaultSpace), s.now().Location())
	if err != nil {
		return Report{}, err
	}
	im := &importing{
		service: s, ctx: ctx, opts: opts, reason: "import " + newGroup() + " of " + what,
		counts: map[countKey]*Count{}, seen: seenHashes{},
		similar: map[string]func(string, int) []search.Hit{}, textOwners: map[[16]byte]string{}, latest: s.now().Add(maxAhead),
	}
	switch from := from.(type) {
	case *lines:
		im.external = from.from != ""
	case *file:
		for _, note := range from.notes {
			im.adjusted(Adjusted{Detail: note})
		}
	}
	if err := im.run(from); err != nil {
		return im.result(), fmt.Errorf("import: %w", err)
	}
	return im.result(), nil
}

// newGroup names one import in the reasons of its operations, by which they are undone together.
func newGroup() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}

// countKey names one Count.
type countKey struct{ space, kind string }

// importing is one import in progress.
type importing struct {
	service    *Service
	ctx        context.Context
	opts       Options
	reason     string    // of the operations
	latest     time.Time // nothing may have been made after this
	external   bool      // from another system
	counts     map[countKey]*Count
	report     Report
	similar    map[string]func(string, int) []search.Hit // by space: what it held before; nil for nothing
	textOwners map[[16]byte]string                       // what memories from another system say, and the id of the first that does

	seen      seenHashes // what this import wrote, or would have, and what it found to be there
	session   *item      // whose messages follow
	batch     []*item    // of one space
	bytes     int        // of the batch, about
	forgotten []*item    // written last, when everything else was decided
}

// run imports every item of a source.
func (im *importing) run(from source) error {
	for {
		it, err := from.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := im.route(it); err != nil {
			return err
		}
	}
	if err := errors.Join(im.endSession(), im.flush()); err != nil {
		return err
	}
	slices.SortStableFunc(im.forgotten, func(a, b *item) int { return cmp.Compare(a.space, b.space) })
	for _, it := range im.forgotten {
		if err := im.add(it); err != nil {
			return err
		}
	}
	return im.flush()
}

// route validates an item and adds it to the batch, to its session, or to the forgotten values.
func (im *importing) route(it *item) error {
	it.space = cmp.Or(im.opts.Space, it.space, memory.DefaultSpace)
	switch {
	case it.invalid != "": // it may stand in the middle of a session
		im.skip(it, ReasonInvalid, it.invalid)
		return nil
	case it.kind == message:
		im.addMessage(it)
		return nil
	}
	if err := im.endSession(); err != nil {
		return err
	}
	it.invalid = im.prepare(it)
	switch {
	case it.invalid != "":
		im.skip(it, ReasonInvalid, it.invalid)
	case it.kind == Session:
		im.session = it
	case it.kind == Forgotten:
		im.forgotten = append(im.forgotten, it)
	default:
		return im.add(it)
	}
	return nil
}

// addMessage adds a message to the session that is open. A message without its session is skipped.
func (im *importing) addMessage(it *item) {
	open := im.session
	if open == nil || open.id != it.id || open.space != it.space {
		im.skip(it, ReasonInvalid, "belongs to no session that stands before it")
		return
	}
	if bad := im.prepareMessage(open, it); bad != "" {
		im.skip(it, ReasonInvalid, bad)
		return
	}
	open.messages = append(open.messages, it.message)
}

// endSession imports the open session if all its messages came: an incomplete one could not be completed later.
func (im *importing) endSession() error {
	it := im.session
	if it == nil {
		return nil
	}
	im.session = nil
	if want, got := it.session.Messages, int64(len(it.messages)); want != got {
		im.skip(it, ReasonInvalid, fmt.Sprintf("has %d good messages, not the %d that it should have", got, want))
		return nil
	}
	return im.add(it)
}

// add puts an item into the batch, and writes the batch when it is full.
func (im *importing) add(it *item) error {
	if len(im.batch) > 0 && im.batch[0].space != it.space {
		if err := im.flush(); err != nil {
			return err
		}
	}
	im.batch = append(im.batch, it)
	if im.bytes += it.size(); len(im.batch) >= batchItems || im.bytes >= batchBytes {
		return im.flush()
	}
	return nil
}

// errDryRun ends the transaction of a dry run.
var errDryRun = errors.New("dry run")

// attempts is how often a batch is tried while daily logs change beside it.
const attempts = 20

// flush writes the batch as one operation. Duplicates are found inside the transaction, so that a write in between
// cannot make one.
func (im *importing) flush() error {
	batch := im.batch
	im.batch, im.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	space := batch[0].space
	var err error
	for range attempts {
		d := &decision{
			importing:     im,
			logs:          map[string]*logSnapshot{},
			newlySeen:     seenHashes{},
			newTextOwners: map[[16]byte]string{},
		}
		if err = d.readLogs(im.service.store.Space(space), batch); err != nil {
			return err
		}
		d.findNearDuplicates(batch)
		var res store.Result
		res, err = im.service.store.Update(
			im.ctx,
			store.Meta{Space: space, Actor: journal.ActorImport, Reason: im.reason},
			func(tx *store.Tx) error {
				return d.run(tx, batch)
			},
		)
		// A daily log changed between reading and writing: the batch is decided again from what it holds now.
		if errors.Is(err, memory.ErrStale) {
			continue
		}
		if err != nil && !errors.Is(err, errDryRun) {
			return err
		}
		if res.Op != 0 {
			im.report.Operations = append(im.report.Operations, res.Op)
		}
		im.countVerdicts(d, batch)
		return nil
	}
	return fmt.Errorf("the daily logs change all the time: %w", err)
}

// countVerdicts adds the results of a batch to the report.
func (im *importing) countVerdicts(d *decision, batch []*item) {
	maps.Copy(im.seen, d.newlySeen)
	maps.Copy(im.textOwners, d.newTextOwners)
	for i, it := range batch {
		switch v := d.verdicts[i]; v.reason {
		case added:
			im.count(it).Added++
		case same:
			im.count(it).Same++
		case merged:
			im.merge(it, v)
		default:
			im.skip(it, v.reason, v.detail)
		}
	}
}

// count returns the Count of an item's kind and space.
func (im *importing) count(it *item) *Count {
	key := countKey{it.space, it.kind}
	if im.counts[key] == nil {
		im.counts[key] = &Count{Space: it.space, Kind: it.kind}
	}
	return im.counts[key]
}

// skip reports an item that is not imported. The messages of a session are not counted by themselves.
func (im *importing) skip(it *item, reason, detail string) {
	if it.kind != message { // which its session answers for
		im.count(it).Skipped++
	}
	if len(im.report.Skipped) < maxSkipped {
		im.report.Skipped = append(
			im.report.Skipped,
			Skip{Line: it.line, Kind: it.kind, ID: it.id, Reason: reason, Detail: detail},
		)
	}
}

// adjusted reports a value that was brought within its limits.
func (im *importing) adjusted(a Adjusted) {
	if im.report.AdjustedCount++; len(im.report.Adjusted) < maxSkipped {
		im.report.Adjusted = append(im.report.Adjusted, a)
	}
}

// result returns the report, sorted.
func (im *importing) result() Report {
	for _, c := range im.counts {
		im.report.Counts = append(im.report.Counts, *c)
	}
	slices.SortFunc(im.report.Counts, func(a, b Count) int {
		return cmp.Or(
			cmp.Compare(a.Space, b.Space),
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		)
	})
	slices.SortStableFunc(im.report.Skipped, func(a, b Skip) int { return cmp.Compare(a.Line, b.Line) })
	slices.SortStableFunc(im.report.Merged, func(a, b Merge) int { return cmp.Compare(a.Line, b.Line) })
	return im.report
}
