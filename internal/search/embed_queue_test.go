package search_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/search/vector/vectorstore"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// subjects are the dimensions of the fake: a text points to those it has a word of.
var subjects = [][]string{{"coffee", "espresso", "brew"}, {"train", "rail", "commute"}, {"database", "postgres", "数据库"}, {"garden", "tomato"}}

// fake embeds by subjects. It does what its fields say.
type fake struct {
	mu         sync.Mutex
	identity   string
	calibrated bool
	embedded   []string      // guarded by mu
	queries    int           // guarded by mu
	down       error         // guarded by mu
	refuses    string        // texts that hold it
	extra      int           // further dimensions; guarded by mu
	asked      func()        // called by Query
	slow       bool          // a query takes as long as it may
	hold       chan struct{} // holds up documents until it is closed; guarded by mu
}

func (f *fake) Identity() string { return f.identity }

func (f *fake) Calibrated() bool { return f.calibrated }

func (f *fake) set(change func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fake) Name() string { return "server" }

func (f *fake) Supports(string) bool { return true }

func (f *fake) ClearCache() {}

func (f *fake) CacheUse() vector.CacheUse { return vector.CacheUse{} }

func (f *fake) EmbedDocuments(_ context.Context, texts []string) ([]embedding.Document, error) {
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return nil, f.down
	}
	if f.refuses != "" && slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, f.refuses) }) {
		return nil, embedding.ErrRefused
	}
	var out []embedding.Document
	for _, t := range texts {
		out = append(out, embedding.Document{Vector: f.direction(t)})
	}
	f.embedded = append(f.embedded, texts...)
	return out, nil
}

func (f *fake) EmbedQuery(ctx context.Context, text string) (embedding.Query, error) {
	if f.slow {
		<-ctx.Done()
		return embedding.Query{}, ctx.Err()
	}
	if f.asked != nil {
		f.asked()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries++
	return embedding.Query{Vector: f.direction(text)}, f.down
}

func (f *fake) direction(text string) vector.Quantized {
	v := make([]float32, len(subjects)+1+f.extra)
	v[len(subjects)] = 0.1 // something all texts have in common
	for i, words := range subjects {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				v[i]++
			}
		}
	}
	d, _ := vector.Quantize(v)
	return d
}

func (f *fake) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.embedded)
	slices.Sort(out)
	f.embedded = nil
	return out
}

// drinks are three memories; only the fake knows that the last is about the same as the first.
func drinks() []*memory.Memory {
	return []*memory.Memory{
		mem("a", "The user likes coffee in the morning"), mem("b", "The user likes the train in the morning"), mem("c", "A double espresso at seven"),
		mem("d", "The garden has a tomato"),
	}
}

// withVectors runs f with an engine that makes vectors in the background, inside a bubble of synctest.
func withVectors(t *testing.T, f embedding.Model, fsys durable.FS, memories []*memory.Memory, test func(t *testing.T, e *search.Engine, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		e := search.New(search.Config{Models: []embedding.Model{f}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return epoch }})
		if err := e.Load("", memories, fsys); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, run := range []func(context.Context) error{e.RunIndexing, func(ctx context.Context) error { return e.RunEmbedding(ctx, fsys) }} {
			wg.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		test(t, e, &log)
		cancel()
		wg.Wait()
	})
}

func change(e *search.Engine, lsn int64, id string, after *memory.Memory) {
	e.Apply(record(lsn, memory.DefaultSpace, journal.Change{Memory: &journal.MemoryChange{ID: id, After: after}}))
	time.Sleep(search.GatherChanges)
	synctest.Wait()
}

func asks(q, arm string) search.Request {
	return search.Request{Query: q, Arm: arm, AsOf: epoch, Explain: true}
}

// order is ids, marked with * where meaning is a part of the score.
func order(hits []search.Hit) (out []string) {
	for _, h := range hits {
		id := h.Memory.ID
		if slices.ContainsFunc(h.Parts, func(p search.Part) bool { return p.Name == "vector" || strings.HasPrefix(p.Name, "cosine:") }) {
			id += "*"
		}
		out = append(out, id)
	}
	return out
}

