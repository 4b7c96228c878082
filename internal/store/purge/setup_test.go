package purge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/purge"
	"github.com/memsidecar/memsidecar/internal/store/textscrub"
)

// canary is what must be gone; it has what JSON escapes.
const canary = `Zoë's "xyzzy" key 金丝雀`

// embedder gives every text the direction of its length.
type embedder struct{}

func (embedder) Calibrated() bool { return false }

func (embedder) Identity() string { return "length" }

func (embedder) Name() string { return "length" }

func (embedder) Supports(string) bool { return true }

func (embedder) ClearCache() {}

func (embedder) CacheUse() vector.CacheUse { return vector.CacheUse{} }

func (embedder) EmbedDocuments(_ context.Context, texts []string) ([]embedding.Document, error) {
	out := make([]embedding.Document, len(texts))
	for i, t := range texts {
		out[i].Vector, _ = vector.Quantize([]float32{float32(len(t)), 1, 1})
	}
	return out, nil
}

func (e embedder) EmbedQuery(ctx context.Context, text string) (embedding.Query, error) {
	out, err := e.EmbedDocuments(ctx, []string{text})
	return embedding.Query{Vector: out[0].Vector}, err
}

// older is what the memory said before.
const older = "zanzibar was the older value"

// fixture is everything that holds text, over one simulated disk.
type fixture struct {
	fs     *crashfs.FS
	step   int
	st     *store.Store
	engine *search.Engine
	mems   *jsonstore.Publisher
	logs   *dailylog.Publisher
	purges *purge.Service
}

func (w *fixture) now() time.Time { return memtest.Epoch.Add(time.Duration(w.step) * time.Minute) }

// untilCrash is f. A reader of the store that meets the simulated crash ends the process, which has ended already then.
func (w *fixture) untilCrash(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if !w.fs.Crashed() {
				panic(p)
			}
			err = fmt.Errorf("the process ended: %v", p)
		}
	}()
	return f()
}

// open starts as the daemon does, up to where it would serve.
func (w *fixture) open() error { return w.untilCrash(w.start) }

// start is open, and may end the process.
func (w *fixture) start() error {
	if err := publish.Recover(w.fs); err != nil {
		return err
	}
	for _, dir := range []string{"journal", "snapshots"} {
		if _, err := durable.CleanTemp(w.fs, dir); err != nil {
			return err
		}
	}
	log := slog.New(slog.DiscardHandler)
	w.engine = search.New(search.Config{Now: w.now, Models: []embedding.Model{embedder{}}})
	w.mems = jsonstore.NewPublisher(jsonstore.Config{FS: w.fs, Now: w.now, Logger: log})
	w.logs = dailylog.NewPublisher(dailylog.Config{FS: w.fs, Now: w.now, Logger: log})
	var err error
	w.st, err = store.Open(store.Config{FS: w.fs, Now: w.now, Logger: log, SegmentSize: 4 << 10, PackFrom: 2,
		Projections: []store.Projection{w.engine, w.mems, w.logs}})
	if err != nil {
		return err
	}
	w.mems.Attach(jsonstore.FromStore(w.st))
	w.logs.Attach(dailylog.FromStore(w.st))
	w.purges = purge.New(purge.Config{
		Store: w.st, FS: w.fs, Memories: w.mems, Logs: w.logs, SaveIndex: func() error { return w.engine.Save(w.fs) },
		Logger: log,
	})
	if err := w.purges.Resume(context.Background()); err != nil {
		return err
	}
	for _, name := range w.st.Spaces() {
		if err := w.engine.Load(name, w.st.Space(name).Memories(), w.fs); err != nil {
			return err
		}
	}
	return nil
}

func (w *fixture) publish() error {
	ctx := context.Background()
	return errors.Join(w.mems.PublishAll(ctx), w.logs.PublishAll(ctx), w.engine.Save(w.fs))
}

// embed makes the vectors of everything, and saves them.
func (w *fixture) embed() error {
	if err := w.publish(); err != nil { // indexes what waits
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = w.engine.RunEmbedding(ctx, w.fs) })
	for w.engine.EmbeddingCoverage("").Waiting+w.engine.EmbeddingCoverage("work").Waiting > 0 {
		runtime.Gosched()
	}
	cancel()
	wg.Wait()
	return errors.Join(err, w.publish())
}

