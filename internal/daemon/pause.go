package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

const (
	// pausedFile exists while something is paused, so that a pause survives a restart. A program that knows of no
	// paused hosts takes it to pause capture for everybody: it records less than it may, never more.
	pausedFile = "paused"
	// pausedLine pauses capture; any other line that names no host does so, too, and so does an empty file.
	pausedLine = "Capture is paused. `memsidecar daemon resume` ends the pause."
	// hostLine begins a line that names a paused host.
	hostLine = "host "
	// maxPausedHosts bounds the file.
	maxPausedHosts = 100
)

// pauses holds what is paused. It is safe for concurrent use.
type pauses struct {
	fs  durable.FS
	mu  sync.Mutex // of writers
	now atomic.Pointer[pauseState]
}

// pauseState is what is paused at a moment; it never changes.
type pauseState struct {
	capture bool
	hosts   []string // sorted
}

// openPauses reads what was paused before this start. A file that cannot be read pauses capture.
func openPauses(fsys durable.FS) *pauses {
	p := &pauses{fs: fsys}
	state := &pauseState{}
	text, err := durable.ReadFile(fsys, pausedFile)
	if err == nil {
		state = parsePauses(string(text))
	} else if !errors.Is(err, fs.ErrNotExist) {
		state.capture = true
	}
	p.now.Store(state)
	return p
}

// parsePauses reads the text of pausedFile.
func parsePauses(text string) *pauseState {
	state := &pauseState{capture: strings.TrimSpace(text) == ""}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		host, named := strings.CutPrefix(line, hostLine)
		switch {
		case named:
			state.hosts = append(state.hosts, strings.TrimSpace(host))
		case line != "":
			state.capture = true
		}
	}
	slices.Sort(state.hosts)
	state.hosts = slices.Compact(state.hosts)
	return state
}

// text is the text of pausedFile, "" when there is none to be.
func (s *pauseState) text() string {
	var b strings.Builder
	if s.capture {
		b.WriteString(pausedLine + "\n")
	}
	for _, h := range s.hosts {
		b.WriteString(hostLine + h + "\n")
	}
	return b.String()
}

// Capture reports whether capture is paused for everybody.
func (p *pauses) Capture() bool { return p.now.Load().capture }

// Hosts are the paused hosts, sorted. The caller does not change them.
func (p *pauses) Hosts() []string { return p.now.Load().hosts }

// Host reports whether a host is paused: by its name, or by a name that its own begins with, up to what separates the
// words of a name. "codex" is also "codex-mcp-client 1.2", and not "codexer".
func (p *pauses) Host(name string) bool {
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(p.now.Load().hosts, func(paused string) bool {
		if len(name) < len(paused) || !strings.EqualFold(name[:len(paused)], paused) {
			return false
		}
		rest := []rune(name[len(paused):])
		return len(rest) == 0 || !unicode.IsLetter(rest[0]) && !unicode.IsDigit(rest[0])
	})
}

// set pauses or resumes a host, or capture when host is "". Durable on return. Error: *memory.InvalidError.
func (p *pauses) set(host string, paused bool) error {
	host = strings.TrimSpace(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	next := *p.now.Load()
	switch {
	case host == "":
		next.capture = paused
	case paused:
		next.hosts = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(next.hosts), host))))
	default:
		next.hosts = slices.DeleteFunc(slices.Clone(next.hosts), func(h string) bool { return strings.EqualFold(h, host) })
	}
	var check memory.Check
	check.Text("host", host, memory.MaxTitle, false)
	if strings.ContainsFunc(host, func(r rune) bool { return !unicode.IsPrint(r) }) {
		check.Add("host", "INVALID_ID", "may hold only printable characters")
	}
	if len(next.hosts) > maxPausedHosts {
		check.Add("host", "TOO_MANY", "cannot be paused: %d hosts are paused already; resume one of them", maxPausedHosts)
	}
	if err := check.Err(); err != nil {
		return err
	}
	if err := p.write(next.text()); err != nil {
		return fmt.Errorf("pause or resume: %w", err)
	}
	p.now.Store(&next)
	return nil
}

// write replaces pausedFile, or removes it when there is no text. Durable on return.
func (p *pauses) write(text string) error {
	if text != "" {
		return durable.WriteFile(p.fs, pausedFile, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	if err := p.fs.Remove(pausedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.fs.SyncDir(".")
}
