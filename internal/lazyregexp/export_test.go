package lazyregexp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// Expressions returns the expressions that are written in this module. One that does not compile fails the test. An
// expression built from constants is left out.
func Expressions(t *testing.T) (out []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := expressionOf(call)
			if at < 0 {
				return true
			}
			expr, ok := literal(call.Args[at])
			if !ok {
				return true
			}
			if _, err := regexp.Compile(expr); err != nil {
				t.Errorf("%s: %v", fset.Position(call.Pos()), err)
				return true
			}
			out = append(out, expr)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// literal returns the value of a string literal or a concatenation of them.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		x, okX := literal(e.X)
		y, okY := literal(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
	}
	return "", false
}

// expressionOf is the argument of a call that is an expression, -1 when the call makes no Pattern of a text.
func expressionOf(call *ast.CallExpr) int {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "lazyregexp" && f.Sel.Name == "New" {
			return 0
		}
	case *ast.Ident: // the shapes of secrets in redact
		switch f.Name {
		case "newShape", "newAssigned", "newMixedShape":
			return 2
		case "newSeedPhrase":
			return 1
		}
	}
	return -1
}
