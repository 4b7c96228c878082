package publish

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// A manifest is two files. index/published-X.json is a whole one:
//
//	{"version":1,"log":"5IQ2…","files":{"memory.json":{"hash":"180d…","size":64,"revision":7}}}
//
// index/published-X.log has what changed since, one line with a checksum per change, a removed name as null. Its
// first line names the whole manifest that it continues, by "log"; a log that continues another one counts as empty:
//
//	{"log":"5IQ2…","crc":"0badcafe"}
//	{"files":{"memory.json":{"hash":"77aa…","size":80,"revision":9}},"crc":"…"}
//
// So a change costs its own bytes and one sync, however many files there are. When the log has outgrown the whole
// manifest, a new one is written.
type manifestFile struct {
	Version int                      `json:"version"`
	Log     string                   `json:"log,omitempty"`
	Files   map[string]ManifestEntry `json:"files"`
}

// manifestLine is one line of the log.
type manifestLine struct {
	Log   string         `json:"log,omitempty"`
	Files manifestChange `json:"files,omitempty"`
}

// manifestChange is the new entry of each name that changed; nil removes the name.
type manifestChange map[string]*ManifestEntry

// apply makes the change in entries, and returns the change that reverts it.
func (c manifestChange) apply(entries map[string]ManifestEntry) (undo manifestChange) {
	undo = make(manifestChange, len(c))
	for name, entry := range c {
		undo[name] = nil
		if former, ok := entries[name]; ok {
			undo[name] = &former
		}
		if entry == nil {
			delete(entries, name)
		} else {
			entries[name] = *entry
		}
	}
	return undo
}

// minLogBytes is how long a log becomes at least before a whole manifest is written again.
const minLogBytes = 256 << 10

// manifestState is what the two files of a manifest hold. Files.mu guards it.
type manifestState struct {
	log        string // that continues the whole manifest; "" when a whole one must be written first
	wholeBytes int64  // size of the whole manifest
	logBytes   int64  // size of the log; 0 when there is none yet
	maxLog     int64  // minLogBytes, except in tests
	lost       bool   // it could not be read
}

// Whether a change must be durable before recordLocked returns.
const (
	synced   = true
	unsynced = false // it becomes durable with the next one; until then a start finds it out from the files
)

// logName is the name of the log of a manifest.
func logName(manifest string) string {
	return strings.TrimSuffix(manifest, path.Ext(manifest)) + ".log"
}

// loadLocked reads the manifest once. A missing or damaged one is empty.
func (f *Files) loadLocked() error {
	if f.entries != nil {
		return nil
	}
	entries, err := f.readWholeLocked()
	if err != nil {
		return err
	}
	if err := f.readLogLocked(entries); err != nil {
		return err
	}
	edits, err := Edits(f.fsys)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if _, ours := entries[e.File]; ours && e.Writing {
			f.writing = append(f.writing, e)
		}
	}
	f.entries = entries
	return nil
}

// readWholeLocked reads the whole manifest.
func (f *Files) readWholeLocked() (map[string]ManifestEntry, error) {
	f.state.log = ""
	data, err := durable.ReadFile(f.fsys, f.manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]ManifestEntry{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was published: %w", err)
	}
	var whole manifestFile
	if err := json.Unmarshal(data, &whole); err != nil || whole.Version != 1 {
		f.state.lost = true
		f.logger.Warn("it is not known any more what was published; present files count as changed", "file", f.manifest)
		return map[string]ManifestEntry{}, nil
	}
	f.state.log, f.state.wholeBytes = whole.Log, int64(len(data))
	if whole.Files == nil {
		whole.Files = map[string]ManifestEntry{}
	}
	return whole.Files, nil
}

// readLogLocked applies the log to the entries of the whole manifest that it continues. A line that is not whole is
// the end: only the last synced one and those after it can be torn. A log with such an end is not continued.
func (f *Files) readLogLocked(entries map[string]ManifestEntry) error {
	if f.state.log == "" {
		return nil
	}
	data, err := durable.ReadFile(f.fsys, logName(f.manifest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what was published: %w", err)
	}
	f.state.logBytes = 0
	for rest := data; len(rest) > 0; {
		raw, after, whole := bytes.Cut(rest, []byte{'\n'})
		var line manifestLine
		if !whole || !durable.ValidLine(raw) || json.Unmarshal(raw, &line) != nil {
			f.state.log = ""
			return nil
		}
		if f.state.logBytes == 0 && line.Log != f.state.log {
			return nil // it continues an older one, which includes it
		}
		line.Files.apply(entries)
		f.state.logBytes += int64(len(raw)) + 1
		rest = after
	}
	return nil
}

// recordLocked makes a change of the manifest, durable on return if sync is set. After an error the manifest in
// memory is as before, and the next change writes a whole one, because nobody knows what the disk has of this one.
func (f *Files) recordLocked(change manifestChange, sync bool) error {
	undo := change.apply(f.entries)
	st := &f.state
	if st.log == "" || st.logBytes > max(st.wholeBytes, st.maxLog) {
		if err := f.writeWholeLocked(); err != nil {
			undo.apply(f.entries)
			return err
		}
		return nil
	}
	if err := f.appendLocked(change, sync); err != nil {
		st.log = ""
		undo.apply(f.entries)
		return fmt.Errorf("note what is published: %w", err)
	}
	return nil
}

// appendLocked appends a change to the log.
func (f *Files) appendLocked(change manifestChange, sync bool) error {
	st := &f.state
	if st.logBytes == 0 {
		return f.beginLogLocked(change)
	}
	line, err := durable.AppendLine(nil, manifestLine{Files: change})
	if err != nil {
		return err
	}
	file, err := f.fsys.OpenFile(logName(f.manifest), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return f.writeWholeLocked() // somebody removed it, and what it held
	}
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(line, st.logBytes); err == nil && sync {
		err = file.Datasync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	st.logBytes += int64(len(line))
	return nil
}

// beginLogLocked replaces the log by one that continues the present whole manifest. Durable on return.
func (f *Files) beginLogLocked(change manifestChange) error {
	lines, err := durable.AppendLine(nil, manifestLine{Log: f.state.log})
	if err != nil {
		return err
	}
	if lines, err = durable.AppendLine(lines, manifestLine{Files: change}); err != nil {
		return err
	}
	err = durable.WriteFile(f.fsys, logName(f.manifest), func(w io.Writer) error {
		_, err := w.Write(lines)
		return err
	})
	if err == nil {
		f.state.logBytes = int64(len(lines))
	}
	return err
}

// writeWholeLocked writes a whole manifest, which makes the log an old one. Durable on return.
func (f *Files) writeWholeLocked() error {
	f.state.log = ""
	if err := makeDir(f.fsys, path.Dir(f.manifest)); err != nil {
		return err
	}
	whole := manifestFile{Version: 1, Log: rand.Text(), Files: f.entries}
	data, err := json.Marshal(whole)
	if err != nil {
		return fmt.Errorf("encode what was published: %w", err)
	}
	err = durable.WriteFile(f.fsys, f.manifest, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what is published: %w", err)
	}
	f.state.log, f.state.wholeBytes, f.state.logBytes = whole.Log, int64(len(data)), 0
	return nil
}
