package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

// example is one command line that the documentation shows.
type example struct {
	where   string
	args    []string // without the name of the program
	plain   bool     // without pipes and redirections, so that it can run as it is
	mention bool     // inside a sentence, where arguments may be left out
}

// TestExamplesParse checks that the program understands every example in README.md, docs and --help: the command and
// its flags exist, and it accepts the number of arguments.
func TestExamplesParse(t *testing.T) {
	examples := readTestExamples(t)
	if len(examples) < 100 {
		t.Fatalf("only %d examples were found", len(examples))
	}
	for _, e := range examples {
		if err := understood(e.args, e.mention); err != nil {
			t.Errorf("%s: memsidecar %s: %v", e.where, strings.Join(e.args, " "), err)
		}
	}
}

// TestFirstLevel checks that --help stays short enough to be read: at most thirty commands at the first level, each
// with a description and each group command with an example.
func TestFirstLevel(t *testing.T) {
	root := newTestRoot()
	var visible []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			visible = append(visible, c.Name())
		}
	}
	if len(visible) > 30 {
		t.Errorf("--help lists %d commands, want at most 30: %s", len(visible), strings.Join(visible, " "))
	}
	for _, c := range allCommands(root) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 80 {
			t.Errorf("%s: the short description is %q", c.CommandPath(), c.Short)
		}
		for line := range strings.SplitSeq(c.Long+"\n"+c.Example, "\n") {
			if displayWidth(line) > 120 {
				t.Errorf("%s: the help has a line of %d columns: %s", c.CommandPath(), displayWidth(line), line)
			}
		}
	}
}

// cmdExamples runs the examples that change nothing outside the data directory. A command may find nothing, but the
// program must understand it: an exit code of 2 is a failure.
func cmdExamples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: examples")
	}
	ran := 0
	examples, err := readExamples("../..")
	ts.Check(err)
	for _, e := range examples {
		if !e.plain || e.mention || !harmless(e.args) {
			continue
		}
		err := ts.Exec("memsidecar", e.args...)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitUsage {
			ts.Fatalf("%s: memsidecar %s: exit code 2\n%s", e.where, strings.Join(e.args, " "), ts.ReadFile("stderr"))
		}
		ran++
	}
	if ran < 30 {
		ts.Fatalf("only %d examples ran", ran)
	}
}

// harmless reports whether an example only reads or changes its own data directory, needs no file, and ends.
func harmless(args []string) bool {
	for _, a := range args {
		if a == "-" || a == "--file" || a == "--data" || a == "--config" || a == "--socket" || a == "--watch" {
			return false
		}
	}
	path, _ := commandPath(args)
	switch path {
	case "add", "get", "list", "search", "update", "forget", "restore", "history", "undo", "ops", "ops list",
		"ops show",
		"edits", "edits show", "review", "review show", "log add", "log get", "log list", "log archive", "status",
		"doctor",
		"check", "config", "recall", "recall hint", "recall traces", "memory consolidate", "memory save",
		"memory stats",
		"memory hot", "memory summary get", "memory summary rebuild", "memory compress", "memory skill add",
		"session append", "session context", "session list", "session working", "session get", "daemon publish",
		"daemon socket", "daemon dump", "install status":
		return true
	case "memory purge", "install", "uninstall", "daemon service install":
		return slices.Contains(args, "--dry-run")
	case "ops watch":
		return slices.Contains(args, "0") && slices.Contains(args, "--limit")
	}
	return false
}

// notCommands are words that follow "memsidecar" in file formats.
var notCommands = []string{"encoder", "整理的已知内容："}

// understood parses a command line without running it. A mention needs no arguments.
func understood(args []string, mention bool) error {
	if mention && slices.Contains(notCommands, args[0]) {
		return nil
	}
	if len(args) == 1 && args[0] == "--version" {
		return nil
	}
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
	}
	root := newTestRoot()
	root.InitDefaultHelpFlag()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return errors.New("there is no such command")
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil && !(mention && strings.Contains(err.Error(), "needs an argument")) {
		return err
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return nil
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		return nil
	}
	left := cmd.Flags().Args()
	takes := strings.Contains(cmd.Use, " ") // arguments of its own, beside its subcommands
	if cmd.HasSubCommands() && !takes && len(left) > 0 && cmd.ValidateArgs(nil) == nil && cmd.Args != nil {
		return fmt.Errorf("unknown subcommand %q", left[0])
	}
	if mention {
		return nil
	}
	return errors.Join(cmd.ValidateArgs(left), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
}

