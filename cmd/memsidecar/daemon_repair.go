package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// repairCommand is "daemon repair". It takes the lock of the data directory, so no daemon can run meanwhile.
func (a *app) repairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "repair [DIR]",
		Short: "Quarantine damaged files so the daemon can start",
		Long: `Move damaged parts of a data directory into quarantine/ so that the daemon can start. Memories and
logs that the damaged part contains are recovered from the published files where those have them, as
operations that can be undone. Nothing is deleted, but the daemon no longer sees data that only the damaged
part contains. Copy the directory first.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			done, err := daemon.Repair(cmd.Context(), durable.Dir(root), a.now, time.Local)
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
