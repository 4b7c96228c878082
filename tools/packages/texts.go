package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"text/template"
)

//go:embed memsidecar.rb.tmpl
var formulaText string

//go:embed install.sh.tmpl
var installerText string

// serverName is the name under which the MCP registry lists memsidecar. The packages state it too, as proof.
const serverName = "io.github.memsidecar/memsidecar"

// writeFormula writes the formula for Homebrew, with the digests of the archives.
func (r release) writeFormula() error {
	type archive struct{ URL, Digest string }
	archives := map[string]archive{}
	for _, t := range targets {
		name := r.archive(t) + ".tar.gz"
		digest, err := r.sha256(name)
		if err != nil {
			return err
		}
		archives[t.os+"_"+t.arch] = archive{homepage + "/releases/download/v" + r.version + "/" + name, digest}
	}
	return r.writeText("memsidecar.rb", formulaText, 0o644, map[string]any{
		"Summary": summary, "Homepage": homepage, "License": license, "Version": r.version, "Archives": archives,
	})
}

// writeInstaller writes the script that installs this version, or another one that is asked for.
func (r release) writeInstaller() error {
	return r.writeText("install.sh", installerText, 0o755, map[string]any{
		"Homepage": homepage, "Version": r.version,
	})
}

func (r release) writeText(name, text string, mode os.FileMode, data any) error {
	parsed, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return err
	}
	return r.write(name, out.Bytes(), mode)
}

// writeServerJSON describes the MCP server for the registry of such servers: both packages run "memsidecar mcp".
func (r release) writeServerJSON() error {
	pack := func(kind string) map[string]any {
		return map[string]any{
			"registryType":     kind,
			"identifier":       "memsidecar",
			"version":          r.version,
			"transport":        map[string]string{"type": "stdio"},
			"packageArguments": []map[string]string{{"type": "positional", "value": "mcp"}},
		}
	}
	data, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":        serverName,
		"title":       "memsidecar",
		"description": summary,
		"repository":  map[string]string{"url": homepage, "source": "github"},
		"version":     r.version,
		"packages":    []any{pack("npm"), pack("pypi")},
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write("server.json", append(data, '\n'), 0o644)
}
