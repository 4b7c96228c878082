package main

import (
	"bufio"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/store"
)

func (a *app) dumpCommand() *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use:   "dump [DIR]",
		Short: "Print the journal, a record a line",
		Long:  "Print the journal, a JSON record a line, without a daemon. It holds the text of memories.",
		Args:  cobra.MaximumNArgs(1),
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
	cmd.Flags().Int64Var(&from, "from", 1, "first position")
	return cmd
}
