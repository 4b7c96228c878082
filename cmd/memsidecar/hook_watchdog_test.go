package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHookWatchdog: a hook ends in time whatever hangs, with one answer and exit code 0.
func TestHookWatchdog(t *testing.T) {
	for _, tt := range []struct {
		name   string
		work   func(ctx context.Context, cancel func(), w *hookWatchdog)
		ends   time.Duration // 0: the watchdog leaves it alone
		answer string
	}{
		{"hangs", func(ctx context.Context, _ func(), _ *hookWatchdog) { time.Sleep(time.Minute) }, hookHardLimit, "empty"},
		{"is told to stop", func(_ context.Context, cancel func(), _ *hookWatchdog) {
			time.Sleep(time.Millisecond)
			cancel()
			time.Sleep(time.Minute)
		}, time.Millisecond, "empty"},
		{"may take longer", func(_ context.Context, _ func(), w *hookWatchdog) {
			w.extend(time.Second)
			w.extend(time.Millisecond) // which shortens nothing
			time.Sleep(time.Minute)
		}, time.Second, "empty"},
		{"answers in time", func(_ context.Context, _ func(), w *hookWatchdog) { w.tell("text") }, 0, "text"},
		{"ends without an answer", func(_ context.Context, cancel func(), w *hookWatchdog) {
			close(w.stop)
			cancel()
		}, 0, ""},
		{"hangs behind its answer", func(_ context.Context, _ func(), w *hookWatchdog) {
			w.tell("text")
			time.Sleep(time.Minute)
		}, hookHardLimit, "text"},
		{"hangs in its answer", func(_ context.Context, _ func(), w *hookWatchdog) {
			w.setAnswer(func(string) { time.Sleep(time.Minute) })
			w.tell("text")
		}, hookHardLimit, ""},
		{"hangs in the answer of the watchdog", func(_ context.Context, _ func(), w *hookWatchdog) {
			w.setAnswer(func(string) { time.Sleep(10 * time.Second) })
			time.Sleep(time.Minute)
		}, hookHardLimit + hookLastWords, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var answer strings.Builder
				var ended time.Duration
				start := time.Now()
				w := &hookWatchdog{start: start, limit: hookHardLimit, stop: make(chan struct{}),
					longer: make(chan struct{}, 1), log: func(string) {}, end: func() { ended = time.Since(start) },
					answer: func(text string) {
						if text == "" {
							text = "empty"
						}
						answer.WriteString(text)
					}}
				done := make(chan struct{})
				go func() {
					defer close(done)
					w.run(ctx)
				}()
				tt.work(ctx, cancel, w)
				select {
				case <-w.stop:
				default:
					close(w.stop)
				}
				<-done
				synctest.Wait()
				if ended != tt.ends || answer.String() != tt.answer {
					t.Errorf("ended after %v with answer %q, want %v and %q", ended, answer.String(), tt.ends, tt.answer)
				}
			})
		})
	}
}

// TestIsHook: whatever is wrong before the command, a hook is known as one, and nothing else is.
func TestIsHook(t *testing.T) {
	for line, want := range map[string]bool{
		"hook --host codex stop": true, "--json hook stop": true, "--data /x hook stop": true, "--data=/x hook": true,
		"--config /nowhere hook stop": true, "--nonsense hook stop": true, "--nonsense v hook stop": true,
		"-x hook stop": true, "-- hook stop": true, "--timeout 1s --space a hook": true,
		"": false, "add hook": false, "search hook --json": false, "--data hook add x": false, "--json add hook": false,
		"help hook": false, "--version": false, "-- add hook": false,
	} {
		if got := isHook(strings.Fields(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestTimeoutOf: the last --timeout of a command line counts, as it does when flags are parsed.
func TestTimeoutOf(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"hook --host codex stop":               0,
		"hook stop --timeout 2s":               2 * time.Second,
		"--timeout=2s hook stop":               2 * time.Second,
		"hook --timeout 2s stop --timeout=30s": 30 * time.Second,
		"hook stop --timeout soon":             0,
		"hook stop --timeout":                  0,
	} {
		if got := timeoutOf(strings.Fields(args)); got != want {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}

// TestWatchHookTimeout: a hook that hangs before its flags are parsed has the time of its --timeout.
func TestWatchHookTimeout(t *testing.T) {
	for args, want := range map[string]time.Duration{
		"hook stop":               hookHardLimit,
		"hook stop --timeout 2s":  2*time.Second + hookSlack,
		"hook stop --timeout 1ms": hookHardLimit,
	} {
		t.Run(args, func(t *testing.T) {
			home := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				a := newApp(strings.NewReader(""), &out, io.Discard, environment([]string{"HOME=" + home}))
				start, ended := time.Now(), make(chan time.Duration, 1)
				a.watchHook(t.Context(), strings.Fields(args), hookHardLimit, func() { ended <- time.Since(start) })
				if took := <-ended; took != want || out.String() != "{}\n" {
					t.Errorf("it ended after %v with %q, want %v", took, out.String(), want)
				}
			})
		})
	}
}
