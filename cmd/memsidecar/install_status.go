package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
)

// hookState is the state of one event of a host in one configuration file.
type hookState struct {
	target  *install.Target
	kind    hook.Kind
	times   int       // how many times it is registered
	last    time.Time // last call; zero for never
	outcome string    // outcome of that call: ok, or the error
	err     error     // the configuration cannot be read
	problem string    // what is wrong with the registered program; "" when it is this one
	trust   install.Trust

	gaveUp     int64     // calls that ended at their time limit, so that the agent got nothing
	lastGiveUp time.Time // the last of them

	elsewhere bool // called, but registered in no known file: by a plugin or in another project
}

// object is the state for --json.
func (s *hookState) object() object {
	out := object{{"host", s.target.Host.Name}, {"scope", string(s.target.Scope)}, {"path", s.target.Path}}
	if s.elsewhere {
		out = object{{"host", s.target.Host.Name}, {"scope", "elsewhere"}}
	}
	if s.err != nil {
		return append(out, member{"error", s.err.Error()})
	}
	out = append(out, member{"event", s.event()}, member{"registered", s.times})
	if s.problem != "" {
		out = append(out, member{"problem", s.problem})
	}
	if s.trust != install.TrustUnneeded {
		out = append(out, member{"trust", string(s.trust)})
	}
	if !s.last.IsZero() {
		out = append(out, member{"last_called", s.last.UTC().Format(time.RFC3339Nano)}, member{"outcome", s.outcome},
			member{"gave_up", s.gaveUp})
	}
	return out
}

// event is the event's name, or the part's when no event calls it.
func (s *hookState) event() string {
	if s.target.Part != install.Hooks {
		return string(s.target.Part)
	}
	return string(s.kind)
}

// when is the age of the last call, or the error of the configuration.
func (s *hookState) when(a *app) string {
	switch {
	case s.err != nil:
		return s.err.Error()
	case s.target.Part != install.Hooks:
		return "-"
	case s.last.IsZero():
		return "never"
	}
	return a.out.age(s.last)
}

