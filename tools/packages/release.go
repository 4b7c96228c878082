package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Facts about the project that every kind of package states.
const (
	summary  = "Long-term memory for AI agents, in a local daemon"
	homepage = "https://github.com/memsidecar/memsidecar"
	license  = "Apache-2.0"
)

// A target is a system that the program is built for, in Go's words.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// A release is one version of the program, built for every target.
type release struct {
	version string // without a leading v
	time    time.Time
	dist    string // archives in, packages out
	scratch string
}

// archive is the name of a target's archive, without its extension.
func (r release) archive(t target) string {
	return fmt.Sprintf("memsidecar_%s_%s_%s", r.version, t.os, t.arch)
}

// tree is the directory that holds the unpacked archive of a target: program, man, completions, licence.
func (r release) tree(t target) string { return filepath.Join(r.scratch, r.archive(t)) }

// program is the path of a target's program.
func (r release) program(t target) string { return filepath.Join(r.tree(t), "memsidecar") }

// sha256 returns the digest of a file in dist.
func (r release) sha256(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.dist, name))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// unpack extracts the archives of all targets.
func (r release) unpack() error {
	for _, t := range targets {
		if err := r.unpackOne(filepath.Join(r.dist, r.archive(t)+".tar.gz")); err != nil {
			return fmt.Errorf("unpack %s: %w", r.archive(t), err)
		}
		if _, err := os.Stat(r.program(t)); err != nil {
			return err
		}
	}
	return nil
}

func (r release) unpackOne(path string) error {
	return eachFile(path, func(h *tar.Header, content io.Reader) error {
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%q leads out of the archive", h.Name)
		}
		target := filepath.Join(r.scratch, h.Name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	})
}

// eachFile calls read for every regular file of a tar.gz, in its order.
func eachFile(path string, read func(*tar.Header, io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	archive := tar.NewReader(unzipped)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := read(h, archive); err != nil {
			return err
		}
	}
}
