package rpc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPanelHasWordsForReasonsOfOperations compares the reasons that the daemon gives operations with the words of the panel.
func TestPanelHasWordsForReasonsOfOperations(t *testing.T) {
	words, err := os.ReadFile("../client/web/static/words.js")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"../*/*.go", "../*/*/*.go"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			form := reasonIn(n)
			if form == "" {
				return true
			}
			found++
			if !regexp.MustCompile(`\n  '?why_` + regexp.QuoteMeta(form) + `'?: \[`).Match(words) {
				t.Errorf("%s: the panel has no words for %q", set.Position(n.Pos()), form)
			}
			return true
		})
	}
	if found < 15 {
		t.Errorf("only %d reasons were found", found)
	}
}

// reasonIn is the form of the reason that a node gives an operation, "" for none: in a store.Meta, or to what makes one.
func reasonIn(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CompositeLit:
		name := ""
		switch kind := n.Type.(type) {
		case *ast.SelectorExpr:
			name = kind.Sel.Name
		case *ast.Ident:
			name = kind.Name
		}
		if name != "Meta" {
			return ""
		}
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Reason" {
					return formOf(pair.Value)
				}
			}
		}
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if f.Name == "keyedMeta" {
				return formOf(n.Args[2])
			}
		case *ast.SelectorExpr:
			if f.Sel.Name == "meta" && len(n.Args) == 3 {
				return formOf(n.Args[2])
			}
		}
	}
	return ""
}

// formOf is the form of a text that is constant, formatted, or a constant with an argument behind it; "" for any other.
func formOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := constant(e)
		return text
	case *ast.BinaryExpr:
		if text, ok := constant(e.X); ok {
			return text + "{}"
		}
	case *ast.CallExpr:
		if len(e.Args) == 0 {
			return ""
		}
		if text, ok := constant(e.Args[0]); ok {
			return FormOf(text)
		}
	}
	return ""
}
