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

var exportFormats = map[string]pb.ExportFormat{
	"jsonl": pb.ExportFormat_EXPORT_FORMAT_JSONL, "memory.json": pb.ExportFormat_EXPORT_FORMAT_MEMORY_JSON,
}

func (a *app) exportCommand() *cobra.Command {
	format := "jsonl"
	cmd := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write what spaces hold, for other programs",
		Long: `Write everything that spaces hold (all of them, or those of --space), one thing a line: memories of every status, daily logs, sessions, rolling
summaries and forgotten values. Or, with --format memory.json, the memory.json of one space. To FILE, which must not exist yet, or to standard output.

It is not a backup: it holds no history. "memsidecar import" reads it.`,
		Args: cobra.MaximumNArgs(1),
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

func (a *app) importCommand() *cobra.Command {
	var dry bool
	var format string
	cmd := &cobra.Command{
		Use:   "import PATH|-",
		Short: "Take in an export, a memory.json, or what another memory system keeps",
		Long: `Take in what "memsidecar export" wrote, or a memory.json of version 2, whichever it is. Ids, times, sources and evidence are kept; secrets are taken
out. What is there already is not taken twice, something else with the same id is left as it is, and what was forgotten does not come back.

Or take in what another system keeps or exports: a file, a directory, or a zip archive, which is read where it is. The format is found out, or named with --from:

` + formatsHelp() + `
What another memory says already, word for word or nearly, is merged into that. What cannot be taken over is named, with its place.

It may be repeated after any interruption, and taken back with "memsidecar undo".`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	cmd.Flags().StringVar(&format, "from", "", "what PATH is of; else it is found out")
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, args []string) error {
		source, err := openForeign(args[0], format)
		if err != nil {
			return err
		}
		if source != nil {
			defer source.Close()
			return a.importForeign(cmd.Context(), c, source, dry)
		}
		from := a.stdin
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return usagef("open import: %v", err)
			}
			defer f.Close()
			from = f
		}
		resp, err := sendImport(cmd.Context(), c, from, &pb.AdminServiceImportRequest{Space: a.flags.space, DryRun: dry})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printImport(resp, dry) })
	})
	return cmd
}

// sendImport sends first, and behind it all that from holds.
func sendImport(ctx context.Context, c *client, from io.Reader, first *pb.AdminServiceImportRequest) (*pb.AdminServiceImportResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // when reading fails, the daemon must not take the end for the end of the file
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
	// An error of sending says only that the daemon has answered already; this is the answer.
	resp, err := stream.CloseAndRecv()
	if err != nil && unreachable(err) && ctx.Err() == nil {
		return nil, &cliError{what: "the daemon has ended in the middle of the import", code: exitUnreachable, cause: err,
			hint: "Run it again: what is there already is not taken twice."}
	}
	return resp, err
}

func (a *app) printImport(resp *pb.AdminServiceImportResponse, dry bool) {
	var rows [][]string
	for _, c := range resp.GetCounts() {
		rows = append(rows, []string{c.GetSpace(), c.GetKind(), itoa(c.GetAdded()), itoa(c.GetSame()), itoa(c.GetSkipped())})
	}
	if len(rows) == 0 {
		a.out.printf("There is nothing in it.\n")
		return
	}
	a.out.table([]string{"SPACE", "KIND", "ADDED", "THERE ALREADY", "LEFT OUT"}, rows)
	for _, k := range resp.GetSkipped() {
		where := ""
		if k.GetLine() > 0 {
			where = "line " + itoa(k.GetLine()) + ": "
		}
		a.out.printf("%s%s %s left out, %s: %s\n", where, k.GetKind(), oneLine(k.GetId()), k.GetReason(), oneLine(k.GetDetail()))
	}
	a.printUndo(resp.GetOperations(), dry)
}

// printUndo says how to take an import back.
func (a *app) printUndo(ops []int64, dry bool) {
	switch {
	case dry:
		a.out.printf("Nothing was written: this was a dry run.\n")
	case len(ops) == 1:
		a.out.printf("Take it back with: memsidecar undo %d\n", ops[0])
	case len(ops) > 1:
		a.out.printf("Take it back with memsidecar undo and, last first, each of %d operations: %d to %d.\n", len(ops), ops[0], ops[len(ops)-1])
	}
}