func TestFusion(t *testing.T) {
	for _, tt := range []struct {
		name, query, arm string
		want             []string
		meant            bool
	}{
		{"words alone", "coffee in the morning", search.Keyword, []string{"a", "b"}, false},
		{"meaning brings in what shares no word", "coffee in the morning", search.Fusion, []string{"a*", "b*", "c*"}, true},
		{"what has nothing to do with it is not answered", "quantum chromodynamics lectures", search.Fusion, nil, false},
		{"nor what only meaning knows", "brew", search.Fusion, nil, false},
		{"meaning alone", "brew", search.Vector, []string{"a*", "c*", "b*", "d*"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withVectors(t, &fake{}, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
				resp := find(t, e, asks(tt.query, tt.arm))
				if diff := cmp.Diff(tt.want, order(resp.Hits)); diff != "" || resp.VectorsUsed != tt.meant || resp.Abstained != (tt.want == nil) {
					t.Errorf("meant %v, abstained %v; hits (-want +got):\n%s", resp.VectorsUsed, resp.Abstained, diff)
				}
				for _, h := range resp.Hits {
					if h.Score < 0 || h.Score > 1 {
						t.Errorf("score of %s is %v", h.Memory.ID, h.Score)
					}
				}
			})
		})
	}
}

// TestSilenceIsDecidedByWords compares the arms on questions that have no answer: meaning must not be asked, nor change
// anything.
func TestSilenceIsDecidedByWords(t *testing.T) {
	f := &fake{}
	withVectors(t, f, newDir(t), synthetic(300), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		for _, q := range []string{"zyx wvu", "的", "espresso machine warranty", "who won the 1998 regatta in Porto"} {
			words, both := find(t, e, asks(q, search.Keyword)), find(t, e, asks(q, search.Fusion))
			if words.Abstained != both.Abstained || words.Reason != both.Reason {
				t.Errorf("%q: %v %q by words, %v %q with meaning", q, words.Abstained, words.Reason, both.Abstained, both.Reason)
			}
			if words.Abstained && f.queries > 0 {
				t.Errorf("%q is silent, and was sent away", q)
			}
		}
	})
}

// TestMeaningIsEvidence asks a model whose cosines are calibrated: what is near by words or by meaning is answered, and
// nothing else.
func TestMeaningIsEvidence(t *testing.T) {
	memories := synthetic(300)
	for _, m := range memories {
		m.Content += " tomato"
	}
	memories = append(memories, drinks()...)
	for _, tt := range []struct {
		name, query string
		words, both bool // answered
	}{
		{"words and meaning", "coffee in the morning", true, true},
		{"meaning alone", "brew", false, true},
		{"neither", "quantum chromodynamics lectures", false, false},
		{"words that mean something else", "database in the morning", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withVectors(t, &fake{calibrated: true}, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
				for arm, want := range map[string]bool{search.Keyword: tt.words, search.Fusion: tt.both} {
					if resp := find(t, e, asks(tt.query, arm)); resp.Abstained == want {
						t.Errorf("%s: abstained %v, found %v", arm, resp.Abstained, order(resp.Hits))
					}
				}
			})
		})
	}
}

// TestNothingWaitsForADirection changes the index while the direction of a query is asked for: the search must hold no
// lock meanwhile.
func TestNothingWaitsForADirection(t *testing.T) {
	for _, calibrated := range []bool{false, true} {
		t.Run(fmt.Sprintf("calibrated %v", calibrated), func(t *testing.T) {
			f := &fake{calibrated: calibrated}
			withVectors(t, f, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
				asked := 0
				f.asked = func() {
					asked++
					e.Apply(record(10, memory.DefaultSpace, journal.Change{Memory: &journal.MemoryChange{ID: "new", After: mem("new", "A train to Gdynia")}}))
					if found := find(t, e, asks("Gdynia", search.Keyword)); len(found.Hits) != 1 {
						t.Errorf("found %v", order(found.Hits))
					}
				}
				if resp := find(t, e, asks("coffee in the morning", search.Fusion)); len(resp.Hits) == 0 || !resp.VectorsUsed {
					t.Errorf("found %v, meant %v", order(resp.Hits), resp.VectorsUsed)
				}
				if asked != 1 {
					t.Errorf("asked %d times", asked)
				}
			})
		})
	}
}

