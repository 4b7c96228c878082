package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/bench/process"
	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// contextLimits are the most that the context of a session's start may take, in milliseconds, by memories.
var contextLimits = map[int]float64{10_000: 5, 100_000: 10, 1_000_000: 25}

// contexts times the start of sessions with a context, which is kept with the session: beside an append and sync.
func (b *bench) contexts(ctx context.Context, d, e *process.Server, size int, _ []string) error {
	file, err := b.newAppender()
	if err != nil {
		return err
	}
	defer file.f.Close()
	conn, err := d.Client(0)
	if err != nil {
		return err
	}
	sessions := memsidecarv1.NewSessionServiceClient(conn)
	s, err := b.turns(
		func() (sample, error) { return b.adding(ctx, e, 1, 1, mostAdds) },
		func() (sample, error) { return file.sample(ctx, 1, b.slice) },
		func() (sample, error) {
			return load(ctx, 1, b.slice, mostAdds, func(ctx context.Context, _ int) error {
				res, err := sessions.Start(ctx, &memsidecarv1.SessionServiceStartRequest{
					SessionId: fmt.Sprintf("start-%d", b.next.take()), Host: "bench", Context: &memsidecarv1.ContextOptions{},
				})
				if err == nil && size > 0 && len(res.GetContext()) < 1000 {
					err = errors.New("the context holds no memories")
				}
				return err
			})
		})
	if err != nil {
		return err
	}
	r := b.report.timed("Start of a session with its context", size, 1, s[2])
	r.compare("p50 of echo + append-fsync", p50s, s[2], s[0], s[1])
	if most, ok := contextLimits[size]; ok {
		r.limit(r.P50, most*1000, fmt.Sprintf("p50 ≤ %g ms", most))
	}
	return nil
}

// Size of the session that is reflected.
const (
	longMessages   = 2000
	statementEvery = 3
	appendMost     = 500
	reflectRuns    = 3
)

// reflections times reflecting long sessions by rules, one of which states a fact in every third message.
func (b *bench) reflections(ctx context.Context, d, _ *process.Server, size int, _ []string) error {
	conn, err := d.Client(0)
	if err != nil {
		return err
	}
	sessions := memsidecarv1.NewSessionServiceClient(conn)
	var all sample
	for range reflectRuns {
		id := fmt.Sprintf("long-%d", b.next.take())
		for from := 0; from < longMessages; from += appendMost {
			req := &memsidecarv1.SessionServiceAppendRequest{SessionId: id, Space: id}
			for i := from; i < from+appendMost; i++ {
				req.Messages = append(req.Messages, &memsidecarv1.SessionMessage{Role: memsidecarv1.Role_ROLE_USER,
					Content: said(b.next.take(), i)})
			}
			if _, err := sessions.Append(ctx, req); err != nil {
				return err
			}
		}
		began := time.Now()
		res, err := sessions.Reflect(ctx, &memsidecarv1.SessionServiceReflectRequest{SessionId: id, Space: id})
		if err != nil {
			return err
		}
		if len(res.GetItems()) == 0 {
			return errors.New("nothing was learnt from a session full of statements")
		}
		all.merge(one(time.Since(began)))
	}
	r := b.report.timed(fmt.Sprintf("Reflect, by rules, %d messages", longMessages), size, 1, all)
	r.limit(r.P50, 500_000, "p50 ≤ 0.5 s")
	return nil
}

// said is a message of a user: a statement to remember, or small talk.
func said(n, i int) string {
	if i%statementEvery == 0 {
		return fmt.Sprintf("Please remember that the port of service %s is %d", name(n), 1024+n%60_000)
	}
	return "now have a look at file " + name(n) + " and tell me what it does"
}
