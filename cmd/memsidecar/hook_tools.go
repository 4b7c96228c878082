package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
)

// hostTools returns the set of memory tools that a host's agent has in dir, by the MCP server in the host's
// configuration; "" when there is none that can be read. An agent is not told of tools that it lacks.
func (a *app) hostTools(h *hook.Host, dir string) string {
	env := install.Env{Home: a.env("HOME"), Dir: dir, Getenv: a.env}
	if !filepath.IsAbs(env.Home) {
		return ""
	}
	for _, scope := range []install.Scope{install.Project, install.User} {
		if scope == install.Project && !filepath.IsAbs(dir) {
			continue
		}
		t, err := install.NewTarget(h, install.MCP, scope, env, "memsidecar", nil)
		if err != nil {
			continue
		}
		if registered, err := t.Registered(); err == nil && len(registered[""]) > 0 {
			return toolSetOf(registered[""][0])
		}
	}
	return ""
}

// toolSetOf returns the set of tools that a registered command serves, "" for one that this version does not know: the
// session must start all the same.
func toolSetOf(command string) string {
	words := strings.Fields(strings.ReplaceAll(command, "--compat=", "--compat "))
	for i, word := range words {
		if word == "--compat" && i+1 < len(words) {
			set := strings.Trim(words[i+1], `'"`)
			if !slices.Contains(mcpserver.Sets(), set) {
				return ""
			}
			return set
		}
	}
	return "default"
}
