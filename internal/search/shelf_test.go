package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// kinds are texts that share words with those of their kind only.
var kinds = []string{
	"nightly backups of %s are restored every month", "%s 项目的测试需要先启动数据库容器", "whoever reviews %s waits for a second pair of eyes",
	"the staging copy of %s answers slowly at noon", "部署 %s 之前必须备份目录",
}

func ofKind(kind, n int) *memory.Memory {
	return mem(fmt.Sprint("k", n), fmt.Sprintf(kinds[kind], fmt.Sprint("project", n)))
}

// TestAlikeSideBySide: memories of one kind lie in few blocks, however they come mixed.
func TestAlikeSideBySide(t *testing.T) {
	const each = 6000
	memories := make([]*memory.Memory, 0, each*len(kinds))
	for n := range each * len(kinds) {
		memories = append(memories, ofKind(n%len(kinds), n))
	}
	e := loaded(t, memories)
	for _, word := range []string{"restor", "容器", "pair", "stage", "备份"} {
		got := e.Blocks("", word)
		mixed := 1024 / 64 // blocks that were filled before it began
		if ideal := each / 64; got < ideal/2 || got > mixed+ideal+len(kinds) {
			t.Errorf("%q is in %d blocks, want at most %d", word, got, mixed+ideal+len(kinds))
		}
	}
}

// TestAlikeAfterLoad: what lay side by side does after a start, and what is added then does, too.
func TestAlikeAfterLoad(t *testing.T) {
	const before, after = 20_000, 10_000
	memories := make([]*memory.Memory, before+after)
	for n := range memories {
		memories[n] = ofKind(n%len(kinds), n)
	}
	fsys := newDir(t)
	saved := loaded(t, memories[:before])
	if err := saved.Save(fsys); err != nil {
		t.Fatal(err)
	}
	got, log := load(t, memories[:before], fsys)
	if !strings.Contains(log, "indexed=0") {
		t.Errorf("something was indexed anew: %s", log)
	}
	same := func() {
		t.Helper()
		for _, query := range []string{"nightly backups restored", "部署 project77 之前要备份什么", "project19999 second pair of eyes"} {
			req := search.Request{Query: query, AsOf: epoch, Explain: true}
			want := find(t, saved, req)
			if diff := cmp.Diff(want, find(t, got, req)); diff != "" || len(want.Hits) == 0 {
				t.Errorf("%q: %d hits (-saved +loaded):\n%s", query, len(want.Hits), diff)
			}
		}
	}
	same()
	const word = "restor"
	mixed := got.Blocks("", word)
	if most := saved.Blocks("", word) + len(kinds); mixed > most {
		t.Errorf("%q is in %d blocks after a load, want at most %d", word, mixed, most)
	}
	for n, m := range memories[before:] {
		for _, e := range []*search.Engine{saved, got} {
			e.Apply(record(int64(n+1), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
		}
	}
	same()
	if more := got.Blocks("", word) - mixed; more > after/len(kinds)/64+len(kinds) {
		t.Errorf("%d more memories with %q are in %d more blocks", after/len(kinds), word, more)
	}
}

// TestShelvesKeepSmall: memories that come and go leave no more room unused than some documents for each block being filled.
func TestShelvesKeepSmall(t *testing.T) {
	const keep = 4000
	e := search.New(search.Config{})
	lsn := int64(0)
	apply := func(c *journal.MemoryChange) {
		lsn++
		e.Apply(record(lsn, "", journal.Change{Memory: c}))
	}
	for n := range 8 * keep {
		m := ofKind(n*7%11%len(kinds), n)
		apply(&journal.MemoryChange{ID: m.ID, After: m})
		if old := n - keep; old >= 0 {
			m := ofKind(old*7%11%len(kinds), old)
			apply(&journal.MemoryChange{ID: m.ID, Before: m})
		}
	}
	if size := e.Documents(""); size < keep || size > keep*5/4+128*64 {
		t.Errorf("%d documents for %d memories", size, keep)
	}
	got, err := e.Search(t.Context(), search.Request{Query: fmt.Sprint("project", 8*keep-1)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{fmt.Sprint("k", 8*keep-1)}; !slices.Equal(ids(got.Hits), want) {
		t.Errorf("found %v, want %v", ids(got.Hits), want)
	}
}
