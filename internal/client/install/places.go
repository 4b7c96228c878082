package install

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// Part is one of the things that are installed in a host.
type Part string

// The parts, in the order in which they are installed.
const (
	Hooks        Part = "hooks"        // what happens in a session is recorded, what fits is recalled
	MCP          Part = "mcp"          // tools with which the agent itself searches and saves
	Instructions Part = "instructions" // a skill or rule that says when to
)

// Parts returns all parts.
func Parts() []Part { return []Part{Hooks, MCP, Instructions} }

// place is where a host keeps a part for a user and for a project, "" where it has no such file, and its format.
type place struct {
	user, project string
	editor        editor
}

// absolute returns the directory that a variable names, or one below the home directory.
func (env Env) absolute(variable, fallback string) string {
	if dir := env.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(env.Home, fallback)
}

// placeOf finds the file of a part; docs/hooks.md names the sources.
func placeOf(h *hook.Host, part Part, env Env) place {
	claude, codex := env.absolute("CLAUDE_CONFIG_DIR", ".claude"), env.absolute("CODEX_HOME", ".codex")
	opencode := filepath.Join(env.absolute("XDG_CONFIG_HOME", ".config"), "opencode")
	home := func(path string) string { return filepath.Join(env.Home, path) }
	const skillFile = "skills/memsidecar/SKILL.md"
	return map[string]map[Part]place{
		"claude-code": {
			Hooks:        {claude + "/settings.json", ".claude/settings.json", jsonEditor{claudeHook}},
			MCP:          {env.absolute("CLAUDE_CONFIG_DIR", "") + "/.claude.json", ".mcp.json", plainServers},
			Instructions: {claude + "/" + skillFile, ".claude/" + skillFile, skill},
		},
		"codex": {
			Hooks:        {codex + "/config.toml", ".codex/config.toml", tomlEditor{codexHooks{}}},
			MCP:          {codex + "/config.toml", ".codex/config.toml", tomlEditor{codexServer{}}},
			Instructions: {codex + "/" + skillFile, ".agents/" + skillFile, skill},
		},
		"gemini": {
			Hooks:        {home(".gemini/settings.json"), ".gemini/settings.json", jsonEditor{geminiHook}},
			MCP:          {home(".gemini/settings.json"), ".gemini/settings.json", plainServers},
			Instructions: {home(".gemini/" + skillFile), ".gemini/" + skillFile, skill},
		},
		"cursor": {
			Hooks: {home(".cursor/hooks.json"), ".cursor/hooks.json", jsonEditor{cursorHook}},
			MCP:   {home(".cursor/mcp.json"), ".cursor/mcp.json", plainServers},
			// A rule is always read: the floor for an agent whose hooks pass nothing on at a prompt.
			Instructions: {home(".cursor/" + skillFile), ".cursor/rules/memsidecar.mdc", cursorRule},
		},
		"copilot": {
			Hooks: {home(".copilot/hooks/memsidecar.json"), ".github/hooks/memsidecar.json",
				jsonEditor{copilotHook}},
			MCP:          {home(".copilot/mcp-config.json"), "", copilotServers},
			Instructions: {home(".copilot/" + skillFile), ".github/" + skillFile, skill},
		},
		"vscode": {
			Hooks:        {"", ".github/hooks/memsidecar-vscode.json", jsonEditor{vscodeHook}},
			MCP:          {vscodeUser(env) + "/mcp.json", ".vscode/mcp.json", vscodeServers},
			Instructions: {"", ".github/instructions/memsidecar.instructions.md", vscodeRule},
		},
		"opencode": {
			Hooks: {opencode + "/plugins/memsidecar.js", ".opencode/plugins/memsidecar.js", pluginEditor{}},
			MCP: {existing(opencode+"/opencode.json", opencode+"/opencode.jsonc"), existing(
				filepath.Join(env.Dir, "opencode.json"), filepath.Join(env.Dir, "opencode.jsonc")), openCodeServers},
			Instructions: {opencode + "/" + skillFile, ".opencode/" + skillFile, skill},
		},
	}[h.Name][part]
}

// vscodeUser is the directory of VS Code's settings of a user.
func vscodeUser(env Env) string {
	if runtime.GOOS == "darwin" {
		return filepath.Join(env.Home, "Library/Application Support/Code/User")
	}
	return filepath.Join(env.absolute("XDG_CONFIG_HOME", ".config"), "Code/User")
}

// existing returns the second path if only that is there, else the first.
func existing(first, second string) string {
	if !exists(first) && exists(second) {
		return second
	}
	return first
}

// Present reports whether a host seems to be installed for this user: one of its programs is found, or its directory
// is there. find looks a program up, as exec.LookPath does.
func Present(h *hook.Host, env Env, find func(name string) (string, error)) bool {
	signs := map[string]struct {
		dir      string
		programs []string
	}{
		"claude-code": {env.absolute("CLAUDE_CONFIG_DIR", ".claude"), []string{"claude"}},
		"codex":       {env.absolute("CODEX_HOME", ".codex"), []string{"codex"}},
		"gemini":      {filepath.Join(env.Home, ".gemini"), []string{"gemini"}},
		"cursor":      {filepath.Join(env.Home, ".cursor"), []string{"cursor", "cursor-agent"}},
		"copilot":     {filepath.Join(env.Home, ".copilot"), []string{"copilot"}},
		"vscode":      {vscodeUser(env), []string{"code"}},
		"opencode":    {filepath.Join(env.absolute("XDG_CONFIG_HOME", ".config"), "opencode"), []string{"opencode", "opencode2"}},
	}[h.Name]
	for _, name := range signs.programs {
		if _, err := find(name); err == nil {
			return true
		}
	}
	info, err := os.Stat(signs.dir)
	return err == nil && info.IsDir()
}
