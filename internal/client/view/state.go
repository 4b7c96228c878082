package view

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Dir is the directory, inside that of the view, of the state of the view: state.json, and in kept/ what was kept
// aside.
const Dir = ".memsidecar"

const (
	stateFile = Dir + "/state.json"
	keptDir   = Dir + "/kept"
)

// state is what a view remembers of what it wrote:
//
//	{
//	  "version": 1,
//	  "format": "nanobot",
//	  "space": "default",
//	  "store": "01a1…", "epoch": "01a1…",
//	  "serial": 12,
//	  "files": {"MEMORY.md": {"hash": "180d…", "serial": 12}},
//	  "renderings": {"01a1…": [{"file": "MEMORY.md", "rev": 7, "from": 3, "content": "9f2c…", …}]}
//	}
//
// It holds no text of memories: hashes are enough to tell what somebody changed. It may be lost: then nothing that is
// missing counts as removed, and what the files say is compared with the store as it is.
type state struct {
	Version    int                    `json:"version"`
	Format     Format                 `json:"format"`
	Space      string                 `json:"space"`
	Store      string                 `json:"store"`
	Epoch      string                 `json:"epoch"`
	Serial     int64                  `json:"serial"` // counts the versions that were written
	Files      map[string]trackedFile `json:"files"`
	Renderings map[string][]rendering `json:"faces"` // by memory, oldest first
	// of append-only files: hash of a block → log entry, "" for one that is none
	Lines   map[string]map[string]string `json:"lines,omitempty"`
	Refused map[string]bool              `json:"refused,omitempty"` // removed entry files that wait for a decision
}

// trackedFile is a file of the view.
type trackedFile struct {
	Hash   string `json:"hash,omitempty"`   // of what was written last, or adopted
	Next   string `json:"next,omitempty"`   // of what is about to be written: after a crash either may be there
	Serial int64  `json:"serial,omitempty"` // of a list or index: the version that was written last
	ID     string `json:"id,omitempty"`     // of an entry file: the memory
	Copy   bool   `json:"copy,omitempty"`   // says what another file says, and is left alone
	Lang   string `json:"lang,omitempty"`   // of a list: the language of its headings
}

// matches reports whether the file has a content that the view wrote or adopted.
func (k trackedFile) matches(hash string) bool {
	return hash != "" && (hash == k.Hash || hash == k.Next)
}

// rendering is how a memory was shown in versions From to To, 0 for up to now: hashes of what stood there.
type rendering struct {
	File        string `json:"file,omitempty"` // of a list: names of entry files are made of what memories say
	Rev         int64  `json:"rev"`
	From        int64  `json:"from"`
	To          int64  `json:"to,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"about,omitempty"`
	Category    string `json:"category"`
	Tags        string `json:"tags,omitempty"`
	Content     string `json:"content"`
	Block       string `json:"block,omitempty"` // the block of a list or the line of an index
}

// maxRenderings is how many renderings of a memory are remembered: an older copy of a file is not recognised.
const maxRenderings = 12

// coversVersion reports whether the memory was shown this way in version serial.
func (f rendering) coversVersion(serial int64) bool {
	return f.From <= serial && (f.To == 0 || serial <= f.To)
}

// newState returns the state of a directory that is no view yet.
func newState(format Format, space string) *state {
	return &state{Version: 1, Format: format, Space: space, Files: map[string]trackedFile{}, Renderings: map[string][]rendering{},
		Lines: map[string]map[string]string{}, Refused: map[string]bool{}}
}

// ErrOtherView says that a directory is already a view of something else.
var ErrOtherView = errors.New("is a view of something else")

// OtherViewError says of what. It is an ErrOtherView.
type OtherViewError struct {
	Format Format
	Space  string
}

// Error names the present view.
func (e *OtherViewError) Error() string {
	return fmt.Sprintf("the directory is a view of the space %s in the format %s already", e.Space, e.Format)
}

// Is makes it an ErrOtherView.
func (e *OtherViewError) Is(target error) bool { return target == ErrOtherView }

// loadState reads what is remembered. What is missing or damaged is as new.
func loadState(fsys durable.FS, format Format, space string) (s *state, damaged bool, err error) {
	fresh := newState(format, space)
	data, err := durable.ReadFile(fsys, stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read what the view remembers: %w", err)
	}
	s = newState("", "")
	if json.Unmarshal(data, s) != nil || s.Version < 1 || s.Files == nil || s.Renderings == nil || s.Lines == nil ||
		s.Refused == nil {
		return fresh, true, nil
	}
	if s.Version > 1 {
		return nil, false, fmt.Errorf("%s is of a newer version of memsidecar", stateFile)
	}
	if s.Format != format || s.Space != space {
		return nil, false, &OtherViewError{s.Format, s.Space}
	}
	return s, false, nil
}

// save writes what is remembered when it is not what was written last. Durable on return.
func (r *pass) save() error {
	data, err := json.Marshal(r.newState)
	if err != nil {
		return fmt.Errorf("encode what the view remembers: %w", err)
	}
	hash := hashOf(data)
	if hash == r.saved {
		return nil
	}
	err = durable.WriteFile(r.cfg.FS, stateFile, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("note what the view writes: %w", err)
	}
	r.saved = hash
	return nil
}

// clone returns a deep copy.
func (s *state) clone() *state {
	c := *s
	c.Files, c.Refused = maps.Clone(s.Files), maps.Clone(s.Refused)
	c.Renderings, c.Lines = map[string][]rendering{}, map[string]map[string]string{}
	for id, list := range s.Renderings {
		c.Renderings[id] = slices.Clone(list)
	}
	for name, lines := range s.Lines {
		c.Lines[name] = maps.Clone(lines)
	}
	return &c
}

// currentRendering is how a memory is shown now, nil when it is not.
func (s *state) currentRendering(id string) *rendering {
	list := s.Renderings[id]
	if n := len(list); n > 0 && list[n-1].To == 0 {
		return &list[n-1]
	}
	return nil
}

// renderingAt is how a memory was shown at a revision, nil when that is not known.
func (s *state) renderingAt(id string, rev int64) *rendering {
	for i, f := range slices.Backward(s.Renderings[id]) {
		if f.Rev == rev {
			return &s.Renderings[id][i]
		}
	}
	return nil
}

// recordRendering remembers how a memory is shown from version serial on.
func (s *state) recordRendering(id string, f rendering, serial int64) {
	if now := s.currentRendering(id); now != nil {
		f.From, f.To = now.From, 0
		if *now == f {
			return
		}
		now.To = serial - 1
	}
	f.From, f.To = serial, 0
	list := append(s.Renderings[id], f)
	if len(list) > maxRenderings {
		list = slices.Delete(list, 0, len(list)-maxRenderings)
	}
	s.Renderings[id] = list
}

// recordRemoval remembers that a memory is not shown any more, from version serial on.
func (s *state) recordRemoval(id string, serial int64) {
	if now := s.currentRendering(id); now != nil {
		now.To = serial - 1
	}
}

// fileOf finds the file of a memory, "" for none.
func (s *state) fileOf(id string) string {
	for name, k := range s.Files {
		if k.ID == id && !k.Copy {
			return name
		}
	}
	return ""
}

// hashOf is the SHA-256 of a file.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// shortHash is a short hash of a text, "" for an empty one.
func shortHash(s string) string {
	if s == "" {
		return ""
	}
	return hashOf([]byte(s))[:16]
}

// hashList returns a short hash of a list of texts.
func hashList(items []string) string { return shortHash(strings.Join(items, "\x00")) }
