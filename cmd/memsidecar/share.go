package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// shareURLVariable is the address of the database where --with is not given.
const shareURLVariable = "MEMSIDECAR_SHARE_URL"

// shareCommand groups the commands on shared spaces; without a subcommand it shows how the sharing goes.
func (a *app) shareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "share",
		Short: "Keep spaces equal on several machines, through PostgreSQL",
		Long: `A shared space is the same on every machine that takes part. Each write is durable on its own machine first, and
sent to a log in PostgreSQL after that; what others wrote comes from there. Work goes on while the database cannot be
reached. When two machines changed the same text, the later in the log is chosen and the other waits in "memsidecar
review". Memories, forgotten values and the rolling summary are shared, daily logs with --logs. Sessions stay on their
machine.

The database is a URL or a connection string of PostgreSQL, from --with or from MEMSIDECAR_SHARE_URL. Passwords belong
in ~/.pgpass or in a service file ("service=NAME"), where "ps" does not show them.`,
		Example: `  memsidecar share start team --with postgres://alice@db.example.com/memories
  memsidecar share join team --with postgres://bob@db.example.com/memories
  memsidecar share status`,
		Args: cobra.NoArgs,
		RunE: a.shareStatus(),
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "Show the shared spaces, what waits, and the last error",
		Args:  cobra.NoArgs,
		RunE:  a.shareStatus(),
	}
	cmd.AddCommand(a.shareStart(), a.shareJoin(), a.shareLeave(), a.shareAck(), a.shareLogs(), a.shareVectors(), status, a.shareSchema())
	return cmd
}

// shareStart is "share start": ShareService.Start.
func (a *app) shareStart() *cobra.Command {
	req := &pbalpha.ShareServiceStartRequest{}
	cmd := &cobra.Command{
		Use:     "start SPACE",
		Short:   "Share a space: create it in the database and upload what it holds",
		Example: "  memsidecar share start team --with postgres://alice@db.example.com/memories",
		Args:    cobra.ExactArgs(1),
	}
	a.addWith(cmd, &req.Url)
	addVectors(cmd, &req.Vectors)
	addLogs(cmd, &req.Logs)
	ack := addAck(cmd)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Space = args[0]
		if req.Ack, err = ackOf(*ack); err != nil {
			return err
		}
		if err := a.needDatabase(&req.Url); err != nil {
			return err
		}
		resp, err := c.share.Start(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			a.out.printf("Space %s is shared at %s. Others take part with: memsidecar share join %s --with URL\n",
				resp.GetSpace().GetSpace(), resp.GetSpace().GetDatabase(), resp.GetSpace().GetRemote())
		})
	})
	return cmd
}

// shareJoin is "share join": ShareService.Join.
func (a *app) shareJoin() *cobra.Command {
	req := &pbalpha.ShareServiceJoinRequest{}
	cmd := &cobra.Command{
		Use:   "join SPACE",
		Short: "Take part in a space that is shared in the database",
		Long: `Take part in a shared space. What the local space of that name holds already is kept: what the log lacks is sent, and
where both have another text the log's is chosen and yours waits in "memsidecar review".

With --read-only this machine receives the space and never writes to it. The user of the database needs no right but to
read. Changes of its memories are refused here, nothing is learnt into it, and edits of its memory.json wait.`,
		Example: "  memsidecar share join team --with postgres://bob@db.example.com/memories --as work\n" +
			"  memsidecar share join team --with postgres://guest@db.example.com/memories --read-only",
		Args: cobra.ExactArgs(1),
	}
	a.addWith(cmd, &req.Url)
	addVectors(cmd, &req.Vectors)
	addLogs(cmd, &req.Logs)
	cmd.Flags().StringVar(&req.Space, "as", "", "local name (default: the same name)")
	cmd.Flags().BoolVar(&req.ReadOnly, "read-only", false, "receive the space and never write to it")
	ack := addAck(cmd)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Remote = args[0]
		if req.Ack, err = ackOf(*ack); err != nil {
			return err
		}
		if err := a.needDatabase(&req.Url); err != nil {
			return err
		}
		resp, err := c.share.Join(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			how := ""
			if resp.GetSpace().GetReadOnly() {
				how = ", read-only"
			}
			a.out.printf("Joined shared space %s at %s as %s%s, at position %d.\n", resp.GetSpace().GetRemote(),
				resp.GetSpace().GetDatabase(), resp.GetSpace().GetSpace(), how, resp.GetSpace().GetPosition())
		})
	})
	return cmd
}

// addAck adds the flag for what replies wait for.
func addAck(cmd *cobra.Command) *string {
	return cmd.Flags().String("ack", "local",
		"what replies to writes wait for: local, or shared, which is this machine and then the database")
}

// ackOf is what replies wait for, by its name.
func ackOf(name string) (pbalpha.ShareAck, error) {
	switch name {
	case "local":
		return pbalpha.ShareAck_SHARE_ACK_LOCAL, nil
	case "shared":
		return pbalpha.ShareAck_SHARE_ACK_SHARED, nil
	}
	return 0, usagef("replies wait for %q; choose local or shared", name)
}

