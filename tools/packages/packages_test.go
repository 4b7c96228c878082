package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makeRelease writes a small release into a new directory and makes its packages.
func makeRelease(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	for _, target := range targets {
		name := release{version: "1.2.3"}.archive(target)
		files := map[string]string{
			"memsidecar": "program of " + target.os + " " + target.arch, "LICENSE": "licence", "NOTICE": "notice",
			"man/memsidecar.1": "page", "completions/memsidecar.bash": "bash", "completions/memsidecar.zsh": "zsh",
			"completions/memsidecar.fish": "fish",
		}
		writeTarball(t, filepath.Join(dist, name+".tar.gz"), name, files)
	}
	inputs := t.TempDir()
	writeTarball(t, filepath.Join(inputs, "client.tgz"), "package", map[string]string{
		"package.json":  `{"name":"memsidecar","version":"1.2.3","scripts":{"test":"x"},"devDependencies":{"a":"1"}}`,
		"dist/index.js": "export {}",
	})
	var wheel bytes.Buffer
	w := zip.NewWriter(&wheel)
	for name, text := range map[string]string{
		"memsidecar/__init__.py":              "",
		"memsidecar-1.2.3.dist-info/WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"memsidecar-1.2.3.dist-info/RECORD":   "stale",
		"memsidecar-1.2.3.dist-info/METADATA": "Name: memsidecar\n",
	} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inputs, "client.whl"), wheel.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	err := run([]string{"-dist", dist, "-version", "v1.2.3", "-time", "1700000000",
		"-wheel", filepath.Join(inputs, "client.whl"), "-npm", filepath.Join(inputs, "client.tgz")})
	if err != nil {
		t.Fatal(err)
	}
	return dist
}

func writeTarball(t *testing.T, path, root string, files map[string]string) {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		mode := int64(0o644)
		if name == "memsidecar" {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: root + "/" + name, Mode: mode, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWheels reads every wheel as an installer does: each file has the digest that RECORD states, and the program is
// an executable script.
func TestWheels(t *testing.T) {
	dist := makeRelease(t)
	for target, tags := range wheelTags {
		r, err := zip.OpenReader(filepath.Join(dist, "memsidecar-1.2.3-py3-none-"+tags+".whl"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		contents := map[string]string{}
		for _, f := range r.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(content)
			if err != nil {
				t.Fatal(err)
			}
			contents[f.Name] = string(data)
			if f.Name == "memsidecar-1.2.3.data/scripts/memsidecar" && f.Mode().Perm() != 0o755 {
				t.Errorf("%s: the program has mode %o", tags, f.Mode().Perm())
			}
		}
		if want := "program of " + target.os + " " + target.arch; contents["memsidecar-1.2.3.data/scripts/memsidecar"] != want {
			t.Errorf("%s holds another program", tags)
		}
		record := contents["memsidecar-1.2.3.dist-info/RECORD"]
		for name, text := range contents {
			sum := sha256.Sum256([]byte(text))
			line := name + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + ","
			if !strings.HasSuffix(name, "/RECORD") && !strings.Contains(record, line) {
				t.Errorf("%s: RECORD does not state the digest of %s", tags, name)
			}
		}
		metadata := contents["memsidecar-1.2.3.dist-info/WHEEL"]
		for tag := range strings.SplitSeq(tags, ".") {
			if !strings.Contains(metadata, "Tag: py3-none-"+tag+"\n") || strings.Contains(metadata, "none-any") {
				t.Errorf("WHEEL of %s:\n%s", tags, metadata)
			}
		}
	}
}

// TestNPMDependsOnPrograms checks that the client asks for the package of each system, and carries nothing of its
// development.
func TestNPMDependsOnPrograms(t *testing.T) {
	dist := makeRelease(t)
	files, err := readNPM(filepath.Join(dist, "memsidecar-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.name != "package/package.json" {
			continue
		}
		var manifest struct {
			OptionalDependencies, DevDependencies, Scripts map[string]string
		}
		if err := json.Unmarshal(f.data, &manifest); err != nil {
			t.Fatal(err)
		}
		if len(manifest.OptionalDependencies) != len(targets) || manifest.OptionalDependencies["@memsidecar/linux-x64"] != "1.2.3" {
			t.Errorf("depends on %v", manifest.OptionalDependencies)
		}
		if manifest.DevDependencies != nil || manifest.Scripts != nil {
			t.Error("the published package has scripts or development dependencies")
		}
	}
	if _, err := withPrograms([]byte(`{"version":"1.2.2"}`), "1.2.3", nil); err == nil {
		t.Error("a client of another version was taken")
	}
}

// TestSameBytes makes everything twice.
func TestSameBytes(t *testing.T) {
	first, second := makeRelease(t), makeRelease(t)
	entries, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		// The archives are input, and the test's own do not have the same order.
		if strings.HasSuffix(entry.Name(), ".tar.gz") || entry.Name() == "memsidecar.rb" {
			continue
		}
		a, err := os.ReadFile(filepath.Join(first, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(second, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", entry.Name())
		}
	}
}
