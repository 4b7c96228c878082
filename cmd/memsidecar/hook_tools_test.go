package main

import "testing"

// TestToolSetOf: a set that this version does not know names no tools, because the daemon refuses it and the session
// would start without its context.
func TestToolSetOf(t *testing.T) {
	for command, want := range map[string]string{
		"memsidecar mcp":                           "default",
		"memsidecar mcp --compat server-memory":    "server-memory",
		"memsidecar mcp --compat=remember":         "remember",
		`"memsidecar" mcp --compat "memory-tools"`: "memory-tools",
		"memsidecar mcp --compat of-tomorrow":      "",
	} {
		if got := toolSetOf(command); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
