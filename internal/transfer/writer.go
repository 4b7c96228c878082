package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Writer writes lines that Import takes as things of another system. It is for one goroutine.
type Writer struct {
	exporter
	lines int64
}

// NewWriter begins such lines. from names the system, in lower case.
func NewWriter(ctx context.Context, w io.Writer, from string) (*Writer, error) {
	first, err := json.Marshal(header{Kind: kindExport, Version: Version, From: from})
	if err != nil {
		return nil, fmt.Errorf("begin import: %w", err)
	}
	out := &Writer{exporter: exporter{Encoder: strictjson.NewEncoder(w), ctx: ctx}, lines: 1}
	out.Raw(first)
	out.Line()
	return out, out.Err()
}

// Memory writes a memory and returns its line, which the report of the import names.
func (w *Writer) Memory(m *memory.Memory) (line int64, err error) {
	w.lines++
	return w.lines, w.line("", Memory, func() { jsonstore.EncodeMemory(w.Encoder, m) })
}

// Entry writes an entry of the daily log of date and returns its line.
func (w *Writer) Entry(date string, e *memory.Entry) (line int64, err error) {
	w.lines++
	return w.lines, w.line("", Entry, func() { dailylog.EncodeEntry(w.Encoder, e) }, "date", date)
}

// Flush hands on what was written.
func (w *Writer) Flush() error { return w.Encoder.Flush() }