// TestPatience has a prompt that waits so long for its direction and no longer, and is answered by words then.
func TestPatience(t *testing.T) {
	f := &fake{calibrated: true}
	withVectors(t, f, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		f.slow = true
		req := asks("coffee in the morning", search.Fusion)
		req.EmbedTimeout = 15 * time.Millisecond
		began := time.Now()
		resp := find(t, e, req)
		if waited := time.Since(began); waited != req.EmbedTimeout {
			t.Errorf("waited %v", waited)
		}
		if diff := cmp.Diff([]string{"a", "b"}, order(resp.Hits)); diff != "" || resp.VectorsUsed {
			t.Errorf("meant %v; hits (-want +got):\n%s", resp.VectorsUsed, diff)
		}
	})
}

// TestWithoutVectorsWordsDecide has memories that the embedder does not take: what it says of the others must not
// silence them.
func TestWithoutVectorsWordsDecide(t *testing.T) {
	memories := append(drinks(), mem("zh", "用户早上坐火车去上海办公室"))
	withVectors(t, &fake{calibrated: true, refuses: "用户"}, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		if resp := find(t, e, asks("坐火车去哪个办公室", search.Fusion)); len(resp.Hits) == 0 || resp.Hits[0].Memory.ID != "zh" {
			t.Errorf("found %v, %s", order(resp.Hits), resp.Reason)
		}
	})
}

func TestProfilesAndFiltersHold(t *testing.T) {
	f := &fake{}
	memories := append(drinks(), mem("old", "espresso espresso", func(m *memory.Memory) { m.Status = memory.Retired }),
		mem("work", "espresso at work", func(m *memory.Memory) { m.Category = "work" }))
	withVectors(t, f, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		req := asks("coffee in the morning", search.Fusion)
		req.Filter.Categories = []string{memory.Facts}
		if diff := cmp.Diff([]string{"a*", "b*", "c*"}, order(find(t, e, req).Hits)); diff != "" {
			t.Errorf("filtered (-want +got):\n%s", diff)
		}
		before := f.queries
		req.Profile = search.Recent
		if resp := find(t, e, req); resp.VectorsUsed || f.queries != before {
			t.Error("a profile of words was mixed with meaning")
		}
		req.Arm = search.Vector
		if _, err := e.Search(t.Context(), req); err == nil {
			t.Error("a profile of words with meaning alone is taken")
		}
	})
}

func TestExactStaysFirst(t *testing.T) {
	memories := append(drinks(), mem("id", "see ERR_CONN_4711"))
	withVectors(t, &fake{}, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		resp := find(t, e, asks("coffee espresso brew ERR_CONN_4711", search.Fusion))
		if len(resp.Hits) == 0 || resp.Hits[0].Memory.ID != "id" {
			t.Errorf("found %v", order(resp.Hits))
		}
	})
}

// TestChanges follows memories through their lives: the server is asked for what is new, once, and nothing else.
func TestChanges(t *testing.T) {
	f := &fake{}
	withVectors(t, f, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		check := func(what string, embedded []string, want search.EmbeddingCoverage) {
			t.Helper()
			if diff := cmp.Diff(embedded, f.texts()); diff != "" {
				t.Errorf("%s: sent (-want +got):\n%s", what, diff)
			}
			if diff := cmp.Diff(want, e.EmbeddingCoverage("")); diff != "" {
				t.Errorf("%s: coverage (-want +got):\n%s", what, diff)
			}
		}
		f.texts()
		change(e, 10, "new", mem("new", "rail pass", func(m *memory.Memory) { m.Title = "Travel" }))
		check("added", []string{"Travel\nrail pass"}, search.EmbeddingCoverage{Embedded: 5})
		change(e, 11, "new", mem("new", "rail pass", func(m *memory.Memory) { m.Title, m.Pinned = "Travel", true }))
		check("pinned", nil, search.EmbeddingCoverage{Embedded: 5})
		change(e, 12, "new", mem("new", "bus pass"))
		check("changed", []string{"bus pass"}, search.EmbeddingCoverage{Embedded: 5})
		change(e, 13, "new", mem("new", "bus pass", func(m *memory.Memory) { m.Status = memory.Retired }))
		check("retired", nil, search.EmbeddingCoverage{Embedded: 5})
		change(e, 14, "new", mem("new", "bus pass"))
		check("restored", nil, search.EmbeddingCoverage{Embedded: 5})
		change(e, 15, "dead", mem("dead", "tram pass", func(m *memory.Memory) { m.Status = memory.Retired }))
		check("added dead", nil, search.EmbeddingCoverage{Embedded: 5})
		change(e, 16, "dead", mem("dead", "tram pass"))
		check("revived", []string{"tram pass"}, search.EmbeddingCoverage{Embedded: 6})
		change(e, 17, "dead", nil)
		change(e, 18, "new", nil)
		check("removed", nil, search.EmbeddingCoverage{Embedded: 4})
	})
}

