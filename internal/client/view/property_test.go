package view_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var entryFormat = map[view.Format]bool{view.Claude: true, view.Vibe: true}

// person edits the files of a view, each time with a word of her own.
type person struct {
	w     *world
	rt    *rapid.T
	words int
	saved map[string][]string // earlier contents of files
	shown map[string]string   // what the files were after the last round
	gone  map[string]bool     // words of the daemon that she took out of a file
}

func (p *person) word() string {
	p.words++
	return fmt.Sprintf("person%04d", p.words)
}

// some picks a file that holds memories.
func (p *person) some() (name, text string, ok bool) {
	files := p.w.tree()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(n string) bool {
		return entryFormat[p.w.format] && n == "MEMORY.md" || n == "HISTORY.md" || strings.Contains(n, "/")
	})
	if len(names) == 0 {
		return "", "", false
	}
	name = rapid.SampledFrom(names).Draw(p.rt, "file")
	p.saved[name] = append(p.saved[name], files[name])
	return name, files[name], true
}

func (p *person) save(name, text string) {
	if rapid.Bool().Draw(p.rt, "in place") {
		p.w.write(name, text)
	} else {
		p.w.over(name, text)
	}
}

var itemLine = regexp.MustCompile(`(?m)^- (.*)$`)

// lines is where items stand in a file.
func lines(text string) [][]int { return itemLine.FindAllStringSubmatchIndex(text, -1) }

func (p *person) edit() {
	name, text, ok := p.some()
	if !ok {
		return
	}
	word := p.word()
	if entryFormat[p.w.format] {
		p.save(name, strings.TrimRight(text, "\n")+" "+word+"\n")
	} else if at := lines(text); len(at) > 0 {
		i := rapid.IntRange(0, len(at)-1).Draw(p.rt, "item")
		p.save(name, text[:at[i][3]]+" "+word+text[at[i][3]:])
	}
}

func (p *person) drop() {
	name, text, ok := p.some()
	if !ok {
		return
	}
	if text != p.shown[name] {
		p.takes(p.shown[name]) // she takes out what stood there, whatever she has put in its place
	}
	if entryFormat[p.w.format] {
		p.takes(text)
		p.w.remove(name)
	} else if at := lines(text); len(at) > 0 {
		i := rapid.IntRange(0, len(at)-1).Draw(p.rt, "item")
		p.takes(text[at[i][0]:at[i][1]])
		p.save(name, text[:at[i][0]]+strings.TrimPrefix(text[at[i][1]:], "\n"))
	}
}

var daemonWord = regexp.MustCompile(`word\d+`)

func (p *person) takes(text string) {
	for _, word := range daemonWord.FindAllString(text, -1) {
		p.gone[word] = true
	}
}

func (p *person) write() {
	word := p.word()
	if entryFormat[p.w.format] {
		p.w.write("user_"+word+".md", "---\nname: "+word+"\ndescription: something\ntype: user\n---\n\nNew "+word+"\n")
		return
	}
	if name, text, ok := p.some(); ok {
		p.save(name, text+"\n- New "+word+"\n")
	}
}

// stale saves what she had open for a while.
func (p *person) stale() {
	names := slices.Sorted(maps.Keys(p.saved))
	if len(names) == 0 {
		return
	}
	name := rapid.SampledFrom(names).Draw(p.rt, "open file")
	version := rapid.SampledFrom(p.saved[name]).Draw(p.rt, "version")
	if entryFormat[p.w.format] && !strings.Contains(version, "revision: ") {
		p.takes(p.shown[name]) // her own first text says of itself that it is the newest
	}
	p.save(name, version)
}

// held lists her words that stand in files.
func (p *person) held() []string {
	var out []string
	for _, text := range p.w.tree() {
		out = append(out, regexp.MustCompile(`person\d{4}`).FindAllString(text, -1)...)
	}
	return out
}

// everything is all that was ever in the store, and what was kept aside.
func (w *world) everything() string {
	var b strings.Builder
	for n := int64(1); n <= w.store.LSN(); n++ {
		rec, err := w.store.Operation(w.t.Context(), n)
		if err != nil {
			continue
		}
		raw, err := json.Marshal(rec)
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		b.Write(raw)
	}
	kept, _ := filepath.Glob(filepath.Join(w.dir, view.Dir, "kept", "*"))
	for _, name := range kept {
		data, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		b.Write(data)
	}
	return b.String()
}

