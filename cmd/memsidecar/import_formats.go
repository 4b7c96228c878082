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
	"github.com/memsidecar/memsidecar/internal/client/importers"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
)

// ownFormat names the formats of memsidecar; the daemon distinguishes an export from a memory.json.
const ownFormat = "memsidecar"

// formatHelp describes the formats of import, in the order of the help.
var formatHelp = [][2]string{
	{importers.Claude, "memory directory: MEMORY.md and one file with front matter per memory"},
	{importers.Vibe, "the layout of claude, written by vibe"},
	{importers.Nanobot, "MEMORY.md and HISTORY.md"},
	{importers.OpenClaw, "MEMORY.md and memory/2026-02-21.md"},
	{importers.Mem0, "JSON of get_all or of an export"},
	{importers.Graph, "JSON lines of the MCP memory server: entities and relations"},
	{importers.BasicMemory, "Markdown notes with observations and relations"},
	{importers.Engram, "JSON of engram export"},
	{importers.Letta, "agent file (.af)"},
	{importers.ChatGPT, "data export of ChatGPT"},
	{importers.ClaudeExport, "data export of claude.ai"},
	{ownFormat, "export of memsidecar, or a memory.json"},
}

// formatsHelp is formatHelp as lines of the help.
func formatsHelp() string {
	var b strings.Builder
	for _, f := range formatHelp {
		fmt.Fprintf(&b, "  %-14s %s\n", f[0], f[1])
	}
	return b.String()
}

// openForeign opens a source of another system. It returns nil if the daemon is to read the file as one of ours.
func openForeign(path, format string) (*importers.Source, error) {
	if format == ownFormat || path == "-" && format == "" {
		return nil, nil
	}
	if path == "-" {
		return nil, usagef("--from %s reads a file or a directory, not standard input", format)
	}
	if info, err := os.Stat(path); err == nil && format == "" && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, nil // a pipe can be read only once
	}
	source, err := importers.Open(path, format)
	var unknown *importers.UnknownError
	var invalid *memory.InvalidError
	switch {
	case err == nil:
		return source, nil
	case errors.As(err, &unknown):
		if info, statErr := os.Stat(path); statErr == nil && info.Mode().IsRegular() &&
			!strings.EqualFold(lastOf(path, 4), ".zip") {
			return nil, nil // the daemon names the fault of the file
		}
		return nil, &cliError{what: err.Error(), code: exitUsage, hint: "Give the format with --from: " +
			strings.Join(importers.Formats(), ", ") + "."}
	case errors.As(err, &invalid):
		return nil, usagef("--from is %q; it must be one of %s, %s", format, strings.Join(importers.Formats(), ", "),
			ownFormat)
	}
	return nil, cannotOpen(path, err)
}

// lastOf returns the last n bytes of s.
func lastOf(s string, n int) string { return s[max(0, len(s)-n):] }

// maxRemarks limits how many remarks of the reader are listed. All are counted.
const maxRemarks = 1000

// sourceReport collects places and remarks while a source is read.
type sourceReport struct {
	places  []importers.Place // origin of each line sent; line 2 of the stream is places[0]
	skipped int               // items that the reader skipped
	remarks []importers.Item
	noted   int // all remarks, listed or not

	progress *progress
}

// importForeign reads a source here and streams it to the daemon in the export format.
func (a *app) importForeign(ctx context.Context, c *client, source *importers.Source,
	first *pb.AdminServiceImportRequest) error {
	source.Keep = first.GetAllowSensitive()
	dry := first.GetDryRun()
	r := &sourceReport{progress: newProgress(a.out)}
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		to.CloseWithError(r.send(ctx, source, to))
	}()
	resp, err := sendImport(ctx, c, from, first)
	from.CloseWithError(errors.New("the import has ended")) // this also ends the goroutine
	<-done
	r.progress.clear()
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.object(r.json(source.Format, resp, dry))
	}
	a.printForeign(source.Format, resp, r, dry)
	return nil
}

// send writes the items of a source as export lines.
func (r *sourceReport) send(ctx context.Context, source *importers.Source, w io.Writer) error {
	out, err := transfer.NewWriter(ctx, w, source.Format)
	if err != nil {
		return err
	}
	err = source.Read(ctx, time.Local, func(it importers.Item) (err error) {
		switch {
		case it.Memory != nil:
			_, err = out.Memory(it.Memory)
		case it.Entry != nil:
			_, err = out.Entry(it.Date, it.Entry)
		default:
			if r.noted++; it.Left {
				r.skipped++
			}
			if len(r.remarks) < maxRemarks {
				r.remarks = append(r.remarks, it)
			}
			return nil
		}
		r.places = append(r.places, it.Place)
		r.progress.show("%d read", len(r.places)) // the daemon takes them as they are read
		return err
	})
	return errors.Join(err, out.Flush())
}