// nameOfAck is the name of what replies wait for.
func nameOfAck(ack pbalpha.ShareAck) string {
	return strings.ToLower(strings.TrimPrefix(ack.String(), "SHARE_ACK_"))
}

// shareAck is "share ack": ShareService.SetAck.
func (a *app) shareAck() *cobra.Command {
	req := &pbalpha.ShareServiceSetAckRequest{}
	cmd := &cobra.Command{
		Use:   "ack SPACE local|shared",
		Short: "Choose what the reply to a write on a shared space waits for",
		Long: `With "local", the default, a write is confirmed when it is durable on this machine, and sent after that. With "shared"
it is confirmed when the database has committed it, too: choose that where the disk of this machine may vanish. While
the database does not answer, such writes fail with OUTCOME_UNKNOWN; they are durable here and are sent later.`,
		Example:   "  memsidecar share ack team shared",
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{"local", "shared"},
	}
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Space = args[0]
		if req.Ack, err = ackOf(args[1]); err != nil {
			return err
		}
		resp, err := c.share.SetAck(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			a.out.printf("Replies to writes on %s now wait for: %s\n", args[0], nameOfAck(resp.GetSpace().GetAck()))
		})
	})
	return cmd
}

// addWith adds the flag for the database.
func (a *app) addWith(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "with", "", "database, as a `URL` or connection string (default: $"+shareURLVariable+")")
}

// addVectors adds the flag for a mirror.
func addVectors(cmd *cobra.Command, vectors *bool) {
	cmd.Flags().BoolVar(vectors, "vectors", false,
		"also keep a table of the memories in the database, for SQL; needs pgvector")
}

// addLogs adds the flag for daily logs.
func addLogs(cmd *cobra.Command, logs *bool) {
	cmd.Flags().BoolVar(logs, "logs", false,
		"also share daily logs: send the entries that are written here from now on, and receive those of others")
}

// shareLogs is "share logs": ShareService.SetLogs.
func (a *app) shareLogs() *cobra.Command {
	req := &pbalpha.ShareServiceSetLogsRequest{}
	cmd := &cobra.Command{
		Use:   "logs SPACE",
		Short: "Share the daily logs of a space, too",
		Long: `Share the daily logs of a shared space. Each machine decides for itself: from now on this one sends the entries that are
written here, and it receives what the machines that do so have sent, also before. Sessions and what waits for review
are not sent. Each machine archives and deletes its logs by its own schedule, and learns from its own entries only.`,
		Example: `  memsidecar share logs team
  memsidecar share logs team --off`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&req.Off, "off", false, "neither send nor receive; what was sent stays with the others")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space = args[0]
		resp, err := c.share.SetLogs(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if resp.GetSpace().GetLogs() {
				a.out.printf("The daily logs of space %s are shared from now on.\n", args[0])
				return
			}
			a.out.printf("The daily logs of space %s stay on this machine from now on.\n", args[0])
		})
	})
	return cmd
}

// shareVectors is "share vectors": ShareService.Mirror.
func (a *app) shareVectors() *cobra.Command {
	req := &pbalpha.ShareServiceMirrorRequest{}
	cmd := &cobra.Command{
		Use:   "vectors SPACE",
		Short: "Keep a table of a shared space in the database, for SQL",
		Long: `Keep the memories of a shared space in the table memsidecar.memories of its database, with vectors, for SQL and
dashboards. The server needs the extension vector (pgvector). Rows follow the log within seconds; vectors come when this
machine has made them. Several machines may keep the table of one space: they take turns. A table that somebody dropped
is filled again.`,
		Example: `  memsidecar share vectors team
  memsidecar share vectors team --off`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&req.Off, "off", false, "this machine no longer keeps the table; its rows stay as they are")
	cmd.Flags().BoolVar(&req.Rebuild, "rebuild", false, "first empty the table of the space, also one of another version")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space = args[0]
		resp, err := c.share.Mirror(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if req.GetOff() {
				a.out.printf("This machine no longer keeps the table of space %s.\n", args[0])
				return
			}
			a.out.printf("Space %s is kept in memsidecar.memories at %s, under the name %s.\n", args[0],
				resp.GetSpace().GetDatabase(), resp.GetSpace().GetRemote())
		})
	})
	return cmd
}

// needDatabase fills in the database from the environment.
func (a *app) needDatabase(url *string) error {
	if *url == "" {
		*url = a.env(shareURLVariable)
	}
	if *url == "" {
		return usagef("name the database: --with URL, or the environment variable %s", shareURLVariable)
	}
	return nil
}

// shareLeave is "share leave": ShareService.Leave.
func (a *app) shareLeave() *cobra.Command {
	req := &pbalpha.ShareServiceLeaveRequest{}
	cmd := &cobra.Command{
		Use:   "leave SPACE",
		Short: "End the sharing of a space on this machine; its memories stay",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&req.Force, "force", false,
		"leave although operations are not sent yet; they stay on this machine")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space = args[0]
		resp, err := c.share.Leave(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			a.out.printf("Space %s is not shared any more on this machine; its memories stay.\n", args[0])
		})
	})
	return cmd
}