// said is what a view says, without file names and versions.
func (w *world) said() []string {
	// A file keeps the language of its headings.
	marks := regexp.MustCompile(`<!-- memsidecar \d+ -->|(?m)^#+ .*$`)
	out := []string{}
	for name, text := range w.tree() {
		if !entryFormat[w.format] {
			out = append(out, marks.ReplaceAllString(text, ""))
		} else if name != "MEMORY.md" && !strings.Contains(text, "is a copy") {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// TestInterleavingsConverge lets a person and the daemon change things in any order, with rounds and restarts in
// between. Afterwards the files say what the store says, and whatever the person wrote that a round saw was in the
// store at some time, or is kept, and what the daemon said last is there unless somebody took it out.
func TestInterleavingsConverge(t *testing.T) {
	for _, format := range []view.Format{view.Claude, view.Context} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { interleave(t, rt, format) })
		})
	}
}

func interleave(t *testing.T, rt *rapid.T, format view.Format) {
	w := openIn(rt, t, format, tempDir(t))
	p := &person{w: w, rt: rt, saved: map[string][]string{}, gone: map[string]bool{}}
	sync := func(o ...view.Options) {
		w.sync(o...)
		p.shown = w.tree()
	}
	n := 0
	says := map[string]string{} // the word that the daemon gave a memory last
	add := func() {
		n++
		category := rapid.SampledFrom([]string{memory.Facts, memory.Preferences, memory.Procedural, "recipes"}).Draw(rt,
			"category")
		text := rapid.SampledFrom([]string{"The daemon says word%d", "守护进程记下第word%d条\n\n- 第二行",
			"**bold** word%d [link](x.md): `code`"}).Draw(rt, "text")
		says[fmt.Sprint("m", n)] = fmt.Sprint("word", n)
		w.add(fmt.Sprint("m", n), category, fmt.Sprintf(text, n))
	}
	for range rapid.IntRange(1, 6).Draw(rt, "memories") {
		add()
	}
	sync()
	seen := map[string]bool{}
	round := func(o view.Options) {
		for _, word := range p.held() {
			seen[word] = true
		}
		sync(o)
	}
	active := func(f func(id string)) {
		if len(w.contents()) == 0 {
			return
		}
		var ids []string
		for _, m := range w.store.Space("default").Memories() {
			if m.IsActive() {
				ids = append(ids, m.ID)
			}
		}
		slices.Sort(ids)
		f(rapid.SampledFrom(ids).Draw(rt, "memory"))
	}
	steps := map[string]func(){
		"person edits": p.edit, "person drops": p.drop, "person writes": p.write,
		"person saves an old version": p.stale,
		"daemon adds":                 add,
		"daemon changes": func() {
			active(func(id string) {
				n++
				says[id] = fmt.Sprint("word", n)
				w.set(id, "Changed to "+says[id])
			})
		},
		"daemon retires": func() {
			active(func(id string) {
				delete(says, id)
				w.retire(id)
			})
		},
		"round":          func() { round(view.Options{}) },
		"round in watch": func() { w.clock.Advance(1e9); round(view.Options{WaitForWriters: true}) },
		"last moment":    func() { w.before = add; round(view.Options{}) },
		"restart":        w.restart,
	}
	names := slices.Sorted(maps.Keys(steps))
	for range rapid.IntRange(3, 14).Draw(rt, "steps") {
		steps[rapid.SampledFrom(names).Draw(rt, "step")]()
	}
	w.before = nil
	round(view.Options{Accept: true})
	w.settled(view.Options{Accept: true})

	other := openIn(rt, t, format, tempDir(t))
	other.store, other.svc = w.store, w.svc
	other.restart()
	other.settled()
	if diff := cmp.Diff(other.said(), w.said()); diff != "" {
		rt.Fatalf("the files do not say what the store says (-store +files):\n%s", diff)
	}
	now := strings.Join(w.contents(), "\n") + "\n"
	for id, word := range says {
		if !p.gone[word] && !regexp.MustCompile(word+`\D`).MatchString(now) {
			rt.Fatalf("%s of memory %s is gone, and nobody took it out: %s", word, id, now)
		}
	}
	all := w.everything()
	for word := range seen {
		if !strings.Contains(all, word) {
			rt.Fatalf("%s was in a file and is nowhere", word)
		}
	}
}