const vectorsFile = "index/default.server.vectors"

// openVectors opens the file as a start after a crash would: with all that was written.
func openVectors(t *testing.T, fsys durable.FS, identity string) *vectorstore.Store {
	t.Helper()
	s, err := vectorstore.Open(fsys, vectorsFile, identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func readVectors(t *testing.T, fsys durable.FS, identity string, texts ...string) (held []string) {
	t.Helper()
	s := openVectors(t, fsys, identity)
	for _, text := range texts {
		if _, ok := s.Vector(vector.KeyOf(text), nil); ok {
			held = append(held, text)
		}
	}
	if s.Len() != len(held) {
		t.Errorf("the file holds %d vectors, %d of them known", s.Len(), len(held))
	}
	return held
}

// TestFile goes through what may be on the disk at a start.
func TestVectorsFile(t *testing.T) {
	for _, tt := range []struct {
		name     string
		prepare  func(t *testing.T, fsys durable.FS)
		identity string
		sent     int
		log      string
	}{
		{"as it was left", nil, "one", 0, ""},
		{"deleted", func(t *testing.T, fsys durable.FS) {
			if err := fsys.Remove(vectorsFile); err != nil {
				t.Fatal(err)
			}
		}, "one", 4, ""},
		{"damaged", func(t *testing.T, fsys durable.FS) {
			err := durable.WriteFile(fsys, vectorsFile, func(w io.Writer) error { _, err := io.WriteString(w, "MSVC and nothing else of use"); return err })
			if err != nil {
				t.Fatal(err)
			}
		}, "one", 4, "they are made again"},
		{"of another embedder", nil, "two", 4, "of another model or version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := newDir(t)
			withVectors(t, &fake{identity: "one"}, fsys, drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
				if err := e.Save(fsys); err != nil {
					t.Fatal(err)
				}
			})
			if tt.prepare != nil {
				tt.prepare(t, fsys)
			}
			f := &fake{identity: tt.identity}
			withVectors(t, f, fsys, drinks(), func(t *testing.T, e *search.Engine, log *bytes.Buffer) {
				if sent := f.texts(); len(sent) != tt.sent {
					t.Errorf("sent %q, want %d texts", sent, tt.sent)
				}
				if !strings.Contains(log.String(), tt.log) || tt.log == "" && strings.Contains(log.String(), "WARN") {
					t.Errorf("log %q, want %q", log, tt.log)
				}
				if diff := cmp.Diff([]string{"a*", "b*", "c*"}, order(find(t, e, asks("coffee in the morning", search.Fusion)).Hits)); diff != "" {
					t.Errorf("hits (-want +got):\n%s", diff)
				}
				if err := e.Save(fsys); err != nil {
					t.Fatal(err)
				}
			})
			if held := readVectors(t, fsys, tt.identity, "A double espresso at seven", drinks()[0].Content, drinks()[1].Content, drinks()[3].Content); len(held) != 4 {
				t.Errorf("the file holds %q", held)
			}
		})
	}
}

