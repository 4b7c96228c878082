package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// probeLimit bounds how long a registered command may take to say who it is.
const probeLimit = 5 * time.Second

// probeFlag makes "hook" say which program it is instead of handling an event.
const probeFlag = "--probe"

// probeAnswer is what "hook --probe" prints.
type probeAnswer struct {
	Program string `json:"program"` // the file that runs, links resolved
	Version string `json:"version"`
}

// printProbe is the body of "hook --probe": no input is read and nothing is recorded.
func (a *app) printProbe(h *hook.Host, kind hook.Kind) error {
	if _, ok := h.Binding(kind); !ok {
		return usagef("%s has no event %s", h.Name, kind)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(probeAnswer{self, programVersion()})
}

// probes remembers the answers of registered commands: all events of one configuration call the same program.
type probes map[string]string

// problem runs a registered command as its host would, through the shell, and returns what is wrong with it: "" when
// it exists, answers, and is this program.
func (p probes) problem(command string) string {
	program, _, _ := strings.Cut(command, " hook --host ")
	if answer, ok := p[program]; ok {
		return answer
	}
	p[program] = probe(program, command)
	return p[program]
}

// server is problem for the command of an MCP server: its program is asked, the server is not started.
func (p probes) server(command string, h *hook.Host) string {
	program, _, _ := strings.Cut(command, " mcp")
	return p.problem(program + " hook --host " + h.Name + " " + string(h.Bindings[0].Kind))
}

// probe is problem without the memory.
func probe(program, command string) string {
	ctx, cancel := context.WithTimeout(context.Background(), probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command+" "+probeFlag)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 127:
		return "the registered program " + program + " does not exist"
	case errors.As(err, &exit) && exit.ExitCode() == 126:
		return "the registered program " + program + " cannot be executed"
	case ctx.Err() != nil:
		return fmt.Sprintf("the registered program %s did not answer within %s", program, probeLimit)
	}
	var got probeAnswer
	if json.Unmarshal(out, &got) != nil || got.Program == "" {
		return "the registered program " + program + " does not answer as this version does"
	}
	self, err := os.Executable()
	if err != nil || !sameFile(self, got.Program) {
		return fmt.Sprintf("the registered program %s is another one: %s, version %s", program, got.Program, got.Version)
	}
	return ""
}
