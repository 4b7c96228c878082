package rpc_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/rpc"
)

var updateReasons = flag.Bool("update-reasons", false, "write docs/reasons.md")

const reasonsFile = "../../docs/reasons.md"

// otherNames are UPPER_SNAKE strings in the code that are no reasons.
var otherNames = strings.Fields(`
	ABCDEFGHIJKLMNOPQRSTUVWXYZ234567 AFS AVX2 CIFS CLAUDE_CONFIG_DIR CODEX_HOME DENY ETAG GPFS HOME LISTEN_FDS
	LISTEN_PID LOCK NCP NEON NFS PGSSLMODE SMB REPAIRING RESTORING TMP UTC XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
	MSEV MSKW MSVC XXXXXX ADD UPDATE DELETE NOOP KEEP_BOTH MERGE REPLACE REFUSED OPERATION EMPTY MEMORY_STATUS_ACTIVE UNSPECIFIED
`)

var upperSnake = regexp.MustCompile(`^[A-Z][A-Z0-9]+(_[A-Z0-9]+)*$`)

// TestReasonsAreDocumented finds every UPPER_SNAKE string of the code in the table, except those that are no reasons.
func TestReasonsAreDocumented(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rpc.Reasons {
		if known[r.Name] || r.When == "" {
			t.Errorf("%s is in the table twice, or without an explanation", r.Name)
		}
		known[r.Name] = true
	}
	used := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{"testdata", "memtest", "embedding"}, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			d.Name() == "reasons.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && upperSnake.MatchString(s) && len(s) > 2 {
					used[s] = path
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range used {
		if !known[name] && !slices.Contains(otherNames, name) {
			t.Errorf("%s of %s is not in the table of reasons (internal/rpc/reasons.go)", name, path)
		}
	}
	for name := range known {
		if used[name] == "" {
			t.Errorf("%s is in the table of reasons, but nothing in the code says it", name)
		}
	}
}

// TestReasonsDocument compares docs/reasons.md with the table. -update-reasons writes it.
func TestReasonsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Reasons\n\nEvery reason that the daemon gives, when it comes, and what to do. This file is " +
		"generated from\n" +
		"internal/rpc/reasons.go by `go test ./internal/rpc -run ReasonsDocument -update-reasons`.\n")
	for _, kind := range rpc.ReasonKinds {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| reason | when | what to do |\n|---|---|---|\n", kind.Kind, kind.Where)
		for _, r := range rpc.Reasons {
			if r.Kind == kind.Kind {
				fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Name, r.When, r.Do)
			}
		}
	}
	if *updateReasons {
		if err := os.WriteFile(reasonsFile, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(reasonsFile)
	if err != nil || string(have) != b.String() {
		t.Errorf("%s is not what the table says (%v): run this test with -update-reasons", reasonsFile, err)
	}
}