// TestEachVectorIsWrittenOnce: saving writes what is new, however much is there.
func TestEachVectorIsWrittenOnce(t *testing.T) {
	const n, size = 4100, 16 + 4 + 4 + 5 + 4 + 4 // of a record: five dimensions, no tokens
	fsys, written := durable.CountWritten(newDir(t))
	var memories []*memory.Memory
	for i := range n {
		memories = append(memories, mem(fmt.Sprint("m", i), fmt.Sprintf("note %d", i)))
	}
	withVectors(t, &fake{}, fsys, memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		for i := range 5 {
			change(e, int64(i+10), fmt.Sprint("new", i), mem(fmt.Sprint("new", i), fmt.Sprintf("another note %d", i)))
			if err := e.SaveVectors(fsys); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got := written.Bytes()["vectors"]; got < n*size || got > (n+5)*size+100 {
		t.Errorf("%d bytes written for %d vectors of %d bytes", got, n+5, size)
	}
}

// TestManyAreSavedAtOnce shows that a crash does not cost all of a long run.
func TestManyAreSavedAtOnce(t *testing.T) {
	fsys := crashfs.New()
	var memories []*memory.Memory
	for i := range 2100 {
		memories = append(memories, mem(fmt.Sprint("m", i), fmt.Sprintf("note %d", i)))
	}
	withVectors(t, &fake{}, fsys, memories, func(*testing.T, *search.Engine, *bytes.Buffer) {})
	after := fsys.Crash(crashfs.Lost, rand.New(rand.NewPCG(1, 1)))
	if n := openVectors(t, after, "").Len(); n < 2000 {
		t.Errorf("%d vectors of 2100 survive a crash", n)
	}
}

// TestSaveLeavesNothingBehind shows that what a memory said is gone from the file with it, and everything when there is
// no embedder any more.
func TestSaveLeavesNothingBehind(t *testing.T) {
	fsys := newDir(t)
	withVectors(t, &fake{identity: "one"}, fsys, drinks()[:2], func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		change(e, 20, "a", mem("a", "The user likes tea"))
		change(e, 21, "b", nil)
		if err := e.Save(fsys); err != nil {
			t.Fatal(err)
		}
		held := readVectors(t, fsys, "one", "The user likes tea", drinks()[0].Content, drinks()[1].Content)
		if diff := cmp.Diff([]string{"The user likes tea"}, held); diff != "" {
			t.Errorf("texts in the file (-want +got):\n%s", diff)
		}
	})
	e, _ := load(t, drinks()[:2], fsys)
	if err := e.Save(fsys); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lstat(vectorsFile); err == nil {
		t.Error("vectors outlive their embedder")
	}
}

// TestServerDown shows that searches and writes go on, and that everything is made up for.
func TestServerDown(t *testing.T) {
	f := &fake{down: embedding.ErrUnavailable}
	withVectors(t, f, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		if since, err := e.EmbeddingError(); err == nil || !since.Equal(epoch) {
			t.Errorf("trouble %v since %v", err, since)
		}
		for i := range 50 {
			change(e, int64(30+i), "e", mem("e", fmt.Sprintf("espresso number %d", i)))
		}
		if diff := cmp.Diff(search.EmbeddingCoverage{Waiting: 5}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("coverage while it is down (-want +got):\n%s", diff)
		}
		words := find(t, e, asks("coffee in the morning", search.Fusion))
		if diff := cmp.Diff([]string{"a", "b"}, order(words.Hits)); diff != "" || words.VectorsUsed {
			t.Errorf("hits while it is down (-want +got):\n%s", diff)
		}
		f.set(func(f *fake) { f.down = nil })
		time.Sleep(10 * time.Minute) // of the bubble
		synctest.Wait()
		if diff := cmp.Diff(search.EmbeddingCoverage{Embedded: 5}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("coverage when it is back (-want +got):\n%s", diff)
		}
		if _, err := e.EmbeddingError(); err != nil {
			t.Errorf("trouble %v when it is back", err)
		}
		f.set(func(f *fake) { f.down = embedding.ErrUnavailable })
		if resp := find(t, e, asks("coffee in the morning", search.Fusion)); resp.VectorsUsed || len(resp.Hits) != 2 {
			t.Errorf("with vectors and without the query's: %v", order(resp.Hits))
		}
		if resp := find(t, e, asks("coffee in the morning", search.Vector)); !resp.Abstained || resp.Reason != search.ReasonVectors {
			t.Errorf("meaning alone: %+v", resp)
		}
	})
}

