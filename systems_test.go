package memsidecar_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
)

// TestOtherSystems checks the types of all packages and their tests for systems on which nothing is run, which takes
// seconds where compiling takes minutes. "make release" compiles.
func TestOtherSystems(t *testing.T) {
	if memtest.RaceDetector {
		t.Skip("the step build of .ci/run runs it without the race detector, which finds nothing in it")
	}
	for _, system := range []string{"windows", "freebsd"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			checkTypes(t, system)
		})
	}
}

// source is a package as "go list" describes it.
type source struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // by import in the source, where the package has another name
	Module          *struct{ Main bool }
}

// checkTypes reports what does not compile on a system. Of packages that are not ours, only the declarations are read.
func checkTypes(t *testing.T, system string) {
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Start(); err != nil {
		t.Fatal(err)
	}
	done, ours := map[string]*types.Package{"unsafe": types.Unsafe}, 0
	files := token.NewFileSet()
	for dec := json.NewDecoder(out); ; { // dependencies come first
		var s source
		if err := dec.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if s.ImportPath == "unsafe" || strings.HasSuffix(s.ImportPath, ".test") { // the latter is made by "go test"
			continue
		}
		own := s.Module != nil && s.Module.Main
		if own {
			ours++
		}
		done[s.ImportPath] = s.check(t, files, done, own)
	}
	if err := list.Wait(); err != nil {
		t.Fatal(err)
	}
	if ours < 100 {
		t.Errorf("only %d packages of ours were checked", ours)
	}
}

// check checks one package whose imports are among done.
func (s source) check(t *testing.T, set *token.FileSet, done map[string]*types.Package, own bool) *types.Package {
	parsed := make([]*ast.File, len(s.GoFiles))
	for i, name := range s.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Dir, name)
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[i] = f
	}
	config := types.Config{
		IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", "amd64"),
		Importer: importer(func(path string) (*types.Package, error) {
			if other, ok := s.ImportMap[path]; ok {
				path = other
			}
			if p := done[path]; p != nil {
				return p, nil
			}
			return nil, errors.New(path + " was not listed before")
		}),
		Error: func(err error) {
			if own || !strings.Contains(err.Error(), "imported and not used") { // by the bodies that were left out
				t.Errorf("%s: %v", s.ImportPath, err)
			}
		},
	}
	name, _, _ := strings.Cut(s.ImportPath, " ")
	p, _ := config.Check(name, set, parsed, nil) // Error has the errors
	return p
}

// importer is a types.Importer.
type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
