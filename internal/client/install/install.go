// Package install registers memsidecar's hooks in the configuration of agents' host programs, and takes them out
// again. A configuration is edited in place, byte by byte: comments, order, indentation and everything that belongs
// to others stay as they are, and what is put in can be taken out so that the bytes before come back. What cannot be
// read is refused, never rewritten.
//
// It works on text and files and starts nothing. No setting of a host is changed; above all, none of its own memory.
package install

import (
	"bytes"
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
	Getenv func(name string) string // variables that move a configuration
}

// Target is the configuration of one host, and what is to be written in it.
type Target struct {
	Host    *hook.Host
	Scope   Scope
	Path    string // symbolic links are followed when it is written
	Program string // how hooks call memsidecar
	Args    []string

	editor editor
}

// editor knows one format of configuration.
type editor interface {
	// add returns text with the hooks registered; text itself when they are. before is nil when there is no file.
	add(t *Target, before []byte) ([]byte, error)
	// remove returns text without them, nil when nothing but what add makes for a missing file is left.
	remove(t *Target, before []byte) ([]byte, error)
	// commands returns the registered commands of ours, by event; as a shell takes them. Nil is none.
	commands(t *Target, text []byte) (map[hook.Kind][]string, error)
}

// NewTarget finds a host's configuration. Error: ErrNoScope.
func NewTarget(h *hook.Host, scope Scope, env Env, program string, args []string) (*Target, error) {
	t := &Target{Host: h, Scope: scope, Program: program, Args: args}
	home := func(variable, fallback string) string {
		if dir := env.Getenv(variable); filepath.IsAbs(dir) {
			return dir
		}
		return filepath.Join(env.Home, fallback)
	}
	user, project := "", ""
	switch h.Name {
	case "claude-code":
		user, project, t.editor = filepath.Join(home("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"),
			".claude/settings.json", jsonEditor{claudeHook}
	case "codex":
		user, project, t.editor = filepath.Join(home("CODEX_HOME", ".codex"), "config.toml"), ".codex/config.toml",
			tomlEditor{}
	case "gemini":
		user, project, t.editor = filepath.Join(env.Home, ".gemini/settings.json"), ".gemini/settings.json",
			jsonEditor{geminiHook}
	case "cursor":
		user, project, t.editor = filepath.Join(env.Home, ".cursor/hooks.json"), ".cursor/hooks.json",
			jsonEditor{cursorHook}
	case "copilot":
		user, project, t.editor = filepath.Join(env.Home, ".copilot/hooks/memsidecar.json"),
			".github/hooks/memsidecar.json", jsonEditor{copilotHook}
	case "vscode":
		project, t.editor = ".github/hooks/memsidecar-vscode.json", jsonEditor{vscodeHook}
	case "opencode":
		user, project, t.editor = filepath.Join(home("XDG_CONFIG_HOME", ".config"), "opencode/plugins/memsidecar.js"),
			".opencode/plugins/memsidecar.js", pluginEditor{}
	}
	if t.Path = user; scope == Project {
		t.Path = filepath.Join(env.Dir, project)
	}
	if t.Path == "" {
		return nil, fmt.Errorf("%s: %w", h.Title, ErrNoScope)
	}
	return t, nil
}

// Change is what an installation does to a file. Nothing is written before Write.
type Change struct {
	Path          string
	Before, After []byte // nil is no file
}

// Same reports whether there is nothing to do.
func (c *Change) Same() bool {
	return (c.Before == nil) == (c.After == nil) && bytes.Equal(c.Before, c.After)
}

// Install returns the change that registers the hooks once.
func (t *Target) Install() (*Change, error) { return t.change(t.editor.add) }

// Uninstall returns the change that takes out what Install put in.
func (t *Target) Uninstall() (*Change, error) {
	return t.change(func(t *Target, before []byte) ([]byte, error) {
		if before == nil {
			return nil, nil
		}
		after, err := t.editor.remove(t, before)
		if err == nil && after == nil && exists(backupOf(t.Path)) { // the file was there before, however little it held
			return os.ReadFile(backupOf(t.Path))
		}
		return after, err
	})
}

// change applies an edit to the configuration file, following symbolic links, and returns the texts before and after.
// It writes nothing.
func (t *Target) change(edit func(*Target, []byte) ([]byte, error)) (*Change, error) {
	path, err := filepath.EvalSymlinks(t.Path)
	if err != nil {
		path = t.Path
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the configuration of %s: %w", t.Host.Title, err)
	}
	if err == nil && before == nil {
		before = []byte{}
	}
	after, err := edit(t, before)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Change{Path: path, Before: before, After: after}, nil
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

// backupOf returns the path of the copy of the original.
func backupOf(path string) string { return path + ".memsidecar.bak" }

// exists reports whether something has this path, a broken link included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Write carries out a change. When the file was there before the hooks were, it is kept as PATH.memsidecar.bak, which
// goes when the file is as it was again. The name of a backup that was written is returned.
func (t *Target) Write(c *Change) (backup string, err error) {
	if c.Same() {
		return "", nil
	}
	if now, err := os.ReadFile(c.Path); err == nil != (c.Before != nil) || err == nil && !bytes.Equal(now, c.Before) {
		return "", fmt.Errorf("%s was changed meanwhile; try again", c.Path)
	}
	if c.After == nil {
		return "", os.Remove(c.Path)
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(c.Path); err == nil {
		mode = info.Mode().Perm()
	} else if t.Scope == Project {
		mode = 0o644
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return "", fmt.Errorf("make the directory of the configuration: %w", err)
	}
	if n, err := t.editor.commands(t, c.Before); c.Before != nil && err == nil && len(n) == 0 {
		backup = backupOf(c.Path)
		if err := writeFile(backup, c.Before, mode); err != nil {
			return "", fmt.Errorf("write the backup: %w", err)
		}
	}
	if err := writeFile(c.Path, c.After, mode); err != nil {
		return backup, fmt.Errorf("write the configuration of %s: %w", t.Host.Title, err)
	}
	if old, err := os.ReadFile(backupOf(c.Path)); backup == "" && err == nil && bytes.Equal(old, c.After) {
		_ = os.Remove(backupOf(c.Path)) // it says what the file says
	}
	return backup, nil
}

// command is what the host is to run for an event.
func (t *Target) command(kind hook.Kind) string {
	return shellCommand(append([]string{t.Program, "hook", "--host", t.Host.Name, string(kind)}, t.Args...))
}

// shellCommand quotes words for a shell where they need it.
func shellCommand(words []string) string {
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
