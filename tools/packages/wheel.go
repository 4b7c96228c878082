package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// wheelTags names, for each target, the platforms that its program runs on. The program is static, so every C library
// of Linux will do; Go 1.26 needs macOS 12.
var wheelTags = map[target]string{
	{"linux", "amd64"}:  "manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:  "manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}: "macosx_12_0_x86_64",
	{"darwin", "arm64"}: "macosx_12_0_arm64",
}

// A wheelFile is a file of a wheel.
type wheelFile struct {
	name       string
	executable bool
	data       []byte
}

// writeWheels writes a wheel for each target: the Python client and, as a script of the environment, the program
// (PEP 427, "data" directory). The wheel without a program is written beside them, for other systems.
func (r release) writeWheels(client string) error {
	pure, err := readWheel(client)
	if err != nil {
		return err
	}
	info := fmt.Sprintf("memsidecar-%s.dist-info/", r.version)
	if !slices.ContainsFunc(pure, func(f wheelFile) bool { return f.name == info+"WHEEL" }) {
		return fmt.Errorf("%s is not the Python client of version %s", client, r.version)
	}
	data, err := encodeWheel(r, info, pure)
	if err != nil {
		return err
	}
	if err := r.write("memsidecar-"+r.version+"-py3-none-any.whl", data, 0o644); err != nil {
		return err
	}
	for _, t := range targets {
		program, err := os.ReadFile(r.program(t))
		if err != nil {
			return err
		}
		script := wheelFile{"memsidecar-" + r.version + ".data/scripts/memsidecar", true, program}
		files := append([]wheelFile{script}, retag(pure, info+"WHEEL", wheelTags[t])...)
		data, err := encodeWheel(r, info, files)
		if err != nil {
			return err
		}
		if err := r.write("memsidecar-"+r.version+"-py3-none-"+wheelTags[t]+".whl", data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readWheel returns the files of a wheel by name, except RECORD, which lists them.
func readWheel(path string) ([]wheelFile, error) {
	r, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var files []wheelFile
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, ".dist-info/RECORD") {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(content)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name, err)
		}
		files = append(files, wheelFile{name: f.Name, data: data})
	}
	slices.SortFunc(files, func(a, b wheelFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// retag returns the files with a WHEEL file for the platforms in tags, and for the root of the environment's
// platform-dependent libraries.
func retag(files []wheelFile, name, tags string) []wheelFile {
	tagged := make([]wheelFile, 0, len(files))
	for _, f := range files {
		if f.name == name {
			f.data = wheelMetadata(f.data, tags)
		}
		tagged = append(tagged, f)
	}
	return tagged
}

// wheelMetadata replaces the tag and purity of a WHEEL file.
func wheelMetadata(data []byte, tags string) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		switch {
		case strings.HasPrefix(line, "Root-Is-Purelib:"):
			out.WriteString("Root-Is-Purelib: false\n")
		case !strings.HasPrefix(line, "Tag:") && strings.TrimSpace(line) != "":
			out.WriteString(line)
		}
	}
	for tag := range strings.SplitSeq(tags, ".") {
		fmt.Fprintf(&out, "Tag: py3-none-%s\n", tag)
	}
	return []byte(out.String())
}

// encodeWheel writes a wheel with its RECORD: name, digest and size of every file.
func encodeWheel(r release, info string, files []wheelFile) ([]byte, error) {
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, wheelFile{name: info + "RECORD", data: []byte(record.String())})

	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(to, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(0o644)
		if f.executable {
			h.SetMode(0o755)
		}
		entry, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
