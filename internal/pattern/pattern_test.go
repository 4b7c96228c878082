package pattern_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

// TestLikeRegexp compares the methods with those they stand for.
func TestLikeRegexp(t *testing.T) {
	const expr, text = `(?P<key>\w+)=(\d+)`, "a=1, bc=22; d=x"
	p, re := pattern.New(expr), regexp.MustCompile(expr)
	for name, pair := range map[string][2]any{
		"String":                     {p.String(), re.String()},
		"MatchString":                {p.MatchString(text), re.MatchString(text)},
		"FindString":                 {p.FindString(text), re.FindString(text)},
		"FindStringIndex":            {p.FindStringIndex(text), re.FindStringIndex(text)},
		"FindStringSubmatch":         {p.FindStringSubmatch(text), re.FindStringSubmatch(text)},
		"FindStringSubmatchIndex":    {p.FindStringSubmatchIndex(text), re.FindStringSubmatchIndex(text)},
		"FindAllString":              {p.FindAllString(text, 1), re.FindAllString(text, 1)},
		"FindAllStringIndex":         {p.FindAllStringIndex(text, -1), re.FindAllStringIndex(text, -1)},
		"FindAllStringSubmatch":      {p.FindAllStringSubmatch(text, -1), re.FindAllStringSubmatch(text, -1)},
		"FindAllStringSubmatchIndex": {p.FindAllStringSubmatchIndex(text, -1), re.FindAllStringSubmatchIndex(text, -1)},
		"ReplaceAllString":           {p.ReplaceAllString(text, "$2"), re.ReplaceAllString(text, "$2")},
		"ReplaceAllStringFunc":       {p.ReplaceAllStringFunc(text, strconv.Quote), re.ReplaceAllStringFunc(text, strconv.Quote)},
		"Split":                      {p.Split(text, 2), re.Split(text, 2)},
		"SubexpIndex":                {p.SubexpIndex("key"), re.SubexpIndex("key")},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-regexp +pattern):\n%s", name, diff)
		}
	}
}

// TestAllCompile finds an expression that is not valid before somebody uses it. One that is put together of parts is tested where it is used.
func TestAllCompile(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isNew(call) || len(call.Args) != 1 {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			expr, err := strconv.Unquote(lit.Value)
			if err == nil {
				_, err = regexp.Compile(expr)
			}
			if err != nil {
				t.Errorf("%s: %v", fset.Position(lit.Pos()), err)
			}
			found++
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d expressions were found", found)
	}
}

func isNew(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && slices.Equal([]string{pkg.Name, sel.Sel.Name}, []string{"pattern", "New"})
}
