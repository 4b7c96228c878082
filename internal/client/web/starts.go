package web

import (
	"net/http"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

const (
	defaultStarts = 20  // newest sessions that are looked at
	maxStarts     = 100 // as many contexts as a response holds comfortably, of some 10 kB each
	maxRequest    = 300 // characters of a first request
	openingLength = 20  // messages among which the first request is
)

// startBody is what one session got at its start. Request is the first line of what the user asked for first.
type startBody struct {
	Session any    `json:"session"`
	Request string `json:"request"`
	Context string `json:"context"`
}

// listStarts serves GET session-starts: what the newest sessions of a space were told at their start, newest first. A
// session that got no memories is left out. One request instead of two for each session, which a browser sends six at
// a time.
func (s *Server) listStarts(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "limit")
	space, limit := q.text("space"), q.int32("limit")
	if q.err == nil && (limit < 0 || limit > maxStarts) {
		q.err = invalidRequest("limit must be 1 to %d", maxStarts)
	}
	if q.err != nil {
		return q.err
	}
	if limit == 0 {
		limit = defaultStarts
	}
	list, err := s.sessions.List(r.Context(), &pb.SessionServiceListRequest{Space: space, PageSize: limit})
	if err != nil {
		return err
	}
	starts := []startBody{}
	for _, session := range list.GetSessions() {
		got, err := s.sessions.Get(r.Context(), &pb.SessionServiceGetRequest{
			Space: space, SessionId: session.GetId(), IncludeContext: true,
		})
		if err != nil {
			return err
		}
		if got.GetContext() == "" {
			continue
		}
		page, err := s.sessions.ListMessages(r.Context(), &pb.SessionServiceListMessagesRequest{
			Space: space, SessionId: session.GetId(), PageSize: openingLength,
		})
		if err != nil {
			return err
		}
		starts = append(starts, startBody{messageJSON(session), firstRequest(page.GetMessages()), got.GetContext()})
	}
	writeJSON(w, http.StatusOK, map[string]any{"starts": starts})
	return nil
}

// firstRequest is the first line of the first message of the user, "" for none.
func firstRequest(messages []*pb.SessionMessage) string {
	for _, m := range messages {
		text := strings.TrimSpace(m.GetContent())
		if m.GetRole() != pb.Role_ROLE_USER || text == "" {
			continue
		}
		line, _, _ := strings.Cut(text, "\n")
		if runes := []rune(line); len(runes) > maxRequest {
			line = string(runes[:maxRequest])
		}
		return line
	}
	return ""
}
