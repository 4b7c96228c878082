package transfer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// header is the first line of an export. From is set in lines that were made from another system.
type header struct {
	Kind    string `json:"memsidecar"`
	Version int    `json:"version"`
	Store   string `json:"store,omitempty"`
	Epoch   string `json:"epoch,omitempty"`
	LSN     int64  `json:"lsn,omitempty"`
	At      string `json:"at,omitempty"`
	From    string `json:"from,omitempty"` // the other system that it was made of
}

// Export writes everything that spaces hold, all spaces when none is named, one thing a line, as of one position of
// the journal. Writes continue meanwhile. Error: memory.ErrNotFound for a space that does not exist.
func (s *Service) Export(ctx context.Context, w io.Writer, spaces []string) error {
	view := s.store.OpenReadView()
	defer view.Close()
	for _, name := range spaces {
		if !slices.Contains(view.Spaces(), name) {
			return &memory.NotFoundError{Kind: "space", Name: name}
		}
	}
	if len(spaces) == 0 {
		spaces = view.Spaces()
	}
	first, err := json.Marshal(header{
		Kind: kindExport, Version: Version, Store: view.Origin, Epoch: view.Epoch, LSN: view.LSN, At: s.now().UTC().Format("2006-01-02T15:04:05Z"),
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	e := &exporter{Encoder: strictjson.NewEncoder(w), ctx: ctx}
	e.Raw(first)
	e.Line()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(spaces))) {
		if err := e.space(view.Space(name)); err != nil {
			return fmt.Errorf("export space %s: %w", name, err)
		}
	}
	if err := e.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// ExportFile writes the memory.json of one space as it is now; "" is the default space.
func (s *Service) ExportFile(_ context.Context, w io.Writer, space string) error {
	space = cmp.Or(space, memory.DefaultSpace)
	view := s.store.OpenReadView()
	defer view.Close()
	if !slices.Contains(view.Spaces(), space) {
		return &memory.NotFoundError{Kind: "space", Name: space}
	}
	extra, err := jsonstore.UnknownFields(s.fs, space)
	if err != nil {
		return fmt.Errorf("export space %s: %w", space, err)
	}
	return jsonstore.Encode(w, jsonstore.FileOf(view.Space(space), s.now(), extra))
}

// exporter writes the lines of an export.
type exporter struct {
	*strictjson.Encoder
	ctx context.Context
}

// line writes one line: the space, the pairs of names and values in where, and the thing under the name of its
// kind.
func (e *exporter) line(space, kind string, value func(), where ...string) error {
	e.BeginInline('{')
	e.Field("space")
	e.String(space)
	for i := 0; i < len(where); i += 2 {
		e.Field(where[i])
		e.String(where[i+1])
	}
	e.Field(kind)
	value()
	e.End('}')
	e.Line()
	return cmp.Or(e.ctx.Err(), e.Err())
}

// space writes a space. Forgotten values come last: whether a memory is let in depends on what was forgotten at the
// destination, not on what the export brings along.
func (e *exporter) space(v *store.Space) error {
	for _, m := range v.Memories() {
		m = m.Clone()
		// Unknown fields may hold line breaks, and a record is one line.
		m.SetExtra(compact(m.Extra()))
		if m.Context() != nil {
			m.Context().Extra = compact(m.Context().Extra)
		}
		if len(m.StructuredData()) > 0 {
			m.SetStructuredData(compactRaw(m.StructuredData()))
		}
		if err := e.line(v.Name(), Memory, func() { codec.EncodeMemory(e.Encoder, m) }); err != nil {
			return err
		}
	}
	for _, d := range v.Days() {
		if err := e.day(v, d.Date); err != nil {
			return fmt.Errorf("log %s: %w", d.Date, err)
		}
	}
	for _, r := range v.Archived() {
		if err := e.line(v.Name(), Archived, func() { dailylog.EncodeArchived(e.Encoder, r) }); err != nil {
			return err
		}
	}
	for _, s := range v.Sessions() {
		if err := e.session(v, s); err != nil {
			return fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	if text := v.Summary(); text != "" {
		if err := e.line(v.Name(), Summary, func() { e.String(text) }); err != nil {
			return err
		}
	}
	forgotten := v.Forgotten()
	// Sorted, so that two exports of one state are equal files.
	for _, hash := range slices.Sorted(maps.Keys(forgotten)) {
		err := e.line(v.Name(), Forgotten, func() {
			e.Begin('{')
			e.Field("hash")
			e.String(hash)
			e.Field("at")
			e.Time(forgotten[hash].UTC())
			e.End('}')
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// day writes a daily log, one line for the day and one for each entry.
func (e *exporter) day(v *store.Space, date string) error {
	header, entries, err := v.Log(date)
	if err != nil {
		return err
	}
	d := *header
	d.Extra = compact(d.Extra)
	if err := e.line(v.Name(), Day, func() { dailylog.EncodeDay(e.Encoder, &d) }); err != nil {
		return err
	}
	for _, entry := range entries {
		n := *entry
		n.Extra = compact(n.Extra)
		if err := e.line(v.Name(), Entry, func() { codec.EncodeEntry(e.Encoder, &n) }, "date", date); err != nil {
			return err
		}
	}
	return nil
}

// session writes a session and its messages.
func (e *exporter) session(v *store.Space, s *memory.Session) error {
	if err := e.line(v.Name(), Session, func() { e.marshal(s) }); err != nil {
		return err
	}
	messages, err := v.Messages(s.ID, 1)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := e.line(v.Name(), message, func() { e.marshal(m) }, "session_id", s.ID); err != nil {
			return err
		}
	}
	return nil
}

// marshal writes a value that has no encoder of ours.
func (e *exporter) marshal(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		e.Fail(err)
	}
	e.Raw(raw)
}

// compact removes line breaks from values that were read from a file for people: an export has one thing a line.
func compact(extra map[string]json.RawMessage) map[string]json.RawMessage {
	if len(extra) == 0 {
		return extra
	}
	out := make(map[string]json.RawMessage, len(extra))
	for name, raw := range extra {
		out[name] = compactRaw(raw)
	}
	return out
}

// compactRaw is compact for one value. Invalid JSON is reported when it is written.
func compactRaw(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw // said when it is written
	}
	return b.Bytes()
}
