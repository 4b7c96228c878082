package search

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// sessionKey groups memories learnt together: in one session, or on one day (UTC) when they name no session.
type sessionKey struct {
	session string
	day     int32
}

func sessionKeyOf(m *memory.Memory) sessionKey {
	if m.Context() != nil && m.Context().LearnedFrom != "" {
		return sessionKey{session: m.Context().LearnedFrom}
	}
	for i := range m.Evidence() {
		if s := m.Evidence()[i].Session; s != "" {
			return sessionKey{session: "session_" + s}
		}
	}
	seconds := min(max(m.CreatedAt.Unix(), -maxUnixSeconds), maxUnixSeconds)
	return sessionKey{day: int32(seconds / int64(24*time.Hour/time.Second))}
}

// sessionPosition returns the position of a document in its session, or where it would be inserted.
func (x *invertedIndex) sessionPosition(session []uint32, doc uint32) (int, bool) {
	if n := len(session); n > 0 && x.compareCreation(session[n-1], doc) < 0 {
		return n, false // new documents mostly come last
	}
	return slices.BinarySearchFunc(session, doc, x.compareCreation)
}

// compareCreation orders the documents of a session.
func (x *invertedIndex) compareCreation(a, b uint32) int {
	if c := cmp.Compare(x.features[a].created, x.features[b].created); c != 0 {
		return c
	}
	return strings.Compare(x.docs[a].ID, x.docs[b].ID)
}

// sessionLinks are the documents before and after one in its session, or in its day when it names no session; noDoc for
// none.
type sessionLinks struct {
	previous uint32 // with ofDay when it is of a day, whose memories need not belong together
	next     uint32
}

const (
	ofDay = 1 << 31
	noDoc = ofDay - 1
)

var unlinked = sessionLinks{noDoc, noDoc}

// inSession returns the links, none for those of a day.
func (l sessionLinks) inSession() sessionLinks {
	if l.previous&ofDay != 0 {
		return unlinked
	}
	return l
}

// inAny returns the links, of a session or a day alike.
func (l sessionLinks) inAny() sessionLinks { return sessionLinks{l.previous &^ ofDay, l.next} }

// link connects the neighbours at a position of a session: the documents before and at it.
func (x *invertedIndex) link(key sessionKey, session []uint32, at int) {
	before, after := uint32(noDoc), uint32(noDoc)
	if at > 0 {
		before = session[at-1]
	}
	if at < len(session) {
		after = session[at]
	}
	if before != noDoc {
		x.links[before].next = after
	}
	if after != noDoc {
		x.links[after].previous = before
		if key.session == "" {
			x.links[after].previous |= ofDay
		}
	}
}

// joinSession adds a document to its session.
func (x *invertedIndex) joinSession(doc uint32) {
	key := sessionKeyOf(x.docs[doc])
	session := x.sessions[key]
	at, _ := x.sessionPosition(session, doc)
	session = slices.Insert(withRoom(session, 1), at, doc)
	x.sessions[key] = session
	x.link(key, session, at)
	x.link(key, session, at+1)
}

// leaveSession removes a document from its session.
func (x *invertedIndex) leaveSession(doc uint32) {
	key := sessionKeyOf(x.docs[doc])
	session := x.sessions[key]
	at, found := x.sessionPosition(session, doc)
	if !found {
		return
	}
	session = slices.Delete(session, at, at+1)
	x.links[doc] = unlinked
	x.link(key, session, at)
	if len(session) == 0 {
		delete(x.sessions, key)
		return
	}
	x.sessions[key] = session
}
