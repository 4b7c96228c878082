package session_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// A session ends soon after its host's process, also when another process has got its number or when the daemon was
// away.
func TestHostExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started sync.Map // of the time by process
		started.Store(7, time.Now().Add(-time.Hour))
		started.Store(8, time.Now().Add(-time.Hour))
		started.Store(9, time.Now())
		fsys := crashfs.New()
		st := openStore(t, fsys)
		serve := func() (svc *session.Service, stop func()) {
			svc = session.New(session.Config{
				Store: st, Reflector: newFake(st), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
				HostStarted: func(pid int) (time.Time, bool) {
					at, ok := started.Load(pid)
					if !ok {
						return time.Time{}, false
					}
					return at.(time.Time), true
				},
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = svc.Run(ctx) }()
			return svc, func() { cancel(); <-done }
		}
		svc, stop := serve()
		for id, req := range map[string]session.StartRequest{
			"gone": {HostPID: 7}, "reused": {HostPID: 8}, "lives": {HostPID: 9}, "unseen": {HostPID: 10},
			"another": {HostPID: 9, HostStarted: time.Now().Add(-time.Hour)}, "unknown": {},
		} {
			req.ID = id
			if _, err := svc.Start(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, want map[string]bool) {
			t.Helper()
			for _, h := range svc.List("default", "") {
				if open := h.State == memory.SessionOpen; open != want[h.ID] ||
					!open && h.EndReason != session.ReasonHostExit {
					t.Errorf("%s: session %s is %s, %s", what, h.ID, h.State, h.EndReason)
				}
			}
		}
		time.Sleep(20 * time.Second)
		check("all run", map[string]bool{"gone": true, "reused": true, "lives": true, "unseen": true, "another": true,
			"unknown": true})
		started.Delete(7)
		started.Store(8, time.Now())
		time.Sleep(20 * time.Second)
		check("two are gone", map[string]bool{"lives": true, "unseen": true, "another": true, "unknown": true})
		stop()
		started.Delete(9)
		svc, stop = serve()
		time.Sleep(time.Second)
		check("ended while nobody looked", map[string]bool{"unseen": true, "another": true, "unknown": true})
		stop()
		if err := st.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestProcessStarted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked at on Linux only")
	}
	at, ok := session.ProcessStarted(os.Getpid())
	if age := time.Since(at); !ok || age < -2*time.Second || age > time.Hour {
		t.Errorf("this process was started at %v, %v", at, ok)
	}
	cmd := exec.CommandContext(t.Context(), "true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if at, ok := session.ProcessStarted(cmd.Process.Pid); ok {
		t.Errorf("a process that has ended was started at %v", at)
	}
}

// telling is a reflector that tells whose turn it is.
type telling struct {
	*fake
	turn chan string
}

func (r telling) Reflect(ctx context.Context, space, id string, opts reflector.Options) (reflector.Result, error) {
	defer func() { r.turn <- id }()
	return r.fake.Reflect(ctx, space, id, opts)
}

// The end of a host's process is noticed when it happens, not when somebody looks: nothing here looks again within a
// minute.
func TestHostExitIsTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are watched on Linux only")
	}
	st := openStore(t, crashfs.New())
	turn := make(chan string, 8)
	svc := session.New(session.Config{Store: st, Reflector: telling{newFake(st), turn}, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = svc.Run(ctx) }()
	host := exec.CommandContext(t.Context(), "sleep", "600")
	other := exec.CommandContext(t.Context(), "sleep", "600")
	for id, cmd := range map[string]*exec.Cmd{"gone": host, "too": host, "lives": other} {
		if cmd.Process == nil {
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := svc.Start(t.Context(), session.StartRequest{ID: id, HostPID: cmd.Process.Pid}); err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Append(t.Context(),
			session.AppendRequest{ID: id, Messages: []memory.Message{{Role: "user", Content: "hello"}}}); err != nil {
			t.Fatal(err)
		}
		if probe, err := session.OpenExit(cmd.Process.Pid); err != nil {
			t.Skipf("this kernel tells no end of a process: %v", err)
		} else if err := probe.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	reflected := map[string]bool{<-turn: true, <-turn: true}
	for id, want := range map[string]bool{"gone": true, "too": true, "lives": false} {
		h, err := svc.Get("default", id)
		if err != nil || reflected[id] != want || (h.EndReason == session.ReasonHostExit) != want {
			t.Errorf("session %s: %+v, %v", id, h, err)
		}
	}
	cancel()
	<-done // also while a process is still waited for
	_ = other.Process.Kill()
	_ = other.Wait()
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// process is one that can be waited for.
type process struct{ ended chan error }

func (p process) Wait() error  { return <-p.ended }
func (p process) Close() error { p.ended <- os.ErrClosed; return nil }

// A system that cannot wait for a process after all is not asked again, so that processes are looked at instead.
func TestHostsGiveUp(t *testing.T) {
	opened, told := 0, make(chan bool, 8)
	running := map[int]process{}
	hosts := session.NewHosts(func(pid int) (session.Exit, error) {
		if opened++; pid == 1 {
			return nil, os.ErrNotExist
		}
		running[pid] = process{make(chan error, 8)}
		return running[pid], nil
	}, func() { told <- true })
	if hosts.Watch(1) || !hosts.Watch(2) || !hosts.Watch(2) || opened != 2 {
		t.Errorf("opened %d", opened)
	}
	hosts.Keep(map[int]bool{2: true})
	running[2].ended <- nil
	<-told
	if !hosts.Watch(3) {
		t.Error("the end of one process ended the watching")
	}
	hosts.Keep(nil) // nobody is told of a watch that was given up
	if !hosts.Watch(4) {
		t.Error("giving one up ended the watching")
	}
	running[4].ended <- os.ErrInvalid
	<-told
	if hosts.Watch(5) {
		t.Error("a system that cannot wait is asked again")
	}
	hosts.Close()
	if len(told) != 0 {
		t.Error("told of more than happened")
	}
}
