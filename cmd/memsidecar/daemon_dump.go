package main

import (
	"bufio"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// dumpCommand is "daemon dump". It reads the journal files without a daemon.
func (a *app) dumpCommand() *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use:   "dump [DIR]",
		Short: "Print the journal as JSON lines",
		Long: "Print the journal, one JSON record per line. No daemon is needed. The output contains the text of " +
			"memories.",
		Example: "  memsidecar daemon dump --from 100",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, root, err := a.openData(args)
			if err != nil {
				return err
			}
			defer root.Close()
			w := bufio.NewWriter(a.stdout)
			err = store.Dump(durable.Dir(root), w, max(from, 1))
			if flushErr := w.Flush(); err == nil {
				err = flushErr
			}
			return err
		},
	}
	cmd.Flags().Int64Var(&from, "from", 1, "first journal position")
	return cmd
}
