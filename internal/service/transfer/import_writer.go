package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Writer writes lines that Import reads as things of another system. It is for one goroutine.
type Writer struct {
	exporter
	lines int64
}

// NewWriter writes the header. from names the other system, in lower case.
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

// Memory writes a memory and returns the number of its line, which the report of the import uses.
func (w *Writer) Memory(m *memory.Memory) (line int64, err error) {
	w.lines++
	return w.lines, w.line("", Memory, func() { codec.EncodeMemory(w.Encoder, m) })
}

// Entry writes an entry of the daily log of date and returns the number of its line.
func (w *Writer) Entry(date string, e *memory.Entry) (line int64, err error) {
	w.lines++
	return w.lines, w.line("", Entry, func() { codec.EncodeEntry(w.Encoder, e) }, "date", date)
}

// Flush passes on what is buffered.
func (w *Writer) Flush() error { return w.Encoder.Flush() }