// hookStates returns the events of every host in whose configuration a hook of ours is registered.
func (a *app) hookStates() ([]*hookState, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	dir, err := hookDir(cfg, a.env)
	if err != nil {
		return nil, err
	}
	var out []*hookState
	asked := probes{}
	seen := map[string]bool{} // in the home directory both scopes name the same file
	for _, h := range hook.Hosts() {
		n := len(out)
		var first *install.Target
		for _, scope := range []install.Scope{install.User, install.Project} {
			files, err := a.hostFiles(h, scope, "")
			if err != nil {
				return nil, err
			}
			for _, t := range targetsOf(files) {
				if first == nil && t.Part == install.Hooks {
					first = t
				}
				if key := t.Path + " " + string(t.Part); !seen[key] {
					seen[key] = true
					out = append(out, statesOf(t, dir, asked)...)
				}
			}
		}
		if first != nil && !hasHooks(out[n:]) && fired(dir, h.Name) {
			for _, b := range h.Bindings {
				s := &hookState{target: first, kind: b.Kind, elsewhere: true}
				s.readMark(dir)
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// targetsOf returns the parts of all files, hooks first.
func targetsOf(files []*install.File) (out []*install.Target) {
	for _, f := range files {
		out = append(out, f.Targets...)
	}
	slices.SortStableFunc(out, func(a, b *install.Target) int {
		return slices.Index(install.Parts(), a.Part) - slices.Index(install.Parts(), b.Part)
	})
	return out
}

// hasHooks reports whether one of the states is that of a hook.
func hasHooks(states []*hookState) bool {
	return slices.ContainsFunc(states, func(s *hookState) bool { return s.target.Part == install.Hooks })
}

// readMark reads the time and outcome of the last call, and how many gave up.
func (s *hookState) readMark(dir string) {
	name := s.target.Host.Name + "." + string(s.kind)
	if info, err := os.Stat(filepath.Join(dir, "timeouts", name)); err == nil {
		s.gaveUp, s.lastGiveUp = info.Size(), info.ModTime()
	}
	path := filepath.Join(dir, "fired", name)
	if info, err := os.Stat(path); err == nil {
		text, _ := os.ReadFile(path) // without a text only the outcome is unknown
		outcome, _, _ := strings.Cut(string(text), "\n")
		s.last, s.outcome = info.ModTime(), outcome
	}
}

// statesOf returns the states of all events in one configuration file, or nil if no hook of ours is in it.
func statesOf(t *install.Target, dir string, asked probes) []*hookState {
	registered, err := t.Registered()
	var trust map[hook.Kind]install.Trust
	if err == nil {
		trust, err = t.Trust()
	}
	if err != nil {
		if !fired(dir, t.Host.Name) {
			return nil // no sign that it was ever installed
		}
		return []*hookState{{target: t, err: err}}
	}
	if len(registered) == 0 {
		return nil
	}
	if t.Part != install.Hooks {
		s := &hookState{target: t, times: 1}
		if words := registered[""][0]; words != "" {
			s.problem = asked.server(words, t.Host)
		}
		return []*hookState{s}
	}
	var out []*hookState
	for _, b := range t.Host.Bindings {
		commands := registered[b.Kind]
		s := &hookState{target: t, kind: b.Kind, times: len(commands), trust: trust[b.Kind]}
		for _, command := range commands {
			if problem := asked.problem(command); problem != "" {
				s.problem = problem
			}
		}
		s.readMark(dir)
		out = append(out, s)
	}
	return out
}

// fired reports whether a hook of the host was ever called.
func fired(dir, host string) bool {
	marks, _ := filepath.Glob(filepath.Join(dir, "fired", host+".*"))
	return len(marks) > 0
}

// giveUpAge is how long doctor warns of a hook that gave up.
const giveUpAge = 7 * 24 * time.Hour

// hookFindings returns one doctor finding per host with hooks: registered once, and when last called.
func (a *app) hookFindings() []*pb.Finding {
	states, err := a.hookStates()
	if err != nil {
		return []*pb.Finding{{Name: "hooks", Level: pb.FindingLevel_FINDING_LEVEL_WARN, Detail: err.Error()}}
	}
	var out []*pb.Finding
	for len(states) > 0 {
		n := 1
		for n < len(states) && states[n].target == states[0].target {
			n++
		}
		out = append(out, a.hookFinding(states[:n]))
		states = states[n:]
	}
	return out
}

// hookFinding is the finding for the events of one configuration file.
func (a *app) hookFinding(states []*hookState) *pb.Finding {
	t := states[0].target
	f := &pb.Finding{Name: string(t.Part) + " of " + t.Host.Name, Level: pb.FindingLevel_FINDING_LEVEL_OK}
	warn := func(remedy string) {
		f.Level = pb.FindingLevel_FINDING_LEVEL_WARN
		if f.Remedy == "" {
			f.Remedy = remedy
		}
	}
	again := "run `memsidecar install " + t.Host.Name + scopeFlag(t.Scope) + "`"
	if err := states[0].err; err != nil {
		f.Detail = err.Error()
		warn("fix the file")
		return f
	}
	if t.Part != install.Hooks {
		if f.Detail = t.Path; states[0].problem != "" {
			f.Detail += ": " + states[0].problem
			warn(again)
		}
		return f
	}
	var parts []string
	never := 0
	for _, s := range states {
		if s.problem != "" && f.Level == pb.FindingLevel_FINDING_LEVEL_OK {
			parts = append(parts, s.problem)
			warn(again)
		}
		if s.untrusted() {
			warn("start Codex and trust the hooks with /hooks: until then it skips them")
		}
		part := string(s.kind) + " "
		switch {
		case s.elsewhere && s.last.IsZero():
			part += "never called"
		case s.times == 0 && !s.elsewhere:
			part += "not registered"
			warn(again)
		case s.times > 1:
			part += fmt.Sprintf("registered %d times", s.times)
			warn(again)
		case s.last.IsZero():
			part += "never called"
			never++
		case s.outcome == hookNoDaemon, s.outcome == hookPaused: // the hook started a daemon; a person wants it so
			part += s.when(a) + " (" + s.outcome + ")"
		case s.outcome != hookOK:
			part += s.when(a) + " (" + s.outcome + ")"
			warn("see hooks/hook.log in the state directory")
		default:
			part += s.when(a)
		}
		if s.trust != install.TrustUnneeded {
			part += ", " + string(s.trust)
		}
		if s.gaveUp > 0 {
			part += fmt.Sprintf(" (gave up %d times, last %s)", s.gaveUp, a.out.age(s.lastGiveUp))
		}
		if s.gaveUp > 0 && a.now().Sub(s.lastGiveUp) < giveUpAge {
			warn("the agent got no memories those times: see hooks/hook.log in the state directory, and `memsidecar " +
				"status` for a daemon that is busy")
		}
		parts = append(parts, part)
	}
	if never == len(states) {
		warn("start a session; if the hooks are still not called, see the hook log of the host")
	}
	f.Detail = t.Path + ": " + strings.Join(parts, ", ")
	if states[0].elsewhere {
		f.Detail = "registered by a plugin or in another project: " + strings.Join(parts, ", ")
	}
	return f
}

// untrusted reports whether the host will skip the hook until a person has reviewed it.
func (s *hookState) untrusted() bool {
	return s.trust != install.TrustUnneeded && s.trust != install.TrustGiven
}

// scopeFlag is the flag for a scope in a command of a remedy.
func scopeFlag(s install.Scope) string {
	if s == install.Project {
		return " --scope project"
	}
	return ""
}
