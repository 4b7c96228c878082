package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// publishedDir holds the manifests of published files, published-*.json, each continued by a log, published-*.log;
// package publish writes them and describes their format.
const publishedDir = "index"

// collectProofs returns what files outside the journal prove about its length: the newest operation that each of them
// includes. All of them are written from durable state only. A missing or unreadable file proves nothing.
//
// A published file proves nothing by itself: a person may have restored it from elsewhere or edited its revision. What
// counts is the manifest of the publisher, which names the revision of what memsidecar wrote.
func collectProofs(fsys durable.FS) ([]journal.Proof, error) {
	proofs, err := snapshotProofs(fsys)
	if err != nil {
		return nil, err
	}
	names, err := publishedManifests(fsys)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		p, err := publishedProof(fsys, name)
		if err != nil {
			return nil, err
		}
		proofs = append(proofs, p)
	}
	return proofs, nil
}

// dropStaleManifests removes the manifests of published files from a directory without a journal: their revisions
// belong to another one. The published files are adopted, and the publishers begin new manifests. Durable on return.
func dropStaleManifests(fsys durable.FS, m manifest) error {
	if m.LSN > 0 {
		return nil
	}
	if absent, err := journal.Absent(fsys); err != nil || !absent {
		return err
	}
	names, err := publishedManifests(fsys)
	if err != nil || len(names) == 0 {
		return err
	}
	for _, name := range names {
		if err := fsys.Remove(name); err != nil {
			return fmt.Errorf("begin a new journal: %w", err)
		}
	}
	if err := fsys.SyncDir(publishedDir); err != nil {
		return fmt.Errorf("begin a new journal: %w", err)
	}
	return nil
}

// publishedManifests lists the manifests of published files, and their logs.
func publishedManifests(fsys durable.FS) (names []string, err error) {
	entries, err := fsys.ReadDir(publishedDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for proofs of the journal's end: %w", err)
	}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); strings.HasPrefix(e.Name(), "published") && (ext == ".json" || ext == ".log") {
			names = append(names, path.Join(publishedDir, e.Name()))
		}
	}
	return names, nil
}

// publishedManifest is what this package reads of a manifest of published files, or of a line of its log.
type publishedManifest struct {
	Version int `json:"version"`
	Files   map[string]struct {
		Revision         int64 `json:"revision"`
		PreviousRevision int64 `json:"previous_revision"`
	} `json:"files"`
}

// publishedProof returns the newest revision in a manifest of published files, or in its log. A log proves what it
// holds no matter which manifest it continues.
func publishedProof(fsys durable.FS, name string) (best journal.Proof, err error) {
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		return best, fmt.Errorf("read %s: %w", name, err)
	}
	parts := [][]byte{data}
	isLog := path.Ext(name) == ".log"
	if isLog {
		parts = bytes.Split(data, []byte{'\n'})
	}
	for _, part := range parts {
		var m publishedManifest
		if isLog && !durable.ValidLine(part) || json.Unmarshal(part, &m) != nil || !isLog && m.Version != 1 {
			break // the publisher treats it as lost, too
		}
		for file, f := range m.Files {
			if lsn := max(f.Revision, f.PreviousRevision); lsn > best.LSN {
				best = journal.Proof{File: name + " (" + file + ")", LSN: lsn}
			}
		}
	}
	return best, nil
}

// snapshotProofs returns the newest LSN that the previous manifest and the name of any file of a snapshot hold. The
// newest manifest is not among them: its LSN is where replay begins.
func snapshotProofs(fsys durable.FS) ([]journal.Proof, error) {
	var proofs []journal.Proof
	if m, err := readManifest(fsys, previousFile); err == nil {
		proofs = append(proofs, journal.Proof{File: previousFile, LSN: m.LSN})
	}
	entries, err := fsys.ReadDir(snapshotDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for proofs of the journal's end: %w", err)
	}
	var best journal.Proof
	for _, e := range entries {
		if lsn := stampOf(e.Name()); lsn > best.LSN {
			best = journal.Proof{File: path.Join(snapshotDir, e.Name()), LSN: lsn}
		}
	}
	return append(proofs, best), nil
}

// stampOf returns the LSN in the name of a file of a snapshot, NAME.LSN.jsonl or NAME.LSN-ATTEMPT.jsonl, and 0 for any
// other name.
func stampOf(name string) int64 {
	base, ok := strings.CutSuffix(name, ".jsonl")
	if !ok {
		return 0
	}
	stamp, _, _ := strings.Cut(base[strings.LastIndexByte(base, '.')+1:], "-")
	lsn, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return 0
	}
	return lsn
}
