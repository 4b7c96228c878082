package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// npmNames are the names that npm has for systems and processors.
var npmNames = map[string]string{"linux": "linux", "darwin": "darwin", "amd64": "x64", "arm64": "arm64"}

// npmScope holds the packages with the programs. Nobody installs them by hand.
const npmScope = "@memsidecar/"

// A packageFile is a file of an npm package; its name begins with package/.
type packageFile struct {
	name string
	mode int64
	data []byte
}

// writeNPM writes a package with the program for each target, and the TypeScript client that depends on them: npm
// installs the one that fits the system.
func (r release) writeNPM(client string) error {
	optional := map[string]string{}
	for _, t := range targets {
		name := npmNames[t.os] + "-" + npmNames[t.arch]
		optional[npmScope+name] = r.version
		files, err := r.npmProgram(t, name)
		if err != nil {
			return err
		}
		if err := r.writeNPMPackage("memsidecar-"+name, files); err != nil {
			return err
		}
	}
	files, err := readNPM(client)
	if err != nil {
		return err
	}
	for i, f := range files {
		if f.name == "package/package.json" {
			if files[i].data, err = withPrograms(f.data, r.version, optional); err != nil {
				return err
			}
		}
	}
	return r.writeNPMPackage("memsidecar", files)
}

// npmProgram returns the files of the package with a target's program.
func (r release) npmProgram(t target, name string) ([]packageFile, error) {
	manifest, err := json.MarshalIndent(map[string]any{
		"name":        npmScope + name,
		"version":     r.version,
		"description": "The memsidecar program for " + name + "; install the package memsidecar",
		"license":     license,
		"homepage":    homepage,
		"repository":  map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
		"os":          []string{npmNames[t.os]},
		"cpu":         []string{npmNames[t.arch]},
		"files":       []string{"bin"},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	files := []packageFile{
		{"package/package.json", 0o644, append(manifest, '\n')},
		{"package/README.md", 0o644, []byte("The memsidecar program for " + name + ". Install the package `memsidecar`.\n")},
	}
	for _, f := range []struct {
		name, source string
		mode         int64
	}{{"LICENSE", "LICENSE", 0o644}, {"NOTICE", "NOTICE", 0o644}, {"bin/memsidecar", "memsidecar", 0o755}} {
		data, err := os.ReadFile(filepath.Join(r.tree(t), f.source))
		if err != nil {
			return nil, err
		}
		files = append(files, packageFile{"package/" + f.name, f.mode, data})
	}
	return files, nil
}

// withPrograms adds the packages with the programs to a package.json, and sets its version.
func withPrograms(data []byte, version string, optional map[string]string) ([]byte, error) {
	var manifest map[string]json.RawMessage
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, err
	}
	var stated string
	if err := json.Unmarshal(manifest["version"], &stated); err != nil {
		return nil, err
	}
	if stated != version {
		return nil, fmt.Errorf("the TypeScript client has version %s, the release %s", stated, version)
	}
	programs, err := json.Marshal(optional)
	if err != nil {
		return nil, err
	}
	manifest["optionalDependencies"] = programs
	delete(manifest, "devDependencies")
	delete(manifest, "scripts")
	out, err := json.MarshalIndent(manifest, "", "  ")
	return append(out, '\n'), err
}

func readNPM(path string) ([]packageFile, error) {
	var files []packageFile
	err := eachFile(path, func(h *tar.Header, content io.Reader) error {
		data, err := io.ReadAll(content)
		files = append(files, packageFile{h.Name, h.Mode & 0o777, data})
		return err
	})
	slices.SortFunc(files, func(a, b packageFile) int { return strings.Compare(a.name, b.name) })
	return files, err
}

func (r release) writeNPMPackage(name string, files []packageFile) error {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zipped)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: time.Unix(r.time.Unix(), 0),
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		return err
	}
	return r.write(name+"-"+r.version+".tgz", out.Bytes(), 0o644)
}
