package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// shelf is a source of many spaces, and applies changes to them before the engine does.
type shelf struct {
	mu     sync.Mutex
	spaces map[string]map[string]*memory.Memory
	lsn    int64
}

func (s *shelf) source() search.Source {
	return search.Source{
		Spaces: func() (names []string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for name := range s.spaces {
				names = append(names, name)
			}
			return names
		},
		Count: func(space string) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.spaces[space])
		},
		Memories: s.memories,
	}
}

func (s *shelf) memories(space string) (all []*memory.Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.spaces[space] {
		all = append(all, m)
	}
	return all
}

// put changes a memory, or removes it when after is nil.
func (s *shelf) put(e *search.Engine, space, id string, after *memory.Memory) {
	s.mu.Lock()
	if s.spaces == nil {
		s.spaces = map[string]map[string]*memory.Memory{}
	}
	if s.spaces[space] == nil {
		s.spaces[space] = map[string]*memory.Memory{}
	}
	s.lsn++
	rec := record(s.lsn, space, journal.Change{Memory: &journal.MemoryChange{ID: id, Before: s.spaces[space][id], After: after}})
	if after == nil {
		delete(s.spaces[space], id)
	} else {
		s.spaces[space][id] = after
	}
	s.mu.Unlock()
	if e != nil {
		e.Apply(rec)
	}
}

func shelfSpace(i int) string { return fmt.Sprintf("space%04d", i) }

// shelfOf is a shelf of spaces with three memories each, of which one is drunk in the morning.
func shelfOf(spaces int) *shelf {
	s := &shelf{}
	for i := range spaces {
		s.put(nil, shelfSpace(i), fmt.Sprint("a", i), mem(fmt.Sprint("a", i), fmt.Sprintf("The user %d likes coffee in the morning", i)))
		s.put(nil, shelfSpace(i), fmt.Sprint("b", i), mem(fmt.Sprint("b", i), fmt.Sprintf("Train number %d leaves at noon", i)))
		s.put(nil, shelfSpace(i), fmt.Sprint("c", i), mem(fmt.Sprint("c", i), "A double espresso at seven"))
	}
	return s
}

// openFiles counts the files that are open.
type openFiles struct {
	durable.FS
	mu   sync.Mutex
	open int
	full bool // no file can be made
}

func (f *openFiles) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f.mu.Lock()
	full := f.full
	f.mu.Unlock()
	if full && flag&os.O_CREATE != 0 {
		return nil, syscall.ENOSPC
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open++
	return &openFile{file, f}, nil
}

func (f *openFiles) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

type openFile struct {
	durable.File
	of *openFiles
}

func (f *openFile) Close() error {
	f.of.mu.Lock()
	f.of.open--
	f.of.mu.Unlock()
	return f.File.Close()
}

// maxOpen is how many spaces the tests let an engine open.
const maxOpen = 8