// place is the origin in the source of a line of the stream.
func (r *sourceReport) place(line int64) string {
	if i := int(line) - 2; i >= 0 && i < len(r.places) {
		return r.places[i].String()
	}
	return ""
}

// json is the report for --json.
func (r *sourceReport) json(format string, resp *pb.AdminServiceImportResponse, dry bool) object {
	counts, merged, skipped, remarks := []any{}, []any{}, []any{}, []any{}
	for _, c := range resp.GetCounts() {
		counts = append(counts, object{
			{"space", c.GetSpace()}, {"kind", optionalWord(c.GetKind())}, {"added", c.GetAdded()},
			{"unchanged", c.GetUnchanged()},
			{"merged", c.GetMerged()}, {"skipped", c.GetSkipped()},
		})
	}
	for _, m := range resp.GetMerged() {
		merged = append(merged, object{{"place", r.place(m.GetLine())}, {"kind", optionalWord(m.GetKind())},
			{"id", m.GetId()},
			{"memory_id", m.GetMemoryId()}, {"reason", m.GetReason()}})
	}
	for _, k := range resp.GetSkipped() {
		skipped = append(skipped, object{{"place", r.place(k.GetLine())}, {"kind", optionalWord(k.GetKind())},
			{"id", k.GetId()},
			{"reason", k.GetReason()}, {"detail", k.GetDetail()}})
	}
	for _, it := range r.remarks {
		remarks = append(remarks, object{{"file", it.Place.File}, {"line", it.Place.Line}, {"item", it.Place.Item},
			{"left_out", it.Left}, {"detail", it.Remark}})
	}
	operations := resp.GetOperationIds()
	if operations == nil {
		operations = []string{}
	}
	return object{
		{"format", format}, {"dry_run", dry}, {"counts", counts}, {"merged", merged}, {"skipped", skipped},
		{"left_out_reading", r.skipped}, {"remarks", remarks}, {"operation_ids", operations},
		{"redacted", r.redacted(resp)},
	}
}

// redacted lists the items from which the daemon took something out. What the reader took out is among the remarks.
func (r *sourceReport) redacted(resp *pb.AdminServiceImportResponse) []any {
	out := []any{}
	for _, k := range resp.GetRedacted() {
		places := []any{}
		for _, p := range k.GetRedactions() {
			places = append(places, object{{"field", p.GetField()}, {"kind", p.GetKind()}, {"start", p.GetStart()},
				{"end", p.GetEnd()}})
		}
		out = append(out, object{{"place", r.place(k.GetLine())}, {"kind", optionalWord(k.GetKind())},
			{"id", k.GetId()}, {"redactions", places}})
	}
	return out
}

// printForeign reports an import from another system, with the place of each item in the source.
func (a *app) printForeign(format string, resp *pb.AdminServiceImportResponse, r *sourceReport, dry bool) {
	a.out.printf("Read as %s.\n", format)
	var rows [][]string
	for _, c := range resp.GetCounts() {
		rows = append(rows, []string{c.GetSpace(), optionalWord(c.GetKind()), itoa(c.GetAdded()),
			itoa(c.GetUnchanged()),
			itoa(c.GetMerged()), itoa(c.GetSkipped())})
	}
	if len(rows) > 0 {
		a.out.table([]string{"SPACE", "KIND", "ADDED", "EXISTING", "MERGED", "SKIPPED"}, rows)
	}
	if r.skipped > 0 {
		a.out.printf("Skipped while reading: %d.\n", r.skipped)
	}
	for _, m := range resp.GetMerged() {
		a.out.printf("%s: merged into %s, %s\n", oneLine(r.place(m.GetLine())), oneLine(m.GetMemoryId()), m.GetReason())
	}
	for _, k := range resp.GetSkipped() {
		a.out.printf("%s: skipped, %s: %s\n", oneLine(r.place(k.GetLine())), k.GetReason(), oneLine(k.GetDetail()))
	}
	for _, k := range resp.GetRedacted() {
		a.out.printf("%s: %s\n", oneLine(r.place(k.GetLine())), oneLine(redactions(k.GetRedactions())))
	}
	for _, it := range r.remarks {
		what := "note"
		if it.Left {
			what = "skipped"
		}
		a.out.printf("%s: %s: %s\n", oneLine(it.Place.String()), what, oneLine(it.Remark))
	}
	if n := r.noted - len(r.remarks); n > 0 {
		a.out.printf("… and %d more.\n", n)
	}
	if len(rows) == 0 {
		a.out.printf("The source contains nothing to import.\n")
	}
	a.printUndo(resp.GetOperationIds(), dry)
}
