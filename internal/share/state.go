package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// dir holds one file a shared space.
const dir = "share"

// stateVersion is the version of the files in dir.
// Version 1 had no line of its own. Version 2 knew no spaces that are only received, and would write to them.
// It had no Ack either, so its program would promise less than was asked for. Version 3 had no Logs, and its program
// would leave out entries that are to be sent. It would also exchange a space that is open in part.
const stateVersion = 4

// state is what is known of a shared space between two runs. It may be older than the journal: then the rows behind its
// position are read again, and what the journal says was applied is not applied again.
type state struct {
	Version int         `json:"version"`
	Space   string      `json:"space"`  // local name
	URL     string      `json:"url"`    // with its password, if it has one
	Remote  pglog.Space `json:"remote"` // Head is the position up to which rows are in Known or applied
	Epoch   string      `json:"epoch"`  // of the local store; operations of another one have other numbers
	// Line is the identity of this taking part, which the log has as the epoch of rows. A copy of the directory has it
	// too, so each joining begins a new one.
	Line string `json:"line"`
	// ReadOnly says that this machine receives the space and never writes to it.
	ReadOnly bool `json:"read_only,omitempty"`
	// Ack is what replies to writes wait for; "" is AckLocal.
	Ack Ack `json:"ack,omitempty"`

	From  int64        `json:"from"`  // local operations up to this one were in the state that the space was joined with
	Read  int64        `json:"read"`  // local operations up to this one are in Known
	Sent  int64        `json:"sent"`  // local operations up to this one are in the log, or say nothing to it
	Known merge.Values `json:"known"` // what the log holds of everything that waiting operations touch
	// Arrived are values that others forgot, by the local LSN at which that arrived. Operations before did not know.
	Arrived map[string]int64 `json:"arrived,omitempty"`
	// Logs says what is shared of the daily logs; nil while nothing ever was.
	Logs *logs `json:"logs,omitempty"`
	// Vectors says that this machine keeps the mirror of the space.
	Vectors bool `json:"vectors,omitempty"`
	// Fleet says that a request opened the space: it is dropped when nobody uses it.
	Fleet bool `json:"fleet,omitempty"`
	// Partial says that the space is being opened: what the store has of it may be less than the log had.
	Partial bool `json:"partial,omitempty"`
	// Seed is what the space held at its joining and the log does not; it is sent first.
	Seed *seed `json:"seed,omitempty"`
}

// seed is sent like an operation.
type seed struct {
	Op      int64            `json:"op"`
	At      time.Time        `json:"at"`
	Changes []journal.Change `json:"changes"`
}

// operation is the seed as an operation that waits.
func (h *seed) operation() *operation {
	return &operation{
		op:      h.Op,
		at:      h.At,
		actor:   journal.ActorShare,
		reason:  "held before it joined",
		changes: h.Changes,
	}
}

// settled is the newest local operation that no start of the daemon needs.
func (st *state) settled() int64 { return min(max(st.From, st.Sent), st.Read) }

// fileOf is the file of a space.
func fileOf(space string) string { return path.Join(dir, space+".json") }

// loadStates reads all files of state. Error: memory.ErrNewerVersion.
func loadStates(fsys durable.FS) (out []*state, err error) {
	if _, err := durable.CleanTemp(fsys, dir); err != nil {
		return nil, fmt.Errorf("clean %s: %w", dir, err)
	}
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		raw, err := durable.ReadFile(fsys, path.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read %s/%s: %w", dir, e.Name(), err)
		}
		st := &state{}
		switch err := json.Unmarshal(raw, st); {
		case err != nil || st.Space != name:
			return nil, fmt.Errorf(
				"%s/%s: %w; remove it and run `memsidecar share join` again: what this machine holds and the log "+
					"does not is sent then",
				dir,
				e.Name(),
				memory.ErrCorrupt,
			)
		case st.Version > stateVersion:
			return nil, fmt.Errorf("%s/%s: %w", dir, e.Name(), memory.ErrNewerVersion)
		}
		if st.Version == 1 {
			st.Line = st.Epoch
		}
		st.Version = stateVersion
		out = append(out, st)
	}
	return out, nil
}

// save replaces the file of a space. Durable on return.
func (sp *space) save(fsys durable.FS) error {
	if err := sp.state.save(fsys); err != nil {
		return err
	}
	sp.saved.Store(sp.state.settled())
	sp.savedRead, sp.unsaved = sp.state.Read, time.Time{}
	return nil
}

// save writes the file.
func (st *state) save(fsys durable.FS) error {
	if err := errors.Join(fsys.MkdirAll(dir), fsys.SyncDir(".")); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	err := durable.WriteFile(fsys, fileOf(st.Space), func(w io.Writer) error { return json.NewEncoder(w).Encode(st) })
	if err != nil {
		return fmt.Errorf("record the position of shared space %q: %w", st.Space, err)
	}
	return nil
}

// removeState removes the file of a space. Durable on return.
func removeState(fsys durable.FS, space string) error {
	err := fsys.Remove(fileOf(space))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("end the sharing of space %q: %w", space, err)
	}
	return nil
}
