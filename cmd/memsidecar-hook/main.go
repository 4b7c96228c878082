//go:build unix

// Memsidecar-hook is what hosts call for hooks and recalls: a program that starts four times as fast as memsidecar,
// because it links almost nothing. It hands its arguments, its environment and its input to the daemon, which runs the
// command as memsidecar would, and prints the answer. Whatever it cannot do itself, it has memsidecar do; so nothing is
// decided here, and an older memsidecar-hook beside a newer daemon loses nothing.
//
//	memsidecar-hook ARGUMENT... --program MEMSIDECAR
//
// "memsidecar install" writes it out and registers it.
package main

import (
	"os"
	"slices"
	"strings"
	"time"
)

// programFlag names the program that does what this one cannot.
const programFlag = "--program"

func main() {
	program, args := splitArgs(os.Args[1:])
	c := &call{program: program, args: args, began: time.Now()}
	c.limits = limitsOf(args)
	if !c.possible() {
		c.replace()
	}
	if c.isHook() {
		c.watch()
	}
	c.run()
}

// splitArgs takes the flag of this program out of its arguments.
func splitArgs(all []string) (program string, args []string) {
	for i := 0; i < len(all); i++ {
		if all[i] == programFlag && i+1 < len(all) {
			i++
			program = all[i]
			continue
		}
		args = append(args, all[i])
	}
	return program, args
}

// possible reports whether a command may be run by the daemon. Others read standard input themselves, print for people,
// or are about the process.
func (c *call) possible() bool {
	for _, arg := range c.args {
		switch {
		case arg == "-", arg == "session-end", arg == "-h", arg == "--help", arg == "--probe", arg == "--late",
			strings.HasPrefix(arg, "--spent"):
			return false
		}
	}
	return c.isHook() || len(c.args) > 1 && c.args[0] == "recall" && !isTerminal(1)
}

// limitsOf are the limits of a command, longer with --timeout.
func limitsOf(args []string) limits {
	if len(args) > 0 && args[0] == "recall" && !slices.Contains(args, "--or-nothing") {
		return limits{alive: recallLimit, answer: recallLimit, slow: recallLimit}
	}
	l := limits{alive: aliveLimit, answer: answerLimit, slow: slowLimit}
	if more, err := time.ParseDuration(option(args, "--timeout", "")); err == nil && more > 0 {
		l = limits{alive: more, answer: max(l.answer, more+answerLimit), slow: max(l.slow, more+answerLimit)}
	}
	return l
}

// usefulEnv are the variables that a command may read. The others are not the daemon's business.
func usefulEnv(all []string) (out []string) {
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == "HOME", name == "TZ", name == "CLAUDE_CONFIG_DIR", name == "CODEX_HOME",
			strings.HasPrefix(name, "XDG_"), strings.HasPrefix(name, "MEMSIDECAR_"), strings.HasPrefix(name, "MEMORY_"):
			out = append(out, v)
		}
	}
	return out
}
