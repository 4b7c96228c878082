package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/foreign"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/transfer"
)

// ownFormat names our own formats, which the daemon tells apart.
const ownFormat = "memsidecar"

var formatHelp = [][2]string{
	{foreign.Claude, "a memory folder: MEMORY.md and a file with front matter for each memory"},
	{foreign.Vibe, "the same layout, of another program"},
	{foreign.Nanobot, "MEMORY.md and HISTORY.md"},
	{foreign.OpenClaw, "MEMORY.md and memory/2026-02-21.md"},
	{foreign.Mem0, "the JSON of get_all, or of an export"},
	{foreign.Graph, "the JSON lines of the MCP server for memory: entities and relations"},
	{foreign.BasicMemory, "Markdown notes with observations and relations"},
	{foreign.Engram, "the JSON of engram export"},
	{foreign.Letta, "an agent file, .af"},
	{foreign.ChatGPT, "the data export of ChatGPT"},
	{foreign.ClaudeExport, "the data export of claude.ai"},
	{ownFormat, "our own export, or a memory.json"},
}

func formatsHelp() string {
	var b strings.Builder
	for _, f := range formatHelp {
		fmt.Fprintf(&b, "  %-14s %s\n", f[0], f[1])
	}
	return b.String()
}

// openForeign opens what another system keeps, nil when it is ours to import.
func openForeign(path, format string) (*foreign.Source, error) {
	if format == ownFormat || path == "-" && format == "" {
		return nil, nil
	}
	if path == "-" {
		return nil, usagef("--from %s reads a file or a directory, not standard input", format)
	}
	if info, err := os.Stat(path); err == nil && format == "" && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, nil // a pipe, which can be read only once
	}
	source, err := foreign.Open(path, format)
	var unknown *foreign.UnknownError
	var invalid *memory.InvalidError
	switch {
	case err == nil:
		return source, nil
	case errors.As(err, &unknown):
		if info, statErr := os.Stat(path); statErr == nil && info.Mode().IsRegular() && !strings.EqualFold(lastOf(path, 4), ".zip") {
			return nil, nil // the daemon says what it is
		}
		return nil, &cliError{what: err.Error(), code: exitUsage, hint: "If you know what it is, say so with --from: " + strings.Join(foreign.Formats(), ", ") + "."}
	case errors.As(err, &invalid):
		return nil, usagef("--from is %q; it must be one of %s, %s", format, strings.Join(foreign.Formats(), ", "), ownFormat)
	}
	return nil, usagef("open import: %v", err)
}

// lastOf is the last n bytes of s.
func lastOf(s string, n int) string { return s[max(0, len(s)-n):] }

// maxRemarks is how many remarks of reading are listed; all are counted.
const maxRemarks = 1000

// reading is what was met while a source was read.
type reading struct {
	places  []foreign.Place // of what was sent, by line less 2
	left    int
	remarks []foreign.Item
	told    int // remarks in all
}

// importForeign reads a source and sends it.
func (a *app) importForeign(ctx context.Context, c *client, source *foreign.Source, dry bool) error {
	r := &reading{}
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		to.CloseWithError(r.send(ctx, source, to))
	}()
	resp, err := sendImport(ctx, c, from, &pb.AdminServiceImportRequest{Space: a.flags.space, DryRun: dry})
	from.CloseWithError(errors.New("the import has ended")) // and so does the goroutine
	<-done
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(r.json(source.Format, resp, dry))
	}
	a.printForeign(source.Format, resp, r, dry)
	return nil
}

// send writes what a source holds as lines.
func (r *reading) send(ctx context.Context, source *foreign.Source, w io.Writer) error {
	out, err := transfer.NewWriter(ctx, w, source.Format)
	if err != nil {
		return err
	}
	err = source.Read(ctx, time.Local, func(it foreign.Item) (err error) {
		switch {
		case it.Memory != nil:
			_, err = out.Memory(it.Memory)
		case it.Entry != nil:
			_, err = out.Entry(it.Date, it.Entry)
		default:
			if r.told++; it.Left {
				r.left++
			}
			if len(r.remarks) < maxRemarks {
				r.remarks = append(r.remarks, it)
			}
			return nil
		}
		r.places = append(r.places, it.Place)
		return err
	})
	return errors.Join(err, out.Flush())
}

// place is where a line came from.
func (r *reading) place(line int64) string {
	if i := int(line) - 2; i >= 0 && i < len(r.places) {
		return r.places[i].String()
	}
	return ""
}

// json is the report for programs.
func (r *reading) json(format string, resp *pb.AdminServiceImportResponse, dry bool) object {
	counts, merged, skipped, remarks := []any{}, []any{}, []any{}, []any{}
	for _, c := range resp.GetCounts() {
		counts = append(counts, object{
			{"space", c.GetSpace()}, {"kind", c.GetKind()}, {"added", c.GetAdded()}, {"same", c.GetSame()}, {"merged", c.GetMerged()}, {"skipped", c.GetSkipped()},
		})
	}
	for _, m := range resp.GetMerged() {
		merged = append(merged, object{{"place", r.place(m.GetLine())}, {"kind", m.GetKind()}, {"id", m.GetId()}, {"into", m.GetInto()}, {"reason", m.GetReason()}})
	}
	for _, k := range resp.GetSkipped() {
		skipped = append(skipped, object{{"place", r.place(k.GetLine())}, {"kind", k.GetKind()}, {"id", k.GetId()}, {"reason", k.GetReason()}, {"detail", k.GetDetail()}})
	}
	for _, it := range r.remarks {
		remarks = append(remarks, object{{"file", it.Place.File}, {"line", it.Place.Line}, {"item", it.Place.Item}, {"left_out", it.Left}, {"detail", it.Remark}})
	}
	operations := resp.GetOperations()
	if operations == nil {
		operations = []int64{}
	}
	return object{
		{"format", format}, {"dry_run", dry}, {"counts", counts}, {"merged", merged}, {"skipped", skipped}, {"left_out_reading", r.left}, {"remarks", remarks}, {"operations", operations},
	}
}

func (a *app) printForeign(format string, resp *pb.AdminServiceImportResponse, r *reading, dry bool) {
	a.out.printf("Read as %s.\n", format)
	var rows [][]string
	for _, c := range resp.GetCounts() {
		rows = append(rows, []string{c.GetSpace(), c.GetKind(), itoa(c.GetAdded()), itoa(c.GetSame()), itoa(c.GetMerged()), itoa(c.GetSkipped())})
	}
	if len(rows) > 0 {
		a.out.table([]string{"SPACE", "KIND", "ADDED", "THERE ALREADY", "MERGED", "LEFT OUT"}, rows)
	}
	if r.left > 0 {
		a.out.printf("Left out while reading: %d.\n", r.left)
	}
	for _, m := range resp.GetMerged() {
		a.out.printf("%s: merged into %s, %s\n", oneLine(r.place(m.GetLine())), oneLine(m.GetInto()), m.GetReason())
	}
	for _, k := range resp.GetSkipped() {
		a.out.printf("%s: left out, %s: %s\n", oneLine(r.place(k.GetLine())), k.GetReason(), oneLine(k.GetDetail()))
	}
	for _, it := range r.remarks {
		what := "note"
		if it.Left {
			what = "left out"
		}
		a.out.printf("%s: %s: %s\n", oneLine(it.Place.String()), what, oneLine(it.Remark))
	}
	if n := r.told - len(r.remarks); n > 0 {
		a.out.printf("… and %d more.\n", n)
	}
	if len(rows) == 0 {
		a.out.printf("There is nothing in it to take over.\n")
	}
	a.printUndo(resp.GetOperations(), dry)
}