func (w *fixture) update(meta store.Meta, fn func(*store.Tx) error) error {
	w.step++
	if meta.Actor == "" {
		meta.Actor = journal.ActorClient
	}
	_, err := w.st.Update(context.Background(), meta, fn)
	return err
}

func (w *fixture) put(space string, m *memory.Memory) error {
	return w.update(store.Meta{Space: space, Key: fmt.Sprint("put-", m.ID, w.step)}, func(tx *store.Tx) error {
		return tx.Put(m)
	})
}

func (w *fixture) write(name, content string) error {
	if err := w.fs.MkdirAll(path.Dir(name)); err != nil {
		return err
	}
	return durable.WriteFile(w.fs, name, func(f io.Writer) error { _, err := io.WriteString(f, content); return err })
}

// fill puts the canary in every place there is.
func (w *fixture) fill() error {
	named := memtest.Fact("c1", older+".")
	named.Tags, named.Title = []string{"zebra-tag"}, "zulu title"
	named.SetEvidence([]memory.Evidence{{Log: "2026-02-21", Entry: "e1", Session: "s1"}})
	named.SetContext(&memory.Context{Tool: "zither", LearnedFrom: "session_s1"})
	named.SetStructuredData(json.RawMessage(`{"deep":["zircon"]}`))
	later := named.Clone()
	later.Content = canary
	longer := memtest.Fact("q1", "they said: "+canary+" and more")
	longer.SetStructuredData(json.RawMessage(`{"` + "k\\u00e9y" + `":"Zo\u00eb's \"xyzzy\" key \u91d1\u4e1d\u96c0"}`))
	longer.SetExtra(map[string]json.RawMessage{"note": json.RawMessage(`"` + older + `"`)})
	nested, _ := json.Marshal(map[string]string{"text": canary})
	sess := func(seq int64) *memory.Session {
		return &memory.Session{ID: "s1", State: memory.SessionOpen, StartedAt: memtest.Epoch, LastAt: memtest.Epoch,
			Messages: seq, NextSeq: seq + 1, Summary: "about " + canary}
	}
	say := func(session string, m *memory.Message) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			s := sess(m.Seq)
			s.ID = session
			tx.PutSession(s)
			return tx.AppendMessage(session, m)
		}
	}
	event := func(id, text string) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			return tx.AppendEntry("2026-02-21",
				&memory.Entry{ID: id, Time: "10:00:00", At: memtest.Epoch, Type: memory.EntryEvent, Content: text})
		}
	}
	summary := &memory.Entry{ID: "e4", Time: "10:00:00", At: memtest.Epoch, Type: memory.EntrySessionSummary,
		Session: "s1", Content: "in the words of the session, in short"}
	steps := []func() error{
		func() error {
			return w.update(store.Meta{}, func(tx *store.Tx) error { return tx.AppendEntry("2026-02-21", summary) })
		},
		func() error { return w.put("work", memtest.Fact("same", canary+".")) },
		func() error { return w.put("", memtest.Fact("k1", "kept as it is")) },
		func() error { return w.update(store.Meta{}, event("e1", "learnt in other words")) },
		func() error { return w.put("", named) },
		func() error { return w.put("", later) },
		func() error { return w.put("work", longer) },
		w.publish,
		func() error { _, err := w.st.Checkpoint(context.Background()); return err },
		func() error { return w.update(store.Meta{Reason: "because " + canary}, event("e2", "quote: "+canary)) },
		func() error {
			return w.update(store.Meta{Space: "work"}, func(tx *store.Tx) error {
				tx.SetSummary("knows " + canary)
				return nil
			})
		},
		func() error {
			return w.update(store.Meta{}, func(tx *store.Tx) error {
				tx.SetDay(&memory.Day{Date: "2026-02-20", Summary: "day of " + canary, Archived: true})
				tx.LogArchived(memory.Archived{Date: "2026-02-20", Entries: 1, Summary: "day of " + canary,
					Promoted: []string{"c1"}})
				return nil
			})
		},
		func() error {
			return w.update(store.Meta{Space: "work"}, func(tx *store.Tx) error {
				tx.LogDeleted(memory.Archived{Date: "2026-02-19", Entries: 2, Summary: "zanzibar, and " + canary})
				return nil
			})
		},
		func() error {
			return w.update(store.Meta{}, say("s1",
				&memory.Message{Seq: 1, At: memtest.Epoch, Role: "user", Content: "in the words of the session"}))
		},
		func() error {
			return w.update(store.Meta{}, say("s2",
				&memory.Message{Seq: 1, At: memtest.Epoch, Role: "tool",
					Tool: &memory.ToolCall{Name: "t", Arguments: string(nested)}}))
		},
		func() error { _, err := w.st.Checkpoint(context.Background()); return err },
		func() error { return w.update(store.Meta{Key: "key-zanzibar"}, event("e3", "harmless")) },
		func() error { return w.put("", memtest.Fact("k2", "kept too")) },
		w.embed,
		func() error { return w.write("memory.json.next", `{"left":"`+older+`"}`) },
		func() error { return w.write("quarantine/memory-0123.json", "raw "+canary) },
		func() error { return w.write("quarantine/memory-0123.json.reason.txt", "because") },
		func() error { return w.write("quarantine/esc.json", `"Zo\u00EB's \"xyzzy\" key \u91d1\u4E1D\u96c0"`) },
		func() error { return w.write("quarantine/kept.json", "of no concern") },
		func() error { return w.write("index/cache.bin", "cached "+older) },
		func() error { return w.write("notes/mine.txt", "mine: "+canary) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func request() purge.Request {
	return purge.Request{PurgeRequest: store.PurgeRequest{IDs: []string{"c1"}, Texts: []string{"zanzibar"},
		Transcripts: true, Reason: "asked by " + canary}}
}

// traces names the files in which something of the canary is left, but for the file that is not ours.
func (w *fixture) traces() ([]string, error) {
	texts := textscrub.New([]string{canary, older, "zebra-tag", "zulu title", "zither", "zircon",
		"in the words of the session", "learnt in other words", "zanzibar", "xyzzy"})
	ofCanary := vector.KeyOf("zulu title\n" + canary) // beside its vector, which tells as much
	var found []string
	var visit func(dir string) error
	visit = func(dir string) error {
		entries, err := w.fs.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				if err := visit(name); err != nil {
					return err
				}
				continue
			}
			data, err := durable.ReadFile(w.fs, name)
			if err != nil {
				return err
			}
			data = memtest.Plain(data)
			if (texts.Match(data) || bytes.Contains(data, ofCanary[:])) && name != "notes/mine.txt" {
				found = append(found, name)
			}
		}
		return nil
	}
	return found, visit(".")
}

