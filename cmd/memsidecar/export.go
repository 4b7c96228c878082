package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// exportFormats are the formats by their name on the command line.
var exportFormats = map[string]pb.ExportFormat{
	"jsonl": pb.ExportFormat_EXPORT_FORMAT_JSONL, "memory.json": pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON,
}

// exportCommand is "export": AdminService.Export.
func (a *app) exportCommand() *cobra.Command {
	format := "jsonl"
	cmd := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Export memories, logs and sessions",
		Long: `Export all spaces, or those of --space, as JSON lines: memories of every status, daily logs,
sessions, rolling summaries and forgotten values. With --format memory.json, export the memory.json of one space.
The output is FILE, which must not exist, or standard output.

An export contains no history, so it is not a backup. "memsidecar import" reads it.`,
		Example: "  memsidecar export memories.jsonl\n  memsidecar export --format memory.json > memory.json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&format, "format", format, "jsonl or memory.json")
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, args []string) error {
		f, ok := exportFormats[format]
		if !ok {
			return usagef("--format is %q; it must be jsonl or memory.json", format)
		}
		req := &pb.AdminServiceExportRequest{Spaces: a.spaces(), Format: f}
		if len(args) == 0 || args[0] == "-" {
			writesToStdout()
			return receiveExport(cmd.Context(), c, req, a.stdout)
		}
		t, err := a.create("export", args[0])
		if err != nil {
			return err
		}
		defer t.discard()
		if err := receiveExport(cmd.Context(), c, req, t); err != nil {
			return err
		}
		if err := errors.Join(t.sync(), t.commit(args[0])); err != nil {
			return err
		}
		if a.out.json {
			return a.out.object(object{{"file", args[0]}, {"bytes", t.written}})
		}
		a.out.printf("Wrote %s: %s.\n", args[0], size(t.written))
		return nil
	})
	return cmd
}

// receiveExport streams an export to w.
func receiveExport(ctx context.Context, c *client, req *pb.AdminServiceExportRequest, w io.Writer) error {
	stream, err := c.admin.Export(ctx, req)
	if err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return streamEnded(ctx, "export", err)
		}
		if _, err := w.Write(resp.GetChunk()); err != nil {
			return outputError("export", err)
		}
	}
}

// importCommand is "import": AdminService.Import. Sources of other systems are read here and sent in the export
// format.
func (a *app) importCommand() *cobra.Command {
	first := &pb.AdminServiceImportRequest{}
	var format string
	cmd := &cobra.Command{
		Use:   "import PATH|-",
		Short: "Import an export, a memory.json, or memories from another system",
		Long: `Import an export of memsidecar or a memory.json of version 2. Ids, times, sources and evidence are
kept, and secrets are redacted. Items that already exist are skipped, a different item with the same id is not
overwritten, and forgotten values are not imported.

Or import memories from another system: a file, a directory or a zip archive. The format is detected, or given with
--from:

` + formatsHelp() + `
A memory that repeats an existing one, exactly or nearly, is merged into it. Items that cannot be imported are listed
with their place in the source.

You can repeat an import after an interruption, and undo it with "memsidecar undo --import".`,
		Example: "  memsidecar import memories.jsonl --dry-run\n  memsidecar import ~/.claude/memory --from claude",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&first.DryRun, "dry-run", false, "only show what would be imported")
	cmd.Flags().StringVar(&format, "from", "", "source format (default: detected)")
	addKeepFlag(cmd.Flags(), &first.AllowSensitive)
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, args []string) error {
		first.Space = a.flags.space
		source, err := openForeign(args[0], format)
		if err != nil {
			return err
		}
		if source != nil {
			defer source.Close()
			return a.importForeign(cmd.Context(), c, source, first)
		}
		from := a.stdin
		total := int64(0)
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return cannotOpen(args[0], err)
			}
			defer f.Close()
			from = f
			if info, err := f.Stat(); err == nil {
				total = info.Size()
			}
		}
		p := newProgress(a.out)
		defer p.clear()
		from = &progressReader{Reader: from, progress: p, total: total}
		resp, err := sendImport(cmd.Context(), c, from, first)
		if err != nil {
			return err
		}
		p.clear()
		return a.out.result(resp, func() { a.printImport(resp, first.GetDryRun()) })
	})
	return cmd
}