// shareStatus is "share status": ShareService.Status.
func (a *app) shareStatus() func(*cobra.Command, []string) error {
	return a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		resp, err := c.share.Status(ctx, &pbalpha.ShareServiceStatusRequest{})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printSharing(resp) })
	})
}

// printSharing prints how the sharing goes, and the fleet.
func (a *app) printSharing(resp *pbalpha.ShareServiceStatusResponse) {
	f := resp.GetFleet()
	if f == nil || len(resp.GetSpaces()) > 0 {
		a.printShared(resp.GetSpaces())
	}
	if f == nil {
		return
	}
	a.out.printf("Node of the fleet at %s. Open spaces: %d, about %s of %s; opened %d and dropped %d since the start; "+
		"%s.\n", f.GetDatabase(), f.GetOpen(), size(f.GetBytes()), size(f.GetLimitBytes()),
		f.GetOpened(), f.GetDropped(), plural(f.GetWaiting(), "operation waits", "operations wait"))
	if f.GetError() != "" {
		a.out.printf("The last space that was asked for could not be opened: %s\n", oneLine(f.GetError()))
	}
}

// printShared prints the shared spaces as a table, and the errors below it.
func (a *app) printShared(spaces []*pbalpha.SharedSpace) {
	if len(spaces) == 0 {
		a.out.printf("No space is shared. Share one with: memsidecar share start SPACE --with URL\n")
		return
	}
	var rows [][]string
	for _, s := range spaces {
		contact := "never"
		if s.GetContactedAt() != nil {
			contact = a.out.age(s.GetContactedAt().AsTime())
		}
		state := "ok"
		switch {
		case s.GetStopped():
			state = "stopped"
		case s.GetError() != "":
			state = "waiting"
		}
		if s.GetReadOnly() {
			state += ", read-only"
		}
		if s.GetLogs() {
			state += ", logs"
		}
		rows = append(rows, []string{s.GetSpace(), state, s.GetRemote() + " at " + s.GetDatabase(),
			strconv.FormatInt(s.GetPosition(), 10), strconv.FormatInt(s.GetWaiting(), 10), contact,
			nameOfAck(s.GetAck())})
	}
	a.out.table([]string{"SPACE", "STATE", "SHARED AS", "POSITION", "WAITING", "CONTACT", "ACK"}, rows)
	for _, s := range spaces {
		if s.GetError() != "" {
			a.out.printf("%s: %s\n", s.GetSpace(), oneLine(s.GetError()))
		}
		if m := s.GetMirror(); m.GetError() != "" {
			a.out.printf("%s: the table memsidecar.memories is not kept: %s\n", s.GetSpace(), oneLine(m.GetError()))
		} else if m != nil {
			a.out.printf("%s: the table memsidecar.memories is at position %d; %d memories there lack a vector.\n",
				s.GetSpace(), m.GetPosition(), m.GetPending())
		}
		if s.GetUnlisted() {
			a.out.printf("%s: no purge waits for this machine, because its user may not write to memsidecar.member; a text that "+
				"was purged while it was away may stay here\n", s.GetSpace())
		}
		for _, p := range s.GetPurges() {
			if p.GetPosition() == 0 || len(p.GetMissing()) > 0 {
				a.out.printf("Purge of %s. %s\n", a.out.age(p.GetPurgedAt().AsTime()),
					sharedPurge(s.GetSpace(), p.GetPosition(), p.GetConfirmed(), p.GetMissing()))
			}
		}
	}
}

// shareSchema is "share schema": it prints SQL and needs no daemon.
func (a *app) shareSchema() *cobra.Command {
	from, vectors, roles, bySpace := 0, false, false, false
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the SQL of the schema, for an administrator of the database",
		Long: `Print the SQL of the schema. With --roles, print that of the roles instead: memsidecar_reader, memsidecar_writer and
memsidecar_administrator, which are granted to users. With --by-space, print the roles and row-level security: the table
memsidecar.permission says who may read which space, or write to it.`,
		Example: `  memsidecar share schema | psql postgres://admin@db.example.com/memories
  memsidecar share schema --roles | psql postgres://admin@db.example.com/memories`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if roles || bySpace {
				a.out.printf("%s", pglog.Roles(bySpace)+mirror.Rights())
				return nil
			}
			if from < 0 || from > pglog.Version() {
				return usagef("--from is %d; there are versions 0 (no schema) to %d", from, pglog.Version())
			}
			if vectors {
				a.out.printf("%s", mirror.Schema())
				return nil
			}
			a.out.printf("%s", pglog.Schema(from))
			return nil
		},
	}
	cmd.Flags().IntVar(&from, "from", 0, "version that the database has")
	cmd.Flags().BoolVar(&vectors, "vectors", false, "print the tables of \"share vectors\" instead, which come after it")
	cmd.Flags().BoolVar(&roles, "roles", false, "print the SQL of the roles")
	cmd.Flags().BoolVar(&bySpace, "by-space", false, "print the SQL of the roles, and of row-level security by space")
	cmd.MarkFlagsMutuallyExclusive("from", "vectors", "roles", "by-space")
	return cmd
}
