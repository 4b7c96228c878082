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
			if !ok || !isPattern(call) {
				return true
			}
			for _, arg := range call.Args {
				expr, ok := literal(arg)
				if !ok {
					continue
				}
				if _, err := regexp.Compile(expr); err != nil {
					t.Errorf("%s: %v", fset.Position(call.Pos()), err)
					continue
				}
				out = append(out, expr)
			}
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

// isPattern reports whether a call makes a Pattern of a text.
func isPattern(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		return ok && pkg.Name == "lazyregexp" && f.Sel.Name == "New"
	case *ast.Ident:
		return f.Name == "newRule" && len(call.Args) == 5
	}
	return false
}