// attached runs test with an engine that opens the spaces of a shelf when they are used.
func attached(t *testing.T, s *shelf, fsys durable.FS, models []embedding.Model, test func(*testing.T, *search.Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := search.New(search.Config{Models: models, Now: time.Now})
		e.SetMaxOpen(maxOpen)
		e.Attach(s.source(), fsys)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, run := range []func(context.Context) error{e.RunIndexing, e.RunClosing,
			func(ctx context.Context) error { return e.RunEmbedding(ctx, fsys) }} {
			wg.Go(func() {
				if err := run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		test(t, e)
		cancel()
		wg.Wait()
	})
}

// settle returns once the work that is due within an hour is done.
func settle() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// TestOpensSlowlyToEmbed: a large space is opened slowly to make its vectors while requests are answered, until one of
// them needs it.
func TestOpensSlowlyToEmbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		for i := range 2000 {
			id := fmt.Sprint(i)
			s.put(nil, "large", id, mem(id, "Train number "+id+" leaves at noon"))
		}
		model := &fake{}
		e := search.New(search.Config{Models: []embedding.Model{model}, Now: time.Now, Busy: func() bool { return true }})
		e.Attach(s.source(), newDir(t))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.RunEmbedding(ctx, newDir(t)) }()
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if len(model.texts()) > 0 || e.OpenSpaces() > 0 {
			t.Error("it was opened at once")
		}
		start := time.Now()
		if hits := find(t, e, search.Request{Spaces: []string{"large"}, Query: "train 77", Arm: search.Keyword}); len(hits.Hits) == 0 {
			t.Error("nothing is found")
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("a search waited %v", waited)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestManySpacesOpen: of many spaces a bounded number is in RAM, with a bounded number of files, every memory gets its
// vectors once, and answers are those of an engine that has everything.
func TestManySpacesOpen(t *testing.T) {
	const spaces = 4 * maxOpen
	s, files := shelfOf(spaces), &openFiles{FS: newDir(t)}
	model := &fake{calibrated: true}
	attached(t, s, files, []embedding.Model{model}, func(t *testing.T, e *search.Engine) {
		settle()
		if err := e.Save(files); err != nil {
			t.Fatal(err)
		}
		model.texts() // so far
		all := search.New(search.Config{Models: []embedding.Model{model}, Now: time.Now})
		for i := range spaces {
			if err := all.Load(shelfSpace(i), s.memories(shelfSpace(i)), files); err != nil {
				t.Fatal(err)
			}
		}
		ofAll := files.count() - e.OpenSpaces()
		for i := range spaces {
			req := search.Request{Spaces: []string{shelfSpace(i), shelfSpace((i + 7) % spaces)}, Query: "coffee in the morning",
				Arm: search.Fusion, AsOf: time.Now(), Explain: true}
			if diff := cmp.Diff(find(t, all, req), find(t, e, req)); diff != "" {
				t.Fatalf("%s (-everything in RAM +opened):\n%s", shelfSpace(i), diff)
			}
			synctest.Wait()
			if n := e.OpenSpaces(); n > maxOpen {
				t.Fatalf("%d spaces are open; want %d at most", n, maxOpen)
			}
		}
		settle()
		if again := model.texts(); len(again) > 0 {
			t.Errorf("%d texts were embedded again: %q", len(again), again[0])
		}
		if n := files.count() - ofAll; n > maxOpen {
			t.Errorf("%d files are open; want one for each of %d spaces at most", n, maxOpen)
		}
	})
}

// TestDropSpace: nothing of a dropped space is found, or left in a file, and it can be filled again.
func TestDropSpace(t *testing.T) {
	s, files := shelfOf(2), &openFiles{FS: newDir(t)}
	attached(t, s, files, []embedding.Model{&fake{}}, func(t *testing.T, e *search.Engine) {
		settle()
		if err := e.Save(files); err != nil {
			t.Fatal(err)
		}
		open, req := files.count(), search.Request{Spaces: []string{shelfSpace(0)}, Query: "coffee in the morning"}
		if len(find(t, e, req).Hits) == 0 {
			t.Fatal("nothing is found before")
		}
		dropped := func() (names []string) {
			entries, err := files.ReadDir("index")
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), shelfSpace(0)+".") {
					names = append(names, entry.Name())
				}
			}
			return names
		}
		if len(dropped()) == 0 {
			t.Fatal("there are no files before")
		}
		kept := s.memories(shelfSpace(0))
		s.mu.Lock()
		delete(s.spaces, shelfSpace(0))
		s.mu.Unlock()
		if err := e.Drop(shelfSpace(0)); err != nil {
			t.Fatal(err)
		}
		if names := dropped(); len(names) > 0 || files.count() >= open {
			t.Errorf("left: %v, and %d of %d files are open", names, files.count(), open)
		}
		if hits := find(t, e, req).Hits; len(hits) > 0 {
			t.Errorf("found after it: %v", hits)
		}
		for _, m := range kept {
			s.put(e, shelfSpace(0), m.ID, m)
		}
		if len(find(t, e, req).Hits) == 0 {
			t.Error("nothing is found when it is filled again")
		}
	})
}

// TestCloseOnFullDisk: spaces whose files cannot be saved are closed nevertheless, and found afterwards.
func TestCloseOnFullDisk(t *testing.T) {
	const spaces = 3 * maxOpen
	s, files := shelfOf(spaces), &openFiles{FS: newDir(t), full: true}
	attached(t, s, files, []embedding.Model{&fake{}}, func(t *testing.T, e *search.Engine) {
		settle()
		if n := e.OpenSpaces(); n > maxOpen {
			t.Errorf("%d spaces are open; want %d at most", n, maxOpen)
		}
		for i := range spaces {
			got := find(t, e, search.Request{Spaces: []string{shelfSpace(i)}, Query: "coffee"})
			if len(got.Hits) != 1 {
				t.Errorf("%d hits in %s; want 1", len(got.Hits), shelfSpace(i))
			}
		}
	})
}

// TestChangeOfClosedSpace: what changes in a closed space is found as soon as it is searched, and what was removed is
// not.
func TestChangeOfClosedSpace(t *testing.T) {
	s := shelfOf(maxOpen + 2)
	attached(t, s, newDir(t), nil, func(t *testing.T, e *search.Engine) {
		for i := range maxOpen + 2 { // the first is closed by the last
			find(t, e, search.Request{Spaces: []string{shelfSpace(i)}, Query: "coffee"})
			synctest.Wait()
		}
		if e.IsOpen(shelfSpace(0)) {
			t.Fatal("the first space is still open")
		}
		s.put(e, shelfSpace(0), "a0", nil)
		s.put(e, shelfSpace(0), "d0", mem("d0", "A pot of jasmine tea"))
		s.put(e, "new", "n", mem("n", "Coffee beans from Ethiopia"))
		for _, tt := range []struct {
			space, query string
			want         int
		}{{shelfSpace(0), "coffee", 0}, {shelfSpace(0), "jasmine tea", 1}, {"new", "coffee beans", 1}, {"nowhere", "coffee", 0}} {
			if got := find(t, e, search.Request{Spaces: []string{tt.space}, Query: tt.query}); len(got.Hits) != tt.want {
				t.Errorf("%d hits for %q in %s; want %d", len(got.Hits), tt.query, tt.space, tt.want)
			}
		}
		synctest.Wait()
		if n := e.KnownSpaces(); n > maxOpen {
			t.Errorf("%d spaces are known; a closed one should leave nothing", n)
		}
	})
}

