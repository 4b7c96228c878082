package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser owns everything that the image writes. The clients that may connect run under the same number, or are
// named by allow_uids.
const imageUser = 65532

// writeImage writes one archive in the OCI layout with an image for each Linux target: nothing but the program and
// two empty directories, /data for the memories and /run/memsidecar for the socket.
func (r release) writeImage() error {
	place := filepath.Join(r.scratch, "oci")
	index, err := layout.Write(place, empty.Index)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		image, err := r.image(t)
		if err != nil {
			return err
		}
		annotations := map[string]string{"org.opencontainers.image.ref.name": r.version}
		err = index.AppendImage(image, layout.WithAnnotations(annotations),
			layout.WithPlatform(v1.Platform{OS: t.os, Architecture: t.arch}))
		if err != nil {
			return err
		}
	}
	name := "memsidecar_" + r.version + "_oci.tar"
	if err := r.tarDirectory(place, filepath.Join(r.dist, name)); err != nil {
		return err
	}
	return r.report(name)
}

func (r release) image(t target) (v1.Image, error) {
	layerFile, err := r.imageLayer(t)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layerFile)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = t.os, t.arch
	config.Created = v1.Time{Time: r.time}
	for i := range config.History {
		config.History[i].Created = v1.Time{Time: r.time}
	}
	config.Config = v1.Config{
		User:       "65532:65532",
		Env:        []string{"MEMSIDECAR_DATA=/data", "MEMSIDECAR_SOCKET=/run/memsidecar/memsidecar.sock", "HOME=/data"},
		Entrypoint: []string{"/memsidecar"},
		Cmd:        []string{"daemon", "serve"},
		Volumes:    map[string]struct{}{"/data": {}, "/run/memsidecar": {}},
		WorkingDir: "/data",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "memsidecar",
			"org.opencontainers.image.description": summary,
			"org.opencontainers.image.licenses":    license,
			"org.opencontainers.image.source":      homepage,
			"org.opencontainers.image.version":     r.version,
		},
	}
	return mutate.ConfigFile(image, config)
}

// imageLayer is the only layer of the image, as a tar.
func (r release) imageLayer(t target) ([]byte, error) {
	program, err := os.ReadFile(r.program(t))
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.tree(t), "LICENSE"))
	if err != nil {
		return nil, err
	}
	notice, err := os.ReadFile(filepath.Join(r.tree(t), "NOTICE"))
	if err != nil {
		return nil, err
	}
	entries := []struct {
		name string
		mode int64
		uid  int
		data []byte // nil for a directory
	}{
		{"data/", 0o700, imageUser, nil},
		{"run/", 0o755, 0, nil},
		{"run/memsidecar/", 0o700, imageUser, nil},
		{"tmp/", 0o1777, 0, nil},
		{"usr/share/doc/memsidecar/LICENSE", 0o644, 0, licence},
		{"usr/share/doc/memsidecar/NOTICE", 0o644, 0, notice},
		{"memsidecar", 0o755, 0, program},
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.uid, Gid: e.uid, Size: int64(len(e.data)), ModTime: r.time,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.data == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// tarDirectory writes the files below dir into one tar, in the order of their names.
func (r release) tarDirectory(dir, path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data)), ModTime: r.time,
			Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
