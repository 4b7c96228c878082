package rpc

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// errorWords is the panel's file of what the daemon says of things that it does not take, in Chinese.
const errorWords = "../client/web/static/words.errors.js"

// tableOf reads a table of the panel's file.
func tableOf(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(errorWords)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "export const "+name+" = ")
	table, _, _ = strings.Cut(table, ";\n")
	words := map[string]string{}
	if err := json.Unmarshal([]byte(table), &words); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return words
}

// TestReasonsOfErrorsAreChineseToo compares the reasons of errors with the table of the panel.
func TestReasonsOfErrorsAreChineseToo(t *testing.T) {
	words := tableOf(t, "reasonWords")
	for _, r := range Reasons {
		if r.Kind != KindError && r.Kind != KindHTTP {
			continue
		}
		if words[r.Name] == "" {
			t.Errorf("%s has no Chinese text in %s", r.Name, errorWords)
		}
		delete(words, r.Name)
	}
	for name := range words {
		t.Errorf("%s is in %s, but is the reason of no error", name, errorWords)
	}
}

// TestPanelHasWordsForReasons: a person reads no name of a reason, neither of what waits for a decision, nor of a search that
// finds nothing, nor of a memory that a change of several left as it is.
func TestPanelHasWordsForReasons(t *testing.T) {
	var words strings.Builder
	for _, name := range []string{"words.js", "words.views.js"} {
		data, err := os.ReadFile("../client/web/static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		words.WriteString(string(data))
	}
	want := []string{"outcome_STALE_REVISION", "outcome_NOT_FOUND"} // these are errors, too
	for _, r := range Reasons {
		switch {
		case strings.HasPrefix(r.Name, "REVIEW_"):
			want = append(want, r.Name)
		case r.Kind == KindEmpty && r.Name != "UNKNOWN_ACTION": // of hints, for which the panel does not ask
			want = append(want, "reason_"+r.Name)
		case slices.Contains([]string{"INVALID", "NOT_ACTIVE", "ID_EXISTS", "EXACT_DUPLICATE"}, r.Name):
			want = append(want, "outcome_"+r.Name)
		}
	}
	for _, key := range want {
		if !strings.Contains(words.String(), "\n  "+key+": [") {
			t.Errorf("the panel has no words for %s", key)
		}
	}
}

// TestWhatIsRefusedIsSaidInChineseToo compares everything that the daemon may say of a text, a file or an edit with the
// table of the panel.
func TestWhatIsRefusedIsSaidInChineseToo(t *testing.T) {
	words, used := tableOf(t, "errorWords"), map[string]bool{}
	for form, where := range formsOfRefusals(t) {
		if strings.Trim(form, "{}:() ") == "" {
			continue // nothing but arguments
		}
		used[form] = true
		chinese, ok := words[form]
		if !ok {
			t.Errorf("%s: %q has no Chinese text in %s", where, form, errorWords)
		}
		if strings.Count(strings.ReplaceAll(chinese, "{names}", "{}"), "{}") != strings.Count(form, "{}") {
			t.Errorf("%q and %q have not the same arguments", form, chinese)
		}
	}
	for form := range words {
		if !used[form] {
			t.Errorf("%q is in %s, but the daemon never says it", form, errorWords)
		}
	}
}

// sayers are the files that say something of what a person wrote.
var sayers = []string{
	"../memory/validate.go", "../memory/skill.go", "../memory/filter.go", "../memory/codec/decode.go", "../dailylog/*.go",
	"../jsonstore/decode.go", "../strictjson/*.go", "../reconcile/*.go", "../service/memorysvc/*.go",
	"../service/transfer/import*.go", "../store/purge/purge.go", "file_edits.go",
}

// formsOfRefusals are the forms of what the sayers say, with a place of each.
func formsOfRefusals(t *testing.T) map[string]string {
	t.Helper()
	out, set := map[string]string{}, token.NewFileSet()
	for _, pattern := range sayers {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			edits := file.Name.Name == "reconcile" || name == "file_edits.go"
			ast.Inspect(file, func(n ast.Node) bool {
				for _, text := range append(saidBy(n), saidOfEdits(n, edits)...) {
					out[FormOf(text)] = set.Position(n.Pos()).String()
				}
				return true
			})
		}
	}
	return out
}

// saidBy are the texts that a node gives to a list of violations, to an error with a place, or to an edit that waits.
func saidBy(n ast.Node) []string {
	if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "found" { // what a file has in place of a value
		return sentences(returned(f)...)
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	at, ok := map[string]int{"Add": 2, "FailAt": 1, "Fail": 0, "mismatch": 0, "postpone": 1, "conflict": 2}[method.Sel.Name]
	if !ok || at >= len(call.Args) {
		return nil
	}
	out := sentences(call.Args[at])
	if method.Sel.Name == "conflict" {
		kind, _ := constant(call.Args[0])
		out = append(out, kind+" {}: {}")
	}
	return out
}

// saidOfEdits are further texts of a package that speaks of nothing but edits: what is formatted, listed or named.
func saidOfEdits(n ast.Node, edits bool) []string {
	if !edits {
		return nil
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Sprintf" || f.Sel.Name == "Errorf") {
			return sentences(n.Args[0])
		}
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "append" {
			return sentences(n.Args[1:]...)
		}
	case *ast.CompositeLit:
		return sentences(n.Elts...)
	case *ast.ValueSpec:
		return sentences(n.Values...)
	}
	return nil
}

// returned is what a function returns.
func returned(f *ast.FuncDecl) (out []ast.Expr) {
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			out = append(out, r.Results...)
		}
		return true
	})
	return out
}

// sentences are those of the expressions that are constant texts of several words. An error that is wrapped is not
// meant for the person who wrote the text.
func sentences(list ...ast.Expr) (out []string) {
	for _, e := range list {
		if text, ok := constant(e); ok && strings.Contains(strings.Trim(text, " "), " ") && !strings.HasPrefix(text, " ") &&
			!strings.Contains(text, "%w") {
			out = append(out, text)
		}
	}
	return out
}

// constant is the text of a string literal.
func constant(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
