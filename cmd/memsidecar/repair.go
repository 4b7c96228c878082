package main

import (
	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/store"
)

func (a *app) repairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "repair [DIR]",
		Short: "Put damaged parts aside, so that the daemon starts again",
		Long: `Put damaged parts of a data directory aside, into quarantine/, so that the daemon starts again. Nothing is deleted. What stood
only in the damaged part is lost to the daemon: copy the directory first.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, root, err := a.openData(args)
			if err != nil {
				return err
			}
			defer root.Close()
			release, err := daemon.Lock(dir)
			if err != nil {
				return err
			}
			defer func() { _ = release() }()
			done, err := store.Repair(durable.Dir(root), a.now())
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.object(object{{"repaired", append([]string{}, done...)}})
			}
			for _, line := range done {
				a.out.printf("%s\n", line)
			}
			if len(done) == 0 {
				a.out.printf("%s needs no repair.\n", dir)
			}
			return nil
		},
	}
}
