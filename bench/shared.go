package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// rowsAtOnce is how many operations the daemon sends in one transaction at most.
const rowsAtOnce = 200

// addingClients is how many clients add at the same time.
const addingClients = 64

// sharing is what the scenario of shared spaces measures: two daemons, and the database where they meet.
type sharing struct {
	b        *bench
	size     int
	url      string
	sender   *process.Server
	receiver *process.Server
	plain    *pgx.Conn // what a program does that only talks to the database
	hears    *pgx.Conn
	crowd    []*pgx.Conn // as many as there are clients that add
	rowBytes int         // of an Add in the log
	copies   serial
}

// shared measures shared spaces.
func (b *bench) shared(ctx context.Context, size int) error {
	return b.onPostgres(ctx, fmt.Sprintf("%7d memories: shared spaces", size), func(url string) error {
		return (&sharing{b: b, size: size, url: url}).measure(ctx)
	})
}

// measure starts two daemons, and measures what passes between them.
func (s *sharing) measure(ctx context.Context) (err error) {
	b := s.b
	for _, d := range []struct {
		name string
		at   **process.Server
	}{{"sender", &s.sender}, {"receiver", &s.receiver}} {
		data := filepath.Join(b.dir, d.name)
		if err := errors.Join(os.RemoveAll(data), b.settings(data)); err != nil { // of the run before
			return err
		}
		server, err := b.start(ctx, data)
		if err != nil {
			return err
		}
		*d.at = server
		defer func() { err = errors.Join(err, server.Stop()) }()
	}
	s.crowd = make([]*pgx.Conn, addingClients)
	conns := []**pgx.Conn{&s.plain, &s.hears}
	for i := range s.crowd {
		conns = append(conns, &s.crowd[i])
	}
	for _, conn := range conns {
		if *conn, err = pgx.Connect(ctx, s.url); err != nil {
			return err
		}
		defer (*conn).Close(ctx) //nolint:errcheck // the server is about to go
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for _, f := range []func(context.Context) error{s.local, s.lag, s.sending, s.joins} {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return nil
}

// The spaces of the sender. What is joined is filled and not written to while it is.
const (
	spaceSent   = "sent"
	spaceAcked  = "acked"
	spaceLocal  = "local"
	spaceJoined = "joined"
)

// prepare fills and shares the spaces, has the receiver join one, and creates the table of the floors.
func (s *sharing) prepare(ctx context.Context) error {
	cs, err := s.sender.Memories(1)
	if err != nil {
		return err
	}
	for _, space := range []string{spaceSent, spaceAcked, spaceLocal, spaceJoined} {
		left := 1
		if space == spaceJoined {
			left = s.size
		}
		for ; left > 0; left -= 1000 {
			req := addRequest(&s.b.next, min(1000, left))
			req.Space = space
			res, err := cs[0].Add(ctx, req)
			if err == nil {
				err = applied(res)
			}
			if err != nil {
				return err
			}
		}
	}
	for space, ack := range map[string]memsidecarv1alpha1.ShareAck{
		spaceSent:   memsidecarv1alpha1.ShareAck_SHARE_ACK_LOCAL,
		spaceAcked:  memsidecarv1alpha1.ShareAck_SHARE_ACK_SHARED,
		spaceJoined: memsidecarv1alpha1.ShareAck_SHARE_ACK_LOCAL,
	} {
		share, err := shareOf(s.sender)
		if err != nil {
			return err
		}
		if _, err := share.Start(ctx, &memsidecarv1alpha1.ShareServiceStartRequest{Space: space, Url: s.url, Ack: ack}); err != nil {
			return fmt.Errorf("share a space: %w", err)
		}
	}
	if err := s.join(ctx, spaceSent, spaceSent); err != nil {
		return err
	}
	if err := s.add(ctx, spaceSent); err != nil {
		return err
	}
	if err := s.sent(ctx); err != nil {
		return err
	}
	if err := s.plain.QueryRow(ctx, "SELECT max(length(record)) FROM memsidecar.log").Scan(&s.rowBytes); err != nil {
		return err
	}
	_, err = s.plain.Exec(ctx, "CREATE TABLE plain (id bigint PRIMARY KEY, record text NOT NULL)")
	if err == nil {
		_, err = s.hears.Exec(ctx, "LISTEN plain")
	}
	return err
}

// shareOf is the sharing of a daemon.
func shareOf(d *process.Server) (memsidecarv1alpha1.ShareServiceClient, error) {
	conn, err := d.Client(0)
	return memsidecarv1alpha1.NewShareServiceClient(conn), err
}

// join has the receiver take part in a space, under a local name.
func (s *sharing) join(ctx context.Context, remote, space string) error {
	share, err := shareOf(s.receiver)
	if err != nil {
		return err
	}
	_, err = share.Join(ctx, &memsidecarv1alpha1.ShareServiceJoinRequest{Url: s.url, Remote: remote, Space: space})
	return err
}

// add adds a memory to a space of the sender.
func (s *sharing) add(ctx context.Context, space string) error {
	_, err := s.addOne(ctx, 0, space)
	return err
}

// addOne is add by one of the clients, and returns the id.
func (s *sharing) addOne(ctx context.Context, client int, space string) (id string, err error) {
	conn, err := s.sender.Client(client)
	if err != nil {
		return "", err
	}
	req := addRequest(&s.b.next, 1)
	req.Space = space
	res, err := memsidecarv1.NewMemoryServiceClient(conn).Add(ctx, req)
	if err == nil {
		err = applied(res)
	}
	if err != nil {
		return "", err
	}
	return res.GetResult().GetOutcomes()[0].GetId(), nil
}

// sent waits until nothing of the sender waits to be sent.
func (s *sharing) sent(ctx context.Context) error {
	share, err := shareOf(s.sender)
	if err != nil {
		return err
	}
	return s.sender.Poll(ctx, func(ctx context.Context) error {
		res, err := share.Status(ctx, &memsidecarv1alpha1.ShareServiceStatusRequest{})
		for _, sp := range res.GetSpaces() {
			if sp.GetWaiting() > 0 || sp.GetError() != "" {
				err = errors.Join(err, fmt.Errorf("%d operations of %s wait: %s", sp.GetWaiting(), sp.GetSpace(), sp.GetError()))
			}
		}
		return err
	})
}

// insert commits rows as large as those of the log over a connection.
func (s *sharing) insert(ctx context.Context, conn *pgx.Conn, rows int, announce bool) error {
	batch := &pgx.Batch{}
	for range rows {
		n := s.b.next.take()
		text := content(n)
		for len(text) < s.rowBytes {
			text += text
		}
		batch.Queue("INSERT INTO plain VALUES ($1, $2)", n, strings.ToValidUTF8(text[:s.rowBytes], ""))
	}
	if announce {
		batch.Queue("NOTIFY plain")
	}
	return conn.SendBatch(ctx, batch).Close() // one transaction
}

// commits times transactions of some rows by one client.
func (s *sharing) commits(ctx context.Context, rows int) (sample, error) {
	return load(ctx, 1, s.b.slice, mostCalls, func(ctx context.Context, _ int) error {
		return s.insert(ctx, s.plain, rows, false)
	})
}

// singles times transactions of one row by as many clients as add, as pgbench makes them.
func (s *sharing) singles(ctx context.Context) (sample, error) {
	return load(ctx, addingClients, s.b.slice, mostCalls, func(ctx context.Context, c int) error {
		return s.insert(ctx, s.crowd[c], 1, false)
	})
}

// sending relates the rate at which the Adds of many clients are committed in PostgreSQL to that of rows of as many
// bytes: committed by as many connections, one at a time, and in transactions as large as the daemon's largest.
func (s *sharing) sending(ctx context.Context) error {
	if _, err := s.sender.Client(addingClients - 1); err != nil {
		return err
	}
	adds := func(space string) func() (sample, error) {
		return func() (sample, error) {
			began := time.Now()
			all, err := load(ctx, addingClients, s.b.slice, mostAdds, func(ctx context.Context, c int) error {
				_, err := s.addOne(ctx, c, space)
				return err
			})
			if err == nil {
				err = s.sent(ctx)
			}
			all.elapsed = time.Since(began)
			return all, err
		}
	}
	all, err := s.b.turns(func() (sample, error) { return s.commits(ctx, rowsAtOnce) },
		func() (sample, error) { return s.singles(ctx) }, adds(spaceSent), adds(spaceLocal))
	if err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	s.b.report.timed(fmt.Sprintf("commit %d rows in PostgreSQL", rowsAtOnce), s.size, 1, all[0])
	s.b.report.timed("commit 1 row in PostgreSQL", s.size, addingClients, all[1])
	s.b.report.timed("Add, not shared", s.size, addingClients, all[3])
	r := s.b.report.timed("Add, until it is in PostgreSQL", s.size, addingClients, all[2])
	r.compare("commits of 1 row", func(s []sample) (figure, floor float64) {
		return s[0].perSecond(), s[1].perSecond()
	}, all[2], all[1])
	r.atLeast(0.4)
	s.b.report.timed("Add, until it is in PostgreSQL", s.size, addingClients, all[2]).
		compare(fmt.Sprintf("rows in commits of %d", rowsAtOnce), func(s []sample) (figure, floor float64) {
			return s[0].perSecond(), s[1].perSecond() * rowsAtOnce
		}, all[2], all[0])
	return nil
}

// pauseBetween is between two operations whose lag is measured, so that nothing of one is left when the next one comes.
const pauseBetween = 5 * time.Millisecond

// spaced calls do again and again, with pauses, for as long as a slice. do returns how long that took which is
// measured.
func (s *sharing) spaced(ctx context.Context, do func(context.Context) (time.Duration, error)) (all sample, err error) {
	for began := time.Now(); time.Since(began) < s.b.slice; time.Sleep(pauseBetween) {
		took, err := do(ctx)
		if err != nil {
			return all, err
		}
		all.merge(one(took))
	}
	return all, nil
}

// lag times how long after the reply the other daemon announces a memory to those who watch it, beside one commit and
// its announcement. Both have the same pauses: processors and disks that were idle take several times as long to
// answer. Nobody asks again and again meanwhile, because that would take the processors from all others.
func (s *sharing) lag(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	watch, err := s.watch(ctx)
	if err != nil {
		return fmt.Errorf("lag: %w", err)
	}
	all, err := s.b.turns(
		func() (sample, error) { return s.spaced(ctx, s.announced) },
		func() (sample, error) {
			return s.spaced(ctx, func(ctx context.Context) (time.Duration, error) { return s.arrived(ctx, watch) })
		})
	if err != nil {
		return fmt.Errorf("lag: %w", err)
	}
	s.b.report.timed("commit and notify between two connections", s.size, 1, all[0])
	r := s.b.report.timed("lag from one machine to another", s.size, 1, all[1])
	r.compare("p50 of commit + notify", p50s, all[1], all[0])
	r.atMost(3)
	return nil
}

// watch follows what the receiver applies from now on.
func (s *sharing) watch(ctx context.Context) (memsidecarv1.OperationService_WatchClient, error) {
	conn, err := s.receiver.Client(0)
	if err != nil {
		return nil, err
	}
	info, err := memsidecarv1.NewAdminServiceClient(conn).Info(ctx, &memsidecarv1.AdminServiceInfoRequest{})
	if err != nil {
		return nil, err
	}
	return memsidecarv1.NewOperationServiceClient(conn).Watch(ctx, &memsidecarv1.OperationServiceWatchRequest{
		Cursor: info.GetPosition(), Spaces: []string{spaceSent}})
}

// announced times a commit until another connection was notified.
func (s *sharing) announced(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := s.insert(ctx, s.plain, 1, true); err != nil {
		return 0, err
	}
	_, err := s.hears.WaitForNotification(ctx)
	return time.Since(began), err
}

// arrived adds a memory and times from the reply until the other daemon has it.
func (s *sharing) arrived(
	ctx context.Context, watch memsidecarv1.OperationService_WatchClient,
) (took time.Duration, err error) {
	id, err := s.addOne(ctx, 0, spaceSent)
	if err != nil {
		return 0, err
	}
	for replied := time.Now(); ; {
		seen, err := watch.Recv()
		if err != nil {
			return 0, err
		}
		if slices.ContainsFunc(seen.GetOperation().GetChanges(), func(c *memsidecarv1.Change) bool {
			return c.GetMemory().GetId() == id
		}) {
			return time.Since(replied), nil
		}
	}
}

// local compares Adds to a shared space with those to one that is not, when replies wait for this machine and when they
// wait for PostgreSQL.
func (s *sharing) local(ctx context.Context) error {
	adds := func(space string) func() (sample, error) {
		return func() (sample, error) {
			all, err := load(ctx, 1, s.b.slice, mostAdds, func(ctx context.Context, _ int) error { return s.add(ctx, space) })
			return all, errors.Join(err, s.sent(ctx))
		}
	}
	all, err := s.b.turns(adds(spaceLocal), adds(spaceSent), adds(spaceAcked),
		func() (sample, error) { return s.commits(ctx, 1) })
	if err != nil {
		return fmt.Errorf("adds: %w", err)
	}
	s.b.report.timed("Add, not shared", s.size, 1, all[0])
	r := s.b.report.timed("Add, shared", s.size, 1, all[1])
	r.compare("p50 when not shared", p50s, all[1], all[0])
	r.atMost(1.1)
	s.b.report.timed("commit 1 row in PostgreSQL", s.size, 1, all[3])
	s.b.report.timed("Add, --ack shared", s.size, 1, all[2]).
		compare("p50 when not shared + commit", p50s, all[2], all[0], all[3])
	return nil
}

// joins times joining beside streaming what it reads, the snapshot and the rows behind it, into a file that is synced.
func (s *sharing) joins(ctx context.Context) error {
	all, err := s.b.turns(
		func() (sample, error) {
			began := time.Now()
			err := s.stream(ctx)
			return one(time.Since(began)), err
		},
		func() (sample, error) {
			began := time.Now()
			err := s.join(ctx, spaceJoined, fmt.Sprintf("copy%d", s.copies.take()))
			return one(time.Since(began)), err
		})
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	s.b.report.timed("stream what is joined into a file", s.size, 1, all[0])
	r := s.b.report.timed("join", s.size, 1, all[1])
	r.compare("streaming it", p50s, all[1], all[0])
	r.atMost(3)
	return nil
}

// stream writes the snapshot and the rows of the joined space to a file. Durable on return.
func (s *sharing) stream(ctx context.Context) (err error) {
	f, err := os.Create(filepath.Join(s.b.dir, "streamed"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	w := bufio.NewWriterSize(f, 1<<20)
	for _, sql := range []string{
		"SELECT data FROM memsidecar.snapshot_part p JOIN memsidecar.space s ON s.id = p.space WHERE s.name = $1",
		"SELECT record FROM memsidecar.log l JOIN memsidecar.space s ON s.id = l.space WHERE s.name = $1",
	} {
		rows, err := s.plain.Query(ctx, sql, spaceJoined)
		if err != nil {
			return err
		}
		var data string
		if _, err := pgx.ForEachRow(rows, []any{&data}, func() error { _, err := w.WriteString(data); return err }); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Sync())
}