// commandPath is the path of the command that args name, without the program, such as "ops show".
func commandPath(args []string) (string, error) {
	cmd, _, err := newTestRoot().Find(args)
	if err != nil {
		return "", err
	}
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path, nil
}

func newTestRoot() *cobra.Command {
	var out bytes.Buffer
	return newApp(strings.NewReader(""), &out, &out, func(string) string { return "" }).rootCommand()
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.Name() != "no-help" {
			out = append(out, allCommands(c)...)
		}
	}
	return out
}

func readTestExamples(t *testing.T) []example {
	t.Helper()
	out, err := readExamples("../..")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readExamples collects the examples of the help of every command, and of README.md and docs in repo.
func readExamples(repo string) ([]example, error) {
	var out []example
	for _, c := range allCommands(newTestRoot()) {
		for line := range strings.SplitSeq(c.Example, "\n") {
			out = append(out, commandLines("help of "+c.CommandPath(), line)...)
		}
	}
	files, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, file := range append(files, filepath.Join(repo, "README.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		fenced, program := false, false // inside a block, and one of a program's text
		for n, line := range strings.Split(string(data), "\n") {
			where := fmt.Sprintf("%s:%d", filepath.Base(file), n+1)
			switch trimmed := strings.TrimSpace(line); {
			case strings.HasPrefix(trimmed, "```"):
				fenced, program = !fenced, trimmed == "```go"
			case program:
			case fenced && strings.HasPrefix(trimmed, "$ "):
				out = append(out, commandLines(where, trimmed[2:])...)
			case fenced && strings.HasPrefix(trimmed, "memsidecar "):
				out = append(out, commandLines(where, optional.Replace(trimmed))...)
			case !fenced:
				for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
					for _, e := range commandLines(where, optional.Replace(m[1])) {
						e.mention = true
						out = append(out, e)
					}
				}
			}
		}
	}
	return out, nil
}

// optional removes the brackets around optional arguments.
var optional = strings.NewReplacer("[-", "-", "]", "")

var inlineCommand = regexp.MustCompile("`(memsidecar [^`]+)`")

// commandLines finds the calls of memsidecar in a line of shell.
func commandLines(where, line string) []example {
	var out []example
	words, separators := shellWords(line)
	plain := !separators
	for len(words) > 0 {
		end := slices.Index(words, separator)
		part := words
		if end >= 0 {
			part, words = words[:end], words[end+1:]
		} else {
			words = nil
		}
		if len(part) > 0 && part[0] == "memsidecar" {
			out = append(out, example{where: where, args: part[1:], plain: plain})
		}
	}
	return out
}

// separator stands for an operator of the shell between two commands.
const separator = "\x00"

// shellWords splits a line of shell into words, with quotes but without expansions. Operators between commands become
// separator; redirections and comments are dropped. operators reports whether there were any.
func shellWords(line string) (words []string, operators bool) {
	var word strings.Builder
	started := false
	flush := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\'' || r == '"':
			started = true
			for i++; i < len(runes) && runes[i] != r; i++ {
				if r == '"' && runes[i] == '\\' && i+1 < len(runes) {
					i++
				}
				word.WriteRune(runes[i])
			}
		case r == ' ' || r == '\t':
			flush()
		case r == '#' && !started:
			return words, operators
		case r == '<' || r == '>':
			flush()
			operators = true
			for i++; i < len(runes) && (runes[i] == ' ' || runes[i] == '>'); i++ {
			}
			for ; i < len(runes) && runes[i] != ' ' && runes[i] != '|'; i++ {
			}
			i--
		case r == '|' || r == ';' || r == '&':
			flush()
			operators = true
			words = append(words, separator)
		default:
			started = true
			word.WriteRune(r)
		}
	}
	flush()
	return words, operators
}