// TestOpenAndCloseUnderLoad: searches of random spaces find all acknowledged memories while others are closed.
func TestOpenAndCloseUnderLoad(t *testing.T) {
	const spaces = 3 * maxOpen
	s, fsys := shelfOf(spaces), newDir(t)
	e := search.New(search.Config{Models: []embedding.Model{&fake{calibrated: true}}, Now: time.Now})
	e.SetMaxOpen(maxOpen)
	e.Attach(s.source(), fsys)
	ctx, cancel := context.WithCancel(t.Context())
	var work, users sync.WaitGroup
	for _, run := range []func(context.Context) error{e.RunIndexing, e.RunClosing,
		func(ctx context.Context) error { return e.RunEmbedding(ctx, fsys) }} {
		work.Go(func() { _ = run(ctx) })
	}
	for u := range 4 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(u)))
			for i := range 200 {
				space, word := shelfSpace(r.IntN(spaces)), fmt.Sprintf("teapot%dx%d", u, i)
				s.put(e, space, word, mem(word, "It is called "+word))
				req := search.Request{Spaces: []string{space}, Query: word}
				if found, err := e.Search(ctx, req); err != nil || len(found.Hits) == 0 || found.Hits[0].Memory.ID != word {
					t.Errorf("%s is not found in %s: %v", word, space, err)
				}
				if i%50 == 0 {
					if err := e.Save(fsys); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	users.Wait()
	cancel()
	work.Wait()
}

// TestSaveErased: after a purge no file of a closed space holds what was erased.
func TestSaveErased(t *testing.T) {
	const spaces, many = maxOpen + 2, 250
	s, fsys := shelfOf(spaces), newDir(t)
	for i := range many { // enough for an index file
		s.put(nil, shelfSpace(0), fmt.Sprint("m", i), mem(fmt.Sprint("m", i), fmt.Sprintf("Xylophone lesson %d", i)))
	}
	secret := mem("secret", "The zanzibarian password")
	s.put(nil, shelfSpace(0), "secret", secret)
	attached(t, s, fsys, nil, func(t *testing.T, e *search.Engine) {
		for i := range spaces {
			find(t, e, search.Request{Spaces: []string{shelfSpace(i)}, Query: "coffee"})
			synctest.Wait()
		}
		file := "index/" + shelfSpace(0) + ".keyword"
		if data, err := durable.ReadFile(fsys, file); err != nil || !bytes.Contains(data, []byte("zanzibarian")) {
			t.Fatalf("the file of the closed space should hold the word: %v", err)
		}
		s.put(e, shelfSpace(0), "secret", nil)
		if err := e.SaveErased(fsys); err != nil {
			t.Fatal(err)
		}
		if data, err := durable.ReadFile(fsys, file); err != nil || bytes.Contains(data, []byte("zanzibarian")) {
			t.Errorf("the file still holds the erased word, or is gone: %v", err)
		}
		for i := range many { // now it is too small for a file, which must not stay as it was
			s.put(e, shelfSpace(0), fmt.Sprint("m", i), nil)
		}
		if err := e.SaveErased(fsys); err != nil {
			t.Fatal(err)
		}
		if data, err := durable.ReadFile(fsys, file); err == nil && strings.Contains(string(data), "xylophon") {
			t.Error("the file of a space that is small now still holds the erased words")
		}
	})
}

// TestOldVectorFiles: files of programs that kept vectors and token sets apart are removed, and made again.
func TestOldVectorFiles(t *testing.T) {
	s, fsys := shelfOf(2), newDir(t)
	old := []string{"space0.vectors", "space0.e5.vectors", "space0.e5.tokens", "gone.minilm.tokens", ".typical.e5.vectors"}
	kept := []string{"space0.keyword"}
	for _, name := range slices.Concat(old, kept) {
		if err := fsys.MkdirAll("index"); err != nil {
			t.Fatal(err)
		}
		err := durable.WriteFile(fsys, "index/"+name, func(w io.Writer) error {
			_, err := io.WriteString(w, "MSVC\x01\x00\x00\x00")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second start finds nothing old
		attached(t, s, fsys, []embedding.Model{&fake{}}, func(t *testing.T, e *search.Engine) {
			settle()
			if err := e.SaveVectors(fsys); err != nil {
				t.Fatal(err)
			}
		})
		for _, name := range old {
			if _, err := durable.ReadFile(fsys, "index/"+name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range append(kept, shelfSpace(0)+".server.vectors", shelfSpace(1)+".server.vectors") {
			if _, err := durable.ReadFile(fsys, "index/"+name); err != nil {
				t.Error(err)
			}
		}
	}
}