// progressReader shows how much of a file was read.
type progressReader struct {
	io.Reader
	progress    *progress
	read, total int64 // bytes; total is 0 when it is not known
}

// Read reads and shows how far it is.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	if r.total > 0 {
		r.progress.show("%d %% of the file read", 100*r.read/r.total)
	} else {
		r.progress.show("%d KiB read", r.read>>10)
	}
	return n, err
}

// sendImport streams the request first, then the bytes of from in chunks.
func sendImport(ctx context.Context, c *client, from io.Reader,
	first *pb.AdminServiceImportRequest) (*pb.AdminServiceImportResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // after a failed read, the daemon must not mistake the end of the stream for the end of the file
	stream, err := c.admin.Import(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(first)
	for buf := make([]byte, 256<<10); err == nil; {
		n, readErr := from.Read(buf)
		if n > 0 {
			err = stream.Send(&pb.AdminServiceImportRequest{Chunk: buf[:n]})
		}
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil {
			return nil, fmt.Errorf("read the import: %w", readErr)
		}
	}
	// A send error only says that the daemon has already replied; CloseAndRecv returns the reply.
	resp, err := stream.CloseAndRecv()
	if err != nil && unreachable(err) && ctx.Err() == nil {
		return nil, &cliError{what: "the daemon stopped during the import", code: exitUnreachable, cause: err,
			hint: "Run the import again; items that already exist are skipped."}
	}
	return resp, err
}

// printImport reports an import of one of our own formats.
func (a *app) printImport(resp *pb.AdminServiceImportResponse, dry bool) {
	var rows [][]string
	for _, c := range resp.GetCounts() {
		rows = append(rows, []string{c.GetSpace(), optionalWord(c.GetKind()), itoa(c.GetAdded()),
			itoa(c.GetUnchanged()),
			itoa(c.GetSkipped())})
	}
	if len(rows) == 0 {
		a.out.printf("The source is empty.\n")
		return
	}
	a.out.table([]string{"SPACE", "KIND", "ADDED", "EXISTING", "SKIPPED"}, rows)
	for _, k := range resp.GetSkipped() {
		where := ""
		if k.GetLine() > 0 {
			where = "line " + itoa(k.GetLine()) + ": "
		}
		a.out.printf("%s%s %s skipped, %s: %s\n", where, optionalWord(k.GetKind()), oneLine(k.GetId()), k.GetReason(),
			oneLine(k.GetDetail()))
	}
	for _, k := range resp.GetRedacted() {
		where := ""
		if k.GetLine() > 0 {
			where = "line " + itoa(k.GetLine()) + ": "
		}
		a.out.printf("%s%s %s: %s\n", where, optionalWord(k.GetKind()), oneLine(k.GetId()),
			oneLine(redactions(k.GetRedactions())))
	}
	if n := resp.GetRedactedCount() - int64(len(resp.GetRedacted())); n > 0 {
		a.out.printf("Something was taken out of %d more.\n", n)
	}
	for _, k := range resp.GetAdjusted() {
		where := ""
		if k.GetLine() > 0 {
			where = "line " + itoa(k.GetLine()) + ": memory " + k.GetId() + " "
		}
		a.out.printf("%s\n", oneLine(where+k.GetDetail()))
	}
	if n := resp.GetAdjustedCount() - int64(len(resp.GetAdjusted())); n > 0 {
		a.out.printf("%d more values were brought within their limits.\n", n)
	}
	a.printUndo(resp.GetOperationIds(), dry)
}

// printUndo says how to undo an import.
func (a *app) printUndo(ops []string, dry bool) {
	switch {
	case dry:
		a.out.printf("Dry run; nothing was written.\n")
	case len(ops) == 1:
		a.out.printf("To undo: memsidecar undo %s\n", ops[0])
	case len(ops) > 1:
		a.out.printf("To undo all %d operations: memsidecar undo --import %s\n", len(ops), ops[0])
	}
}
