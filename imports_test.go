package memsidecar_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/memsidecar/memsidecar"

// Packages by layer, lowest first, as patterns relative to the module. "x/..." is x and everything below it.
var (
	projections = []string{"internal/jsonstore/...", "internal/dailylog/...", "internal/search/..."}
	services    = []string{
		"internal/service/...", "internal/reflector/...", "internal/archiver/...", "internal/redact/...", "internal/llm/...",
		"internal/reconcile/...", "internal/search/logindex/...", "internal/share/...",
	}
	clients = []string{"internal/client/..."}
	edges   = slices.Concat([]string{"internal/rpc/...", "internal/daemon/...", "gen/..."}, clients)
)

// arrows say what a package must not import outside its tests. Imports of the package's own subtree are always
// allowed where the pattern ends in "/...", and so is what but names.
var arrows = []struct {
	from, not, but []string
	why            string
}{
	{from: []string{"internal/memory"}, not: []string{"..."},
		why: "the domain types import nothing of ours"},
	{from: []string{"internal/memory/codec"}, not: []string{"..."}, but: []string{"internal/memory", "internal/strictjson"},
		why: "it turns domain values into JSON and back, and does no I/O"},
	{from: []string{"internal/memory/fieldmerge"}, not: []string{"..."}, but: []string{"internal/memory"},
		why: "it merges values and does no I/O"},
	{from: []string{"internal/memory/idmap"}, not: []string{"..."}, but: []string{"internal/memory"},
		why: "it finds memories that others keep"},
	{from: []string{"internal/memory/toolcall"}, not: []string{"..."}, but: []string{"internal/lazyregexp"},
		why: "it turns text into text, where hooks and the daemon must agree"},
	{from: []string{"internal/store/durable/..."}, not: []string{"..."}, but: []string{"internal/memory/..."},
		why: "the file system layer knows nothing of what it stores"},
	{from: []string{"internal/store/compressed/..."}, not: []string{"..."},
		why: "it compresses lines without knowing what they are of"},
	{from: []string{"internal/store/textscrub/..."}, not: []string{"..."},
		why: "it turns text into text"},
	{from: []string{"internal/store/journal/..."}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/store/durable", "internal/store/compressed", "internal/strictjson"},
		why: "the journal writes records, it does not know who reads them"},
	{from: []string{"internal/store"}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/store/durable", "internal/store/journal/...", "internal/store/compressed",
			"internal/store/textscrub", "internal/process/background"},
		why: "the store calls its projections, it does not import them"},
	{from: []string{"internal/store/backup/..."}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/store", "internal/store/durable", "internal/store/journal"},
		why: "backups get the published files through an interface"},
	{from: []string{"internal/store/purge/..."}, not: []string{"..."},
		but: []string{
			"internal/lazyregexp", "internal/memory/...", "internal/store", "internal/store/durable", "internal/store/journal",
			"internal/store/compressed", "internal/store/textscrub",
		},
		why: "purging gets the publishers through an interface"},
	{from: []string{"internal/strictjson/..."}, not: []string{"..."},
		why: "it knows JSON and no file format"},
	{from: []string{"internal/search/vector/dot/..."}, not: []string{"..."},
		why: "it adds up whole numbers"},
	{from: []string{"internal/search/vector/offheap/..."}, not: []string{"..."},
		why: "it gives memory and does not know what is in it"},
	{from: []string{"internal/search/vector"}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/search/vector/dot", "internal/search/vector/offheap"},
		why: "it compares numbers without knowing what they are of"},
	{from: []string{"internal/search/embedding"}, not: []string{"..."}, but: []string{"internal/search/vector/...", "internal/process/background"},
		why: "it asks a server and knows nothing of memories"},
	{from: []string{"internal/search/embedding/bert/..."}, not: []string{"..."}, but: []string{"internal/search/vector/...", "internal/search/embedding", "internal/process/background"},
		why: "it turns text into vectors and touches no state"},
	{from: []string{"internal/search/analysis"}, not: []string{"..."}, but: []string{"internal/memory/...", "internal/lazyregexp"},
		why: "analysis turns text into terms and knows neither indexes nor queries"},
	{from: []string{"internal/search"}, not: []string{"internal/search/logindex/..."},
		why: "the log index feeds the engine, not the other way round"},
	{from: []string{"internal/daemon/metrics/..."}, not: []string{"..."},
		why: "it is given numbers and does not know where they come from"},
	{from: []string{"internal/process/background", "internal/process/filelock", "internal/process/garbage", "internal/process"}, not: []string{"..."},
		why: "they ask the system and know nothing of ours"},
	{from: []string{"internal/lazyregexp/..."}, not: []string{"..."},
		why: "it knows expressions and not what they mean"},
	{from: []string{"internal/client/hook/..."}, not: []string{"..."},
		but: []string{"internal/process/filelock", "internal/memory", "internal/memory/agentstate", "internal/memory/toolcall", "internal/redact"},
		why: "it runs in a process that an agent waits for, and knows the daemon only as an interface"},
	{from: []string{"internal/client/install/..."}, not: []string{"..."}, but: []string{"internal/client/hook", "internal/store/durable"},
		why: "it edits the files of others and touches none of ours"},
	{from: []string{"internal/publish/..."}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/process/background", "internal/store/durable", "internal/strictjson/..."},
		why: "it writes files without knowing what is in them"},
	{from: []string{"internal/jsonstore/markdownv1/..."}, not: []string{"..."}, but: []string{"internal/memory/...", "internal/lazyregexp"},
		why: "it turns old files into domain values and does no I/O"},
	{from: []string{"internal/client/importers/..."}, not: []string{"..."}, but: []string{"internal/memory/...", "internal/jsonstore/markdownv1", "internal/redact"},
		why: "it reads other systems' files where the user is, and knows neither store nor daemon"},
	{from: projections, not: slices.Concat(without(services, "internal/search/logindex/..."), edges),
		why: "projections follow the store and serve the layers above"},
	{from: []string{"internal/search/..."}, not: []string{"internal/jsonstore/...", "internal/dailylog/..."},
		why: "search reads the store, never another projection's files"},
	{from: services, not: edges,
		why: "services do not know that gRPC exists"},
	{from: []string{"internal/share/merge"}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/store/journal", "internal/store/textscrub", "internal/strictjson"},
		why: "it decides about values and does no I/O"},
	{from: []string{"internal/share/pglog"}, not: []string{"..."}, but: []string{"internal/memory"},
		why: "it keeps rows and does not know what is in them"},
	{from: []string{"internal/share/mirror"}, not: []string{"..."},
		but: []string{"internal/memory", "internal/share/merge", "internal/share/pglog"},
		why: "it keeps rows of memories and does not know how they are analysed, embedded or ranked"},
	{from: []string{"internal/share"}, not: []string{"..."},
		but: []string{"internal/memory/...", "internal/share/...", "internal/store/...", "internal/reflector/guard", "internal/reflector/review",
			"internal/strictjson"},
		why: "it exchanges what the store holds and knows no other part"},
	{from: []string{"internal/redact/...", "internal/llm/..."},
		not: slices.Concat([]string{"internal/store/..."}, projections),
		why: "they turn text into text and touch no state"},
	{from: []string{"internal/client/view/..."}, not: []string{"..."},
		but: []string{"internal/lazyregexp", "internal/memory", "internal/jsonstore/markdownv1", "internal/store/durable"},
		why: "a view is a client of the daemon"},
	{from: []string{"internal/rpc/unixsock/..."}, not: []string{"..."}, but: []string{"internal/process/filelock", "internal/memory/...", "internal/process"},
		why: "a listener does not know what is served on it"},
	{from: []string{"internal/rpc/..."}, not: slices.Concat([]string{"internal/daemon/..."}, clients),
		why: "the daemon wires the services, not the other way round"},
	{from: []string{"internal/daemon/..."}, not: []string{"gen/..."},
		why: "only internal/rpc translates between the API and the domain"},
	{from: []string{"internal/client/mcpserver/..."}, not: []string{"..."}, but: []string{"gen/...", "internal/memory", "internal/service/recall", "internal/lazyregexp"},
		why: "it is a client of the daemon, which knows the API, the limits, and how recalled text is fenced"},
	{from: []string{"internal/client/web/..."}, not: []string{"..."}, but: []string{"gen/...", "internal/client/jsonout", "internal/memory", "internal/rpc/unixsock/...", "internal/store/durable"},
		why: "it is a client of the daemon, which knows the API, how to listen and how to replace a file, and nothing behind it"},
	{from: []string{"internal/client/jsonout"}, not: []string{"..."},
		why: "it writes messages as JSON without knowing what they say"},
	{from: []string{"internal/daemon/..."}, not: clients, but: []string{"internal/client/web", "internal/client/mcpserver"},
		why: "the daemon starts the HTTP interface with its MCP server, and no other client"},
	{from: []string{"gen/..."}, not: []string{"internal/..."},
		why: "generated code depends on nothing of ours"},
	{from: []string{"internal/...", "gen/...", "cmd/..."}, not: []string{"clients/..."},
		why: "clients are for other people's programs"},
	{from: []string{"..."}, not: []string{"cmd/...", "bench/...", "test/..."}, but: []string{"bench/process"},
		why: "programs and test suites are leaves"},
	{from: []string{"internal/...", "gen/...", "cmd/...", "test/..."}, not: []string{"bench/process"},
		why: "it starts servers for the programs that measure them"},
	{from: []string{"..."}, not: []string{"internal/memtest/...", "internal/store/durable/crashfs/..."},
		but: []string{"internal/memtest/postgres/cluster"},
		why: "fakes and fault injection belong in tests"},
	{from: []string{"internal/...", "gen/...", "cmd/..."}, not: []string{"internal/memtest/postgres/cluster"},
		why: "it starts servers for tests and benchmarks"},
}

