package memsidecar_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Paths of the source tree in prose, and links between Markdown files.
var (
	sourcePath = regexp.MustCompile("(?:^|[ `(])((?:internal|cmd/memsidecar|bench|test|tools|proto|integrations)/[A-Za-z0-9_./-]+)")
	mdLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdCode     = regexp.MustCompile("`[^`\n]*`")
	mdHeading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestDocs checks that every path and link in the documentation leads somewhere. Decisions keep the names of their
// time.
func TestDocs(t *testing.T) {
	for _, file := range documents(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, m := range sourcePath.FindAllStringSubmatch(text, -1) {
			name := strings.TrimRight(strings.TrimSuffix(m[1], "/..."), "./-")
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // on the web
			}
			linked := file
			if target != "" {
				linked = path.Join(path.Dir(file), target)
			}
			if _, err := os.Stat(linked); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			} else if anchor != "" && !slices.Contains(anchors(t, linked), anchor) {
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
	}
}

// TestNamedTests checks that the tests named in docs/sources.md exist in the packages that they are said to be in.
func TestNamedTests(t *testing.T) {
	raw, err := os.ReadFile("docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\|.*\\| `([a-z/]+)` \\| (.*) \\|$")
	rows := row.FindAllStringSubmatch(string(raw), -1)
	if len(rows) < 50 {
		t.Fatalf("found %d rows", len(rows))
	}
	for _, m := range rows {
		source := testSource(t, m[1])
		for name := range strings.SplitSeq(m[2], ", ") {
			if name = strings.Trim(name, "`"); !strings.Contains(source, "\nfunc "+name+"(") {
				t.Errorf("docs/sources.md names %s in %s, which has no such test", name, m[1])
			}
		}
	}
}

// TestNamedTestsOfNoPackage checks that every test that docs/sources.md names exists in some package.
func TestNamedTestsOfNoPackage(t *testing.T) {
	raw, err := os.ReadFile("docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, root := range []string{"internal", "test", "cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			all.WriteString(testSource(t, path))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(raw), -1)
	if len(names) < 100 {
		t.Fatalf("found %d names", len(names))
	}
	for _, m := range names {
		if !strings.Contains(all.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("docs/sources.md names %s, which no package has", m[1])
		}
	}
}

// testSource is the text of all tests of a package.
func testSource(t *testing.T, dir string) string {
	names, err := filepath.Glob(dir + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}

// documents lists the Markdown files for readers, without decisions, test data and what the clients' tools install.
func documents(t *testing.T) (out []string) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{".git", "testdata", "node_modules", "target", "dist", "gen"}, d.Name()) ||
			name == "docs/decisions"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md") && name != "CHANGELOG.md":
			out = append(out, name)
		}
		return nil
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("found %d documents, error %v", len(out), err)
	}
	return out
}

// anchors lists the anchors of a Markdown file's headings, as GitHub makes them: lower case, spaces as hyphens, no
// punctuation.
func anchors(t *testing.T, file string) (out []string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mdHeading.FindAllStringSubmatch(string(raw), -1) {
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case strings.ContainsRune("`'\",.;:!?()[]{}/&*+<>=…", r):
				return -1
			}
			return r
		}, strings.ToLower(m[1])))
	}
	return out
}
