package publish_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// publishAs publishes with a backup or without.
func publishAs(f *publish.Files, name string, backup bool, revision int64, text string) error {
	_, err := f.Replace(name, revision, backup, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

// calls lists the calls of one publication.
func calls(t *testing.T, fsys *watched, op func() error) []string {
	t.Helper()
	var list []string
	fsys.before = func(call string) { list = append(list, call) }
	must(t, op())
	fsys.before = nil
	return list
}

// Somebody else writes the file, in every way, between any two calls of a publication. Whatever Replace says, their
// bytes are under the name or an edit; nothing is lost, and nothing is said twice.
func TestEditorAtEveryCall(t *testing.T) {
	for _, backup := range []bool{true, false} {
		for how, write := range editors {
			t.Run(fmt.Sprintf("%s/backup=%v", how, backup), func(t *testing.T) {
				if !backup {
					editorAtEveryCall(t, crashfs.New(), backup, write)
					return
				}
				onBoth(t, func(t *testing.T, fsys durable.FS) { editorAtEveryCall(t, fsys, backup, write) })
			})
		}
	}
}

func editorAtEveryCall(t *testing.T, inner durable.FS, backup bool, write func(durable.FS, string, string) error) {
	fsys := &watched{FS: inner}
	f := files(t, fsys)
	var told []publish.Edit
	f.OnDisplaced = func(e publish.Edit) { told = append(told, e) }
	const name = "memory.json"
	must(t, publishAs(f, name, backup, 1, "published at first"))
	must(t, publishAs(f, name, backup, 2, "published at second"))
	steps := calls(t, fsys, func() error { return publishAs(f, name, backup, 3, "published at third") })
	places := map[string]int{}
	for at := range steps {
		mine, text := fmt.Sprintf("mine, before call %d", at), fmt.Sprintf("published while call %d", at)
		told = nil
		n := 0
		fsys.before = func(string) {
			if n++; n-1 == at {
				must(t, write(inner, name, mine))
			}
		}
		err := publishAs(f, name, backup, int64(10+at), text)
		fsys.before = nil
		switch {
		case err != nil && !errors.Is(err, publish.ErrEdited) && !errors.Is(err, publish.ErrBusyFile):
			t.Fatalf("before %s: %v", steps[at], err)
		case content(inner, name) == mine:
			places["in place"]++
			if err := publishAs(f, name, backup, 99, "over it"); !errors.Is(err, publish.ErrEdited) {
				t.Fatalf("before %s: the next publication returned %v", steps[at], err)
			}
			want(t, inner, name, mine)
			must(t, f.Claim(name, hash(mine)))
		case !safe(t, inner, name, mine):
			t.Fatalf("before %s: %q is lost; Replace returned %v", steps[at], mine, err)
		case len(told) != 1 || told[0].Hash != hash(mine) || told[0].File != name:
			t.Fatalf("before %s: told of %+v", steps[at], told)
		default:
			places["edit"]++
		}
		must(t, publishAs(f, name, backup, int64(50+at), "published after it"))
		want(t, inner, name, "published after it")
		tidy(t, inner)
	}
	if places["in place"] == 0 || places["edit"] == 0 {
		t.Errorf("saw %v of %d calls", places, len(steps))
	}
}

// Without an exchange there is one call before which a file put under the name is lost. Everything else is not.
func TestEditorWithoutExchange(t *testing.T) {
	for _, links := range []bool{true, false} {
		for how, write := range editors {
			t.Run(fmt.Sprintf("%s/links=%v", how, links), func(t *testing.T) {
				inner := crashfs.New()
				fsys := &watched{FS: inner, noExchange: true, noLinks: !links, noLeases: true}
				f := files(t, fsys)
				const name = "memory.json"
				must(t, publishAs(f, name, true, 1, "published at first"))
				must(t, publishAs(f, name, true, 2, "published at second"))
				steps := calls(t, fsys, func() error { return publishAs(f, name, true, 3, "published at third") })
				for at, step := range steps {
					mine, n := fmt.Sprintf("mine, before call %d", at), 0
					fsys.before = func(string) {
						if n++; n-1 == at {
							must(t, write(inner, name, mine))
						}
					}
					err := publishAs(f, name, true, int64(10+at), "published meanwhile")
					fsys.before = nil
					window := strings.HasPrefix(step, "rename memory.json.tmp-") || // and the second half of the look before it
						at+1 < len(steps) && strings.HasPrefix(steps[at+1], "rename memory.json.tmp-")
					inPlace := how == "in place" || how == "truncating"
					switch {
					case content(inner, name) == mine:
						must(t, f.Claim(name, hash(mine)))
					case !safe(t, inner, name, mine) && (!window || inPlace && links):
						t.Fatalf("before %s: %q is lost; Replace returned %v", step, mine, err)
					}
					must(t, publishAs(f, name, true, int64(50+at), "published after it"))
					tidy(t, inner)
				}
			})
		}
	}
}