// exempt lists the packages that exist for tests and may use each other's fakes.
var exempt = []string{"internal/memtest/...", "internal/store/durable/crashfs/...", "test/..."}

// thirdParty says which packages may import a module outside their tests. A module that is not listed may not be
// imported at all.
var thirdParty = []struct {
	module string
	by     []string
}{
	{"google.golang.org/grpc", []string{
		"gen/...", "internal/rpc/...", "internal/daemon/...", "internal/rpc/unixsock/...", "internal/client/mcpserver/...", "internal/client/web/...", "cmd/...", "bench/...",
	}},
	{"google.golang.org/protobuf", []string{
		"gen/...", "internal/rpc/...", "internal/daemon/...", "internal/client/mcpserver/...", "internal/client/web/...", "internal/client/jsonout", "cmd/...", "bench/...",
	}},
	{"google.golang.org/genproto/googleapis/rpc", []string{"gen/...", "internal/rpc/...", "internal/client/mcpserver/...", "internal/client/web/...", "cmd/..."}},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/client/mcpserver/...", "cmd/...", "bench/peers"}},
	{"github.com/prometheus/client_golang", []string{"internal/daemon/metrics/..."}},
	{"github.com/google/jsonschema-go", []string{"internal/client/mcpserver/..."}},
	{"github.com/jackc/pgx/v5", []string{"internal/share/pglog", "internal/share/mirror", "internal/memtest/postgres/cluster", "bench"}},
	{"github.com/spf13/cobra", []string{"cmd/..."}},
	{"github.com/spf13/pflag", []string{"cmd/..."}},
	{"go.yaml.in/yaml/v3", []string{"internal/daemon/...", "cmd/..."}},
	{"github.com/fsnotify/fsnotify", []string{"internal/rpc/unixsock/listener", "internal/reconcile/...", "internal/client/view/..."}},
	{"github.com/google/uuid", []string{"internal/...", "cmd/..."}},
	{"github.com/kljensen/snowball", []string{"internal/search/..."}},
	{"github.com/KimMachineGun/automemlimit", []string{"internal/process/garbage"}},
	{"golang.org/x/text", slices.Concat(projections, services)},
	{"golang.org/x/sync", []string{"internal/...", "cmd/...", "bench/..."}},
	{"golang.org/x/sys", []string{
		"internal/store/durable/...", "internal/rpc/unixsock/...", "internal/daemon/...", "internal/service/session/...",
		"internal/process/filelock", "internal/process",
		"internal/search/vector/dot/...", "internal/search/embedding/bert/...", "cmd/...", "bench/...",
	}},
}

