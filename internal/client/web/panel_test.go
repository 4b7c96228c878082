package web_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/jsonout"
)

// panelFiles are the panel's files by name.
func panelFiles(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("static/*.*")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	out := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(data)
	}
	return out
}

// What the policy of the server would stop must not be in the panel, and neither what could make text an element.
func TestPanelObeysContentPolicy(t *testing.T) {
	forbidden := regexp.MustCompile(
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:|https?://|<script>` +
			`|<style|\sstyle=|\son[a-z]+="|@import|localStorage\.setItem\([^)]*token|document\.cookie`,
	)
	for name, text := range panelFiles(t) {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "") // names a language, and is never asked
		if found := forbidden.FindAllString(text, -1); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// What is bundled (tools/panel makes it) asks nobody either, and makes no elements of text. Its addresses stand in
// messages for developers.
func TestVendoredCodeObeysContentPolicy(t *testing.T) {
	forbidden := regexp.MustCompile(
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|fetch\(|XMLHttpRequest` +
			`|WebSocket|EventSource|sendBeacon|importScripts|@import|url\(.?(?:https?:|/)|document\.cookie` +
			`|localStorage|sessionStorage`,
	)
	names, err := filepath.Glob("static/vendor/*.*s")
	if err != nil || len(names) < 3 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindAll(data, -1); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}

func TestPanelLinksResolve(t *testing.T) {
	h := startDaemon(t)
	files := panelFiles(t)
	link := regexp.MustCompile(
		`(?:(?:from |import\()'\./|(?:src|href)="/static/|src: '/static/)((?:vendor/)?[a-z.]+)`,
	)
	for name, text := range files {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("static", m[1])); err != nil {
				t.Errorf("%s needs %s, which is not there", name, m[1])
			}
		}
		res := h.request(t, "GET", "/static/"+name, "")
		data, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || string(data) != text {
			t.Errorf("%s: status %d, %v", name, res.StatusCode, err)
		}
	}
	for name, kind := range map[string]string{"codemirror.js": "text/javascript", "uplot.css": "text/css",
		"LICENSES.txt": "text/plain"} {
		if res := h.request(t, "GET", "/static/vendor/"+name, ""); res.StatusCode != 200 ||
			!strings.HasPrefix(res.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: status %d, %s", name, res.StatusCode, res.Header.Get("Content-Type"))
		}
	}
	if res := h.request(t, "GET", "/static/vendor", ""); res.StatusCode != 404 {
		t.Errorf("a directory: %d", res.StatusCode)
	}
	if res := h.request(t, "GET", "/static/..%2fweb.go", ""); res.StatusCode != 404 {
		t.Errorf("a file of another directory: %d", res.StatusCode)
	}
}

// panelWords are the words of the panel by key, in English and Chinese.
func panelWords(t *testing.T, files map[string]string) map[string][2]string {
	t.Helper()
	entry := regexp.MustCompile(`(?s)^  (\w+): \[\s*'((?:[^'\\]|\\.)+)',\s*'((?:[^'\\]|\\.)+)',?\s*\],`)
	out := map[string][2]string{}
	for _, name := range []string{"words.js", "words.views.js"} {
		lines := strings.SplitAfter(files[name], "\n")
		for i, line := range lines {
			if !regexp.MustCompile(`^  \w+: `).MatchString(line) {
				continue
			}
			m := entry.FindStringSubmatch(strings.Join(lines[i:], ""))
			if m == nil {
				t.Errorf("%s: %q is not a pair of two texts", name, strings.TrimSpace(line))
				continue
			}
			if _, twice := out[m[1]]; twice {
				t.Errorf("%s: %s is defined twice", name, m[1])
			}
			out[m[1]] = [2]string{m[2], m[3]}
		}
	}
	return out
}

// Every word that the panel says is there in both languages.
func TestPanelTextsHaveTranslations(t *testing.T) {
	files := panelFiles(t)
	known := panelWords(t, files)
	if len(known) < 80 {
		t.Fatalf("only %d texts were parsed", len(known))
	}
	for key, pair := range known {
		for i, han := range []bool{false, true} {
			if key != "language" && regexp.MustCompile(`\p{Han}`).MatchString(pair[i]) != han {
				t.Errorf("%s is in the wrong language: %q", key, pair[i])
			}
		}
	}
	for name, text := range files {
		for _, m := range regexp.MustCompile(`\bt\(\s*'(\w+)',?\s*\)`).FindAllStringSubmatch(text, -1) {
			if _, ok := known[m[1]]; !ok {
				t.Errorf("%s says %q, which words.js and words.views.js lack", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`countOf\([^\n]*?, '(\w+)'\)`).FindAllStringSubmatch(text, -1) {
			for _, key := range []string{"one_" + m[1], "some_" + m[1]} {
				if _, ok := known[key]; !ok {
					t.Errorf("%s counts %s, but there is no %s", name, m[1], key)
				}
			}
		}
	}
}

// Every value of an enum that the panel shows has words of its own.
func TestPanelHasWordsForEnums(t *testing.T) {
	known := panelWords(t, panelFiles(t))
	for prefix, enum := range map[string]protoreflect.EnumDescriptor{
		"actor_": pb.Actor(0).Descriptor(), "role_": pb.Role(0).Descriptor(), "": pb.MemoryStatus(0).Descriptor(),
		"place_": pb.PurgedPlaceKind(0).Descriptor(), "decider_": pb.Decider(0).Descriptor(),
	} {
		for i := 1; i < enum.Values().Len(); i++ {
			word := prefix + jsonout.Word(enum, enum.Values().Get(i).Number())
			if _, ok := known[word]; !ok {
				t.Errorf("there are no words for %s", word)
			}
		}
	}
}

// Every method that the panel calls can be called.
func TestPanelCallsServedPaths(t *testing.T) {
	doc := readOpenAPI(t)
	methods := doc.Paths["/api/v1/{service}/{method}"]["post"].Summary
	for name, text := range panelFiles(t) {
		for _, m := range regexp.MustCompile(`call(?:All)?\(\s*'(\w+/\w+)'`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(methods, m[1]) {
				t.Errorf("%s calls %s, which is not served", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile("['`](/api/(?:memory/|login|events)[a-z/-]*)").FindAllStringSubmatch(text,
			-1) {
			path := strings.TrimSuffix(m[1], "/")
			if _, ok := doc.Paths[path]; !ok {
				t.Errorf("%s asks for %s, which is not documented", name, path)
			}
		}
	}
}