// TestRefused shows that one text that the server does not take does not keep the others from their vectors, nor is it
// sent again.
func TestRefused(t *testing.T) {
	f := &fake{refuses: "train"}
	memories := drinks()
	for i := range 100 {
		memories = append(memories, mem(fmt.Sprint("m", i), fmt.Sprintf("note %d", i)))
	}
	withVectors(t, f, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		if diff := cmp.Diff(search.EmbeddingCoverage{Embedded: 103, Rejected: 1}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("coverage (-want +got):\n%s", diff)
		}
		// What has no vector keeps the place that words give it.
		resp := find(t, e, asks("coffee in the morning", search.Fusion))
		if got := order(resp.Hits); !slices.Contains(got, "b") {
			t.Errorf("hits %v", got)
		}
	})
}

// TestOneVector shows that to have a vector already is no merit beside memories that wait for theirs.
func TestOneVector(t *testing.T) {
	memories := []*memory.Memory{
		mem("a", "The user wants coffee in a cup"), mem("b", "The user likes coffee at home, every single day and before breakfast"), mem("c", "a cup of tea"), mem("d", "a cup of water"),
	}
	withVectors(t, &fake{refuses: "cup"}, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		if diff := cmp.Diff(search.EmbeddingCoverage{Embedded: 1, Rejected: 3}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("coverage (-want +got):\n%s", diff)
		}
		got := find(t, e, asks("coffee", search.Fusion))
		if diff := cmp.Diff([]string{"a", "b"}, ids(got.Hits)); diff != "" || !got.VectorsUsed {
			t.Errorf("hits (-want +got):\n%s", diff)
		}
	})
}

// TestOtherDimension shows that a model that was exchanged under the same name does not end in vectors that cannot be
// compared.
func TestOtherDimension(t *testing.T) {
	f := &fake{}
	withVectors(t, f, newDir(t), drinks(), func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
		f.set(func(f *fake) { f.extra = 3 })
		if resp := find(t, e, asks("coffee in the morning", search.Fusion)); resp.VectorsUsed {
			t.Error("directions of different dimensions were compared")
		}
		change(e, 40, "e", mem("e", "espresso"))
		if diff := cmp.Diff(search.EmbeddingCoverage{Embedded: 5}, e.EmbeddingCoverage("")); diff != "" {
			t.Errorf("coverage (-want +got):\n%s", diff)
		}
		if resp := find(t, e, asks("coffee in the morning", search.Fusion)); !resp.VectorsUsed {
			t.Error("meaning takes no part after all vectors were made anew")
		}
	})
}

// TestFusionIsTheSameEveryTime builds the same store in another order and compares scores to the last bit.
func TestFusionIsTheSameEveryTime(t *testing.T) {
	sameEveryTime(t, "", "the user likes coffee in the morning", append(synthetic(200), drinks()...))
}

// TestOneScoreOfWords does the same where words tell nothing apart and not everything has a vector.
func TestOneScoreOfWords(t *testing.T) {
	words := []string{"brew", "train", "rail", "garden", "tomato", "database", "shelf"}
	memories := []*memory.Memory{mem("cup", "coffee cup door shelf")}
	for i, a := range words {
		for j, b := range words[i:] {
			memories = append(memories, mem(fmt.Sprint("m", i, j), "coffee "+a+" "+b+" "+words[(i*3+j)%len(words)]))
		}
	}
	for n := 3; n <= len(memories); n++ { // whether a sum shows its order depends on what is added up
		sameEveryTime(t, "cup", "coffee", slices.Clone(memories[:n]))
	}
}

// sameEveryTime makes the store in both orders.
func sameEveryTime(t *testing.T, refuses, query string, memories []*memory.Memory) {
	t.Helper()
	var first []search.Hit
	for round := range 3 {
		withVectors(t, &fake{refuses: refuses}, newDir(t), memories, func(t *testing.T, e *search.Engine, _ *bytes.Buffer) {
			hits := find(t, e, asks(query, search.Fusion)).Hits
			if round == 0 {
				first = hits
			}
			if diff := cmp.Diff(order(first), order(hits)); diff != "" || len(hits) == 0 {
				t.Errorf("round %d: %d hits (-first +now):\n%s", round, len(hits), diff)
			}
			for i := range min(len(hits), len(first)) {
				if hits[i].Score != first[i].Score {
					t.Errorf("round %d: score %v, was %v", round, hits[i].Score, first[i].Score)
				}
			}
		})
		slices.Reverse(memories)
	}
}
