// Package install registers memsidecar's hooks in the configuration of agents' host programs, and takes them out
// again. A configuration is edited in place, byte by byte: comments, order, indentation and everything that belongs
// to others stay as they are, and what is put in can be taken out so that the bytes before come back. What cannot be
// read is refused, never rewritten.
//
// It works on text and files and starts nothing. No setting of a host is changed; above all, none of its own memory.
package install

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Scope says whose configuration is edited.
type Scope string

// The scopes.
const (
	User    Scope = "user"
	Project Scope = "project"
)

// Errors of this package; they are wrapped with the file's name and what to do.
var (
	ErrUnreadable = errors.New("cannot be read as what it should be, and is left as it is")
	ErrForeign    = errors.New("belongs to somebody else, and is left as it is")
	ErrNoScope    = errors.New("the host has no such configuration")
)

// Env is where configurations are found.
type Env struct {
	Home   string                   // of the user
	Dir    string                   // of the project
	State  string                   // where the directories that were made are remembered; "" remembers none
	Hook   string                   // program that a user's hooks call instead; it is given the other with --program
	Getenv func(name string) string // variables that move a configuration
}

// Target is one part of what is installed in a host, and the file that holds it.
type Target struct {
	Host    *hook.Host
	Part    Part
	Scope   Scope
	Path    string // symbolic links are followed when it is written
	Program string // how hooks call memsidecar
	Args    []string

	editor editor
}

// editor knows one format of configuration.
type editor interface {
	// add returns text with the part registered; text itself when it is. before is nil when there is no file.
	add(t *Target, before []byte) ([]byte, error)
	// remove returns text without it, nil when nothing but what add makes for a missing file is left.
	remove(t *Target, before []byte) ([]byte, error)
	// commands returns the registered commands of ours, by event, as a shell takes them; a part that no event calls
	// is under "". Nil is none.
	commands(t *Target, text []byte) (map[hook.Kind][]string, error)
}

// NewTarget finds the file of a part of a host. Error: ErrNoScope.
func NewTarget(h *hook.Host, part Part, scope Scope, env Env, program string, args []string) (*Target, error) {
	p := placeOf(h, part, env)
	if part == Hooks && scope == User && env.Hook != "" {
		program, args = env.Hook, append(slices.Clone(args), "--program", program)
	}
	t := &Target{Host: h, Part: part, Scope: scope, Program: program, Args: args, Path: p.user, editor: p.editor}
	if scope == Project {
		t.Path = p.project
		if t.Path != "" && !filepath.IsAbs(t.Path) {
			t.Path = filepath.Join(env.Dir, t.Path)
		}
	}
	if t.Path == "" {
		return nil, fmt.Errorf("%s: %s: %w", h.Title, part, ErrNoScope)
	}
	return t, nil
}

// Registered returns the commands that are registered for each event; nil when there is no configuration.
func (t *Target) Registered() (map[hook.Kind][]string, error) {
	text, err := os.ReadFile(t.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", t.Host.Title, err)
	}
	commands, err := t.editor.commands(t, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Path, err)
	}
	return commands, nil
}

// command is what the host is to run for an event.
func (t *Target) command(kind hook.Kind) string {
	return ShellCommand(append([]string{t.Program, "hook", "--host", t.Host.Name, string(kind)}, t.Args...))
}

// ShellCommand quotes words for a shell where they need it.
func ShellCommand(words []string) string {
	words = slices.Clone(words)
	for i, w := range words {
		if strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(shellSafe, r) }) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// shellSafe lists the characters that need no quotes in a shell command.
const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"

// kindOfCommand returns the event that a command of ours is for, or "" for any other command.
func (t *Target) kindOfCommand(command string) hook.Kind {
	before, after, found := strings.Cut(command, " hook --host "+t.Host.Name+" ")
	if !found || !strings.Contains(filepath.Base(strings.Trim(before, `'"`)), "memsidecar") &&
		strings.Trim(before, `'"`) != t.Program {
		return ""
	}
	kind, _, _ := strings.Cut(after, " ")
	return hook.Kind(kind)
}

// writeFile replaces a file in one step.
func writeFile(path string, data []byte, mode os.FileMode) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.Base(path)
	err = durable.WriteFile(durable.Dir(root), name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return root.Chmod(name, mode)
}