// state is what readers see, and what the files say when they are read without a daemon.
func (w *fixture) state() (digest string, err error) {
	if digest, err = w.st.Digest(); err != nil {
		return "", err
	}
	report, err := store.Check(w.fs)
	switch {
	case err != nil:
		return "", err
	case len(report.Findings) > 0:
		return "", fmt.Errorf("check: %v", report.Findings)
	case report.Digest != digest:
		return "", errors.New("check reads another state than the store shows")
	}
	return digest, nil
}

// fromStart is the digest of the state that the journal alone adds up to.
func (w *fixture) fromStart() (string, error) {
	alone := w.fs.Crash(crashfs.Kept, nil)
	entries, err := alone.ReadDir("snapshots")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if err := alone.Remove("snapshots/" + e.Name()); err != nil {
			return "", err
		}
	}
	report, err := store.Check(alone)
	if err == nil && len(report.Findings) > 0 {
		err = fmt.Errorf("%v", report.Findings)
	}
	return report.Digest, err
}

// erased requires that nothing is left, that all ways to the state lead to the same, and that what does not concern
// is there.
func (w *fixture) erased() (digest string, err error) {
	found, err := w.traces()
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "", fmt.Errorf("something is left in %v", found)
	}
	if digest, err = w.state(); err != nil {
		return "", err
	}
	alone, err := w.fromStart()
	if err != nil {
		return "", err
	}
	if alone != digest {
		return "", errors.New("the journal alone adds up to another state")
	}
	if pending, err := w.st.PendingPurge(); pending != nil || err != nil {
		return "", fmt.Errorf("it is not finished: %w", err)
	}
	if _, err := w.fs.Lstat("quarantine/kept.json"); err != nil {
		return "", err
	}
	var texts []string
	for _, m := range append(w.st.Space("").Memories(), w.st.Space("work").Memories()...) {
		texts = append(texts, fmt.Sprintf("%s=%s(%s)", m.ID, m.Content, m.Status))
	}
	if got, want := strings.Join(texts, ";"), "k1=kept as it is(active);k2=kept "+
		"too(active);same=[purged].(retired);q1=they said: [purged] and more(active)"; got != want {
		return "", fmt.Errorf("the memories are %q, not %q", got, want)
	}
	return digest, nil
}
