package daemon

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/rpc"
)

// findingWords is the panel's table: the form of a text of Doctor, and the same in Chinese.
const findingWords = "../client/web/static/words.findings.js"

// TestEveryFindingIsChineseToo compares every text that Doctor may give with the table of the panel. A text is the
// first argument of rpc.Say, or the second of ok, and must be a constant.
func TestEveryFindingIsChineseToo(t *testing.T) {
	data, err := os.ReadFile(findingWords)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "export const findingWords = ")
	words := map[string]string{}
	if err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(table), ";")), &words); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for form, where := range formsOfFindings(t) {
		used[form] = true
		if strings.Trim(form, "{}; ") == "" {
			continue // nothing but arguments
		}
		chinese, ok := words[form]
		if !ok {
			t.Errorf("%s: %q has no Chinese text in %s", where, form, findingWords)
		}
		if strings.Count(chinese, "{}") != strings.Count(form, "{}") && !strings.Contains(chinese, "{1}") {
			t.Errorf("%q and %q have not the same arguments", form, chinese)
		}
	}
	for form := range words {
		if !used[form] {
			t.Errorf("%q is in %s, but Doctor never says it", form, findingWords)
		}
	}
}

// formsOfFindings are the forms of all texts in this package, with a place of each.
func formsOfFindings(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out, set := map[string]string{}, token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			arg := -1
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "rpc" && f.Sel.Name == "Say" {
					arg = 0
				}
			case *ast.Ident:
				if f.Name == "ok" {
					arg = 1
				}
			}
			if arg < 0 || call.Ellipsis.IsValid() { // ok passes its own arguments on
				return true
			}
			where := set.Position(call.Pos()).String()
			text, constant := constantText(call.Args[arg])
			if !constant {
				t.Errorf("%s: the text of a finding must be a constant", where)
			}
			out[rpc.FormOf(text)] = where
			return true
		})
	}
	return out
}

// constantText is the text of string literals that are added up.
func constantText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := constantText(e.X)
		right, also := constantText(e.Y)
		return left + right, ok && also
	}
	return "", false
}
