package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// hookHardLimit is how long a hook may take whatever happens: a file system that does not answer, a host that does
	// not close standard input, a reader that does not read.
	hookHardLimit = 100 * time.Millisecond
	// hookSlack is what an event with a longer limit gets for what comes after it.
	hookSlack = 60 * time.Millisecond
	// hookLastWords is how long the end of a hook that hangs may take to write its answer and the line in the log. What
	// it writes to may be what hangs.
	hookLastWords = 20 * time.Millisecond
)

// hookWatchdog ends the process of a hook that takes too long or gets SIGTERM, with exit code 0 and an empty answer.
// Blocking system calls cannot be interrupted otherwise.
type hookWatchdog struct {
	end  func() // ends the process, or gives up on the hook inside the daemon
	slow func() // called when the limit is extended; may be nil
	log  func(cause string)
	stop chan struct{}

	mu     sync.Mutex
	start  time.Time         // guarded by mu
	limit  time.Duration     // since start; guarded by mu
	answer func(text string) // writes the answer; guarded by mu
	told   bool              // an answer was begun; guarded by mu
	longer chan struct{}     // limit changed
}

// watchHook starts the watchdog of one hook, which calls end after limit, or later with --timeout. It writes an answer
// that every host accepts until setAnswer.
func (a *app) watchHook(ctx context.Context, args []string, limit time.Duration, end func()) *hookWatchdog {
	w := &hookWatchdog{
		start: time.Now(), end: end, stop: make(chan struct{}), limit: max(limit, timeoutOf(args)+hookSlack),
		answer: func(string) { _, _ = a.stdout.Write([]byte("{}\n")) }, longer: make(chan struct{}, 1),
		log: func(cause string) { a.hookLog("%s: ended, %s", strings.Join(args, " "), cause) },
	}
	go w.run(ctx)
	return w
}

// timeoutOf is the value of the last --timeout of a command line, 0 without a valid one. The watchdog cannot wait until
// flags are parsed: a busy machine may take longer for that than a hook has.
func timeoutOf(args []string) (timeout time.Duration) {
	for i, arg := range args {
		value, found := strings.CutPrefix(arg, "--timeout=")
		if arg == "--timeout" && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if found {
			timeout, _ = time.ParseDuration(value)
		}
	}
	return timeout
}

// run waits for the limit, for SIGTERM or for the end of the hook.
func (w *hookWatchdog) run(ctx context.Context) {
	for {
		w.mu.Lock()
		left := w.limit - time.Since(w.start)
		w.mu.Unlock()
		select {
		case <-w.stop:
			return
		case <-w.longer:
			continue
		case <-ctx.Done():
			w.expire("it was told to stop")
		case <-time.After(left):
			w.expire("its deadline was exceeded")
		}
		return
	}
}

// expire writes an empty answer, unless one was begun, and ends the process.
func (w *hookWatchdog) expire(cause string) {
	select {
	case <-w.stop: // the program ends and has cancelled its context
		return
	default:
	}
	w.mu.Lock()
	answer, told := w.answer, w.told
	w.told = true
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !told {
			answer("")
		}
		w.log(cause)
	}()
	select {
	case <-done:
	case <-time.After(hookLastWords):
	}
	w.end()
}

// extend lets the hook take until limit after its start, if that is later than now allowed.
func (w *hookWatchdog) extend(limit time.Duration) {
	w.mu.Lock()
	w.limit = max(w.limit, limit)
	w.mu.Unlock()
	w.changed()
	if w.slow != nil {
		w.slow()
	}
}

// shorten counts time that passed before the watchdog was started.
func (w *hookWatchdog) shorten(by time.Duration) {
	if by <= 0 {
		return
	}
	w.mu.Lock()
	w.start = w.start.Add(-by)
	w.mu.Unlock()
	w.changed()
}

// changed has run look at the limit again.
func (w *hookWatchdog) changed() {
	select {
	case w.longer <- struct{}{}:
	default:
	}
}

// setAnswer says how an answer is written, once the host and the event are known.
func (w *hookWatchdog) setAnswer(answer func(text string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

// tell writes the answer, unless the watchdog has begun to.
func (w *hookWatchdog) tell(text string) {
	w.mu.Lock()
	answer, told := w.answer, w.told
	w.told = true
	w.mu.Unlock()
	if !told {
		answer(text)
	}
}

// isHook reports whether a command line is that of a hook, also one with flags before the command, right or wrong: a
// hook must not end with the exit code of a usage error, by which some hosts block the agent's action.
func isHook(args []string) bool {
	withValue := []string{"--data", "--socket", "--space", "--config", "--timeout"}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case !strings.HasPrefix(arg, "-"):
			return arg == "hook"
		case arg == "--":
			return i+1 < len(args) && args[i+1] == "hook"
		case slices.Contains(withValue, arg):
			i++
		case !strings.Contains(arg, "=") && arg != "--json" && arg != "--no-start" && arg != "--version" && arg != "--help" &&
			arg != "-h":
			// An unknown flag: what follows may be its value or the command.
			return slices.Contains(args[i+1:], "hook")
		}
	}
	return false
}