// testOnly lists the modules that tests may import on top of what thirdParty allows anywhere.
var testOnly = []string{"github.com/anishathalye/porcupine", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid"}

// vague lists package names that say nothing about what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "misc", "base", "shared"}

// pkg is what the checks need to know of one package, with ImportPath relative to the module ("." is the root).
type pkg struct {
	ImportPath, Name, Dir              string
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	Imports, TestImports, XTestImports []string

	docs []string // names of the files, tests excepted, that carry a package comment
}

func TestTree(t *testing.T) {
	pkgs := load(t)
	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == "internal/memory" }) {
		t.Fatalf("internal/memory is not among the %d packages listed", len(pkgs))
	}
	for _, p := range problems(pkgs) {
		t.Error(p)
	}
	for _, c := range cycles(pkgs) {
		t.Error(c)
	}
}

// TestProblems proves that each rule can fail, on packages made up for it.
func TestProblems(t *testing.T) {
	ok := []string{"x.go"}
	for _, tt := range []struct {
		name string
		pkg  pkg
		want []string
	}{
		{"clean", pkg{ImportPath: "internal/x", Name: "x", docs: ok, Imports: []string{"fmt", module + "/internal/memory"}}, nil},
		{"arrow upwards", pkg{ImportPath: "internal/store/journal", Name: "journal", docs: []string{"journal.go"}, Imports: []string{module + "/internal/store"}},
			[]string{"internal/store/journal imports internal/store: the journal writes records, it does not know who reads them"}},
		{"arrow allowed by exception", pkg{ImportPath: "internal/store/journal", Name: "journal", docs: []string{"journal.go"}, Imports: []string{module + "/internal/store/durable"}}, nil},
		{"arrow within one subtree", pkg{ImportPath: "internal/search/rank", Name: "rank", docs: []string{"rank.go"}, Imports: []string{module + "/internal/search/text"}}, nil},
		{"service reaches the API", pkg{ImportPath: "internal/service/recall", Name: "recall", docs: []string{"recall.go"}, Imports: []string{module + "/gen/memsidecar/v1"}},
			[]string{"internal/service/recall imports gen/memsidecar/v1: services do not know that gRPC exists"}},
		{"daemon reaches another client", pkg{ImportPath: "internal/daemon", Name: "daemon", docs: []string{"daemon.go"}, Imports: []string{module + "/internal/client/hook"}},
			[]string{"internal/daemon imports internal/client/hook: the daemon starts the HTTP interface with its MCP server, and no other client"}},
		{"fake in the product", pkg{ImportPath: "internal/x", Name: "x", docs: ok, Imports: []string{module + "/internal/memtest"}},
			[]string{"internal/x imports internal/memtest: fakes and fault injection belong in tests"}},
		{"fake in a test", pkg{ImportPath: "internal/x", Name: "x", docs: ok, XTestImports: []string{module + "/internal/memtest"}}, nil},
		{"module in the wrong place", pkg{ImportPath: "internal/x", Name: "x", docs: ok, Imports: []string{"google.golang.org/grpc/codes"}},
			[]string{"internal/x imports google.golang.org/grpc/codes: not allowed there"}},
		{"module in the right place", pkg{ImportPath: "internal/rpc", Name: "rpc", docs: []string{"rpc.go"}, Imports: []string{"google.golang.org/grpc/codes"}}, nil},
		{"similar module name", pkg{ImportPath: "internal/rpc", Name: "rpc", docs: []string{"rpc.go"}, Imports: []string{"google.golang.org/grpcx"}},
			[]string{"internal/rpc imports google.golang.org/grpcx: not allowed there"}},
		{"unknown module", pkg{ImportPath: "cmd/x", Name: "main", docs: []string{"main.go"}, Imports: []string{"github.com/pkg/errors"}},
			[]string{"cmd/x imports github.com/pkg/errors: not allowed there"}},
		{"unknown module in a test", pkg{ImportPath: "internal/x", Name: "x", docs: ok, XTestImports: []string{"github.com/stretchr/testify/require"}},
			[]string{"tests of internal/x import github.com/stretchr/testify/require: not allowed"}},
		{"test module in a test", pkg{ImportPath: "internal/x", Name: "x", docs: ok, TestImports: []string{"pgregory.net/rapid"}}, nil},
		{"test module in the product", pkg{ImportPath: "internal/x", Name: "x", docs: ok, Imports: []string{"pgregory.net/rapid"}},
			[]string{"internal/x imports pgregory.net/rapid: not allowed there"}},
		{"no package comment", pkg{ImportPath: "internal/x", Name: "x"},
			[]string{"internal/x has no package comment: put one in x.go"}},
		{"two package comments", pkg{ImportPath: "internal/x", Name: "x", docs: []string{"x.go", "y.go"}},
			[]string{"internal/x has a package comment in y.go: it belongs in x.go only"}},
		{"comment in the wrong file", pkg{ImportPath: "internal/x", Name: "x", docs: []string{"doc.go"}},
			[]string{"internal/x has a package comment in doc.go: it belongs in x.go only", "internal/x has no package comment: put one in x.go"}},
		{"main may use doc.go", pkg{ImportPath: "cmd/x", Name: "main", docs: []string{"doc.go"}}, nil},
		{"tests only", pkg{ImportPath: "test/e2e", Name: "e2e_test", GoFiles: nil, docs: nil, XTestImports: []string{"fmt"}}, nil},
		{"generated", pkg{ImportPath: "gen/memsidecar/v1", Name: "memsidecarv1"}, nil},
		{"vague name", pkg{ImportPath: "internal/utils", Name: "utils", docs: []string{"utils.go"}},
			[]string{"internal/utils: the name utils says nothing about what is inside"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name != "tests only" {
				tt.pkg.GoFiles = []string{"some.go"}
			}
			if diff := cmp.Diff(tt.want, problems([]pkg{tt.pkg})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// without returns list less one of its elements.
func without(list []string, drop string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == drop })
}

// cycles returns a line for every pair of entries of internal/ that import each other, directly or through others: the
// rooms have an order, whatever lies inside them.
func cycles(pkgs []pkg) []string {
	room := func(path string) string {
		rest, ok := strings.CutPrefix(path, "internal/")
		if !ok {
			return ""
		}
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	reach := map[string]map[string]bool{}
	for _, p := range pkgs {
		from := room(p.ImportPath)
		if from == "" || from == "memtest" {
			continue
		}
		if reach[from] == nil {
			reach[from] = map[string]bool{}
		}
		for _, imp := range p.Imports {
			if to := room(strings.TrimPrefix(imp, module+"/")); to != "" && to != from {
				reach[from][to] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, to := range reach {
			for next := range maps.Clone(to) {
				for far := range reach[next] {
					if !to[far] {
						to[far], changed = true, true
					}
				}
			}
		}
	}
	var out []string
	for _, a := range slices.Sorted(maps.Keys(reach)) {
		for _, b := range slices.Sorted(maps.Keys(reach[a])) {
			if a < b && reach[b][a] {
				out = append(out, fmt.Sprintf("internal/%s and internal/%s import each other", a, b))
			}
		}
	}
	return out
}

func problems(pkgs []pkg) []string {
	var out []string
	for _, p := range pkgs {
		out = append(out, wrongArrows(p)...)
		out = append(out, wrongModules(p)...)
		out = append(out, wrongComments(p)...)
		if slices.Contains(vague, p.Name) {
			out = append(out, fmt.Sprintf("%s: the name %s says nothing about what is inside", p.ImportPath, p.Name))
		}
	}
	return out
}

func wrongArrows(p pkg) []string {
	if anyMatch(exempt, p.ImportPath) {
		return nil
	}
	var out []string
	for _, imp := range p.Imports {
		imp, ours := strings.CutPrefix(imp, module+"/")
		if !ours {
			continue
		}
		for _, a := range arrows {
			i := slices.IndexFunc(a.from, func(pattern string) bool { return match(pattern, p.ImportPath) })
			// A subtree is one unit, except for the rules that hold for every package.
			own := i >= 0 && a.from[i] != "..." && match(a.from[i], imp)
			if i >= 0 && !own && anyMatch(a.not, imp) && !anyMatch(a.but, imp) {
				out = append(out, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imp, a.why))
				break
			}
		}
	}
	return out
}

func wrongModules(p pkg) []string {
	var out []string
	for _, imp := range p.Imports {
		if external(imp) && !allowedIn(p.ImportPath, imp) {
			out = append(out, fmt.Sprintf("%s imports %s: not allowed there", p.ImportPath, imp))
		}
	}
	for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
		known := slices.ContainsFunc(testOnly, func(m string) bool { return within(m, imp) })
		for _, tp := range thirdParty {
			known = known || within(tp.module, imp)
		}
		if external(imp) && !known {
			out = append(out, fmt.Sprintf("tests of %s import %s: not allowed", p.ImportPath, imp))
		}
	}
	return out
}

func wrongComments(p pkg) []string {
	if len(p.GoFiles)+len(p.CgoFiles) == 0 || match("gen/...", p.ImportPath) {
		return nil
	}
	home := p.Name + ".go"
	if p.Name == "main" && !slices.Contains(p.docs, home) {
		for _, f := range []string{"doc.go", filepath.Base(p.ImportPath) + ".go"} {
			if slices.Contains(p.docs, f) {
				home = f
				break
			}
		}
	}
	var out []string
	for _, f := range p.docs {
		if f != home {
			out = append(out, fmt.Sprintf("%s has a package comment in %s: it belongs in %s only", p.ImportPath, f, home))
		}
	}
	if !slices.Contains(p.docs, home) {
		out = append(out, fmt.Sprintf("%s has no package comment: put one in %s", p.ImportPath, home))
	}
	return out
}

func allowedIn(path, imp string) bool {
	for _, tp := range thirdParty {
		if within(tp.module, imp) && anyMatch(tp.by, path) {
			return true
		}
	}
	return anyMatch(exempt, path) && slices.ContainsFunc(testOnly, func(m string) bool { return within(m, imp) })
}

// external reports whether imp is neither ours nor of the standard library, whose paths have no dot in the first
// element.
func external(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return strings.Contains(first, ".") && !within(module, imp)
}

// within reports whether path is dir or below it.
func within(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func match(pattern, path string) bool {
	if pattern == "..." {
		return true
	}
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(dir, path)
	}
	return pattern == path
}

func anyMatch(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

// load lists all packages of the module, broken ones too (that is the compiler's to say), with the files that carry
// their package comments.
func load(t *testing.T) []pkg {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json", "./...")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(&stdout); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatalf("output of go list: %v", err)
		}
		for _, f := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			// Files left out by build constraints count too, unless they are another program (package main, ignored)
			// or a test of another system.
			if file.Doc != nil && file.Name.Name == p.Name && !strings.HasSuffix(f, "_test.go") {
				p.docs = append(p.docs, f)
			}
		}
		p.ImportPath = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if p.ImportPath == "" {
			p.ImportPath = "."
		}
		pkgs = append(pkgs, p)
	}
}
