package recall

import (
	"hash/maphash"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// told is what an agent was told at the start of its session, as far as it counts as shown: the memories whose text stood there whole. Nothing of
// it is written: it follows from the context that is kept with the session. The zero value is of a session that was told nothing.
type told struct {
	sum   uint64          // of the context
	lines map[uint64]bool // of memories in it, by the hash of their text
	again bool            // it was told once more
	at    int             // after so many compactions
}

// lineSeed is the same for all hashes of a process; they are never stored.
var lineSeed = maphash.MakeSeed()

// follow is told what the session has at hand. Like what recalls have shown, what an agent was told at the start is forgotten with each compaction
// of its context, until it is told again.
func (t *told) follow(w *memory.Working) {
	if w.Told == "" || w.ToldAt != w.Compactions && !(t.again && t.at == w.Compactions) {
		t.sum, t.lines = 0, nil
		return
	}
	if sum := maphash.String(lineSeed, w.Told); t.lines == nil || t.sum != sum {
		t.sum, t.lines = sum, linesOf(w.Told)
	}
}

// has reports whether the text of m, as it is now, stood in the context whole.
func (t *told) has(m *memory.Memory) bool {
	return len(t.lines) > 0 && t.lines[maphash.String(lineSeed, oneLine(m))]
}

// linesOf are the texts of memories in a context: the lines under the headings of its memories. An index has none.
func linesOf(context string) map[uint64]bool {
	lines := map[uint64]bool{}
	section, heading := false, false
	for line := range strings.SplitSeq(context, "\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			if section {
				return lines
			}
			section = line == vocabulary[English].memory || line == vocabulary[Chinese].memory
		case strings.HasPrefix(line, "## "):
			heading = section
		case heading && strings.HasPrefix(line, "- "):
			if end := strings.LastIndex(line, " ("); end > 1 { // behind the text stands its age
				lines[maphash.String(lineSeed, line[2:end])] = true
			}
		}
	}
	return lines
}

// oneLine is what a memory says, on one line.
func oneLine(m *memory.Memory) string { return strings.Join(strings.Fields(clean(said(m))), " ") }
