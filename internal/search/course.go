package search

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// course is what memories were learnt together: in one session, or on one day (UTC) when they name no session. Within it
// they are in order of creation.
type course struct {
	session string
	day     int32
}

func courseOf(m *memory.Memory) course {
	if m.Context != nil && m.Context.LearnedFrom != "" {
		return course{session: m.Context.LearnedFrom}
	}
	for i := range m.Evidence {
		if s := m.Evidence[i].Session; s != "" {
			return course{session: "session_" + s}
		}
	}
	return course{day: int32(min(max(m.CreatedAt.Unix(), -farthest), farthest) / int64(24*time.Hour/time.Second))}
}

// mostMoved is how far from where it was put a document is looked for before the whole course is searched: what is added together is in order of id.
const mostMoved = 64

// place is where a document is, or would be, in the list of its course: mostly near where it was put, because what is learnt joins at the end.
func (x *index) place(list []uint32, doc uint32) (int, bool) {
	put := int(x.placed[doc])
	if put < len(list) && list[put] == doc {
		return put, true
	}
	for at := max(0, put-mostMoved); at < min(len(list), put+mostMoved+1); at++ {
		if list[at] == doc {
			return at, true
		}
	}
	if n := len(list); n > 0 && x.learnt(list[n-1], doc) < 0 {
		return n, false
	}
	return slices.BinarySearchFunc(list, doc, x.learnt)
}

// learnt orders the documents of a course.
func (x *index) learnt(a, b uint32) int {
	if c := cmp.Compare(x.facts[a].detail.created, x.facts[b].detail.created); c != 0 {
		return c
	}
	return strings.Compare(x.docs[a].ID, x.docs[b].ID)
}

// joinLocked puts a document into its course.
func (x *index) joinLocked(doc uint32) {
	c := courseOf(x.docs[doc])
	list := x.courses[c]
	at, _ := x.place(list, doc)
	x.courses[c] = slices.Insert(list, at, doc)
	x.placed[doc] = uint32(at)
}

// leaveLocked takes a document out of its course.
func (x *index) leaveLocked(doc uint32) {
	c := courseOf(x.docs[doc])
	list := x.courses[c]
	at, found := x.place(list, doc)
	switch {
	case !found:
	case len(list) == 1:
		delete(x.courses, c)
	default:
		x.courses[c] = slices.Delete(list, at, at+1)
	}
}
