package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// detectMoves makes one change of a removal in one place and an addition of the same words in another: something was
// moved.
func (r *pass) detectMoves() {
	for i := range r.changes {
		removed := &r.changes[i]
		m := r.memoryByID[removed.ID]
		if removed.Kind != Remove || m == nil {
			continue
		}
		if p, ok := r.alreadyListed[m.ID]; ok && p.file != removed.File {
			*removed = Change{Kind: Update, File: p.file, ID: m.ID, Revision: m.Revision}
			if p.category != "" && p.category != m.Category {
				removed.Category = &p.category
			}
			continue
		}
		j := slices.IndexFunc(r.changes, func(c Change) bool {
			return c.Kind == Add && canonical(c.Memory.Content) == canonical(m.Content)
		})
		if j < 0 {
			continue
		}
		added := r.changes[j]
		if name, ok := r.filesOfAdds[j]; ok {
			if former := r.newState.fileOf(m.ID); former != "" {
				delete(r.newState.Files, former)
			}
			r.newState.Files[name] = trackedFile{Hash: r.files[name].hash, ID: m.ID}
			delete(r.filesOfAdds, j)
		}
		*removed = Change{Kind: Update, File: added.File, ID: m.ID, Revision: m.Revision}
		if added.Memory.Category != m.Category {
			removed.Category = &added.Memory.Category
		}
		r.changes[j].Kind = "" // nothing is left of it
	}
}

// pendingChanges lists the changes that there are, with their numbers.
func (r *pass) pendingChanges() (changes []Change, numbers []int) {
	for i, c := range r.changes {
		empty := c.Kind == Update && c.Title == nil && c.Category == nil && c.Content == nil && c.Tags == nil &&
			c.Description == nil
		if c.Kind != "" && !empty {
			changes, numbers = append(changes, c), append(numbers, i)
		}
	}
	return changes, numbers
}

// adoptedChange describes a change for the report.
func (r *pass) adoptedChange(c Change) Adopted {
	t := Adopted{File: c.File, Kind: c.Kind, ID: c.ID, Both: c.Both}
	text := ""
	switch {
	case c.Kind == Add:
		text = c.Memory.Content
	case c.Content != nil:
		text = *c.Content
	case r.memoryByID[c.ID] != nil:
		text = r.memoryByID[c.ID].Content
	}
	t.Text = truncate(oneLine(text), maxNameChars)
	return t
}

// previewChanges fills the report of a dry run.
func (r *pass) previewChanges() {
	changes, _ := r.pendingChanges()
	for _, c := range changes {
		r.report.Adopted = append(r.report.Adopted, r.adoptedChange(c))
	}
}

// batch is how many changes go into one operation.
const batch = memory.MaxBatch

// applyChanges makes the changes and looks at the store again.
func (r *pass) applyChanges(ctx context.Context) error {
	// Copies come first: from here on a crash may leave the store ahead of the files.
	if err := r.keepCopies(); err != nil {
		return err
	}
	changes, numbers := r.pendingChanges()
	for start := 0; start < len(changes); start += batch {
		end := min(start+batch, len(changes))
		op, outcomes, err := r.cfg.Store.Apply(ctx, r.reasonOf(changes[start:end]), changes[start:end])
		if err != nil {
			return err
		}
		if len(outcomes) != end-start {
			return fmt.Errorf("the store answered %d of %d changes", len(outcomes), end-start)
		}
		if op != "" {
			r.report.Operations = append(r.report.Operations, op)
		}
		for i, o := range outcomes {
			r.recordOutcome(changes[start+i], numbers[start+i], o)
		}
	}
	r.appendLogs(ctx)
	if len(changes) == 0 && len(r.report.Operations) == 0 {
		return nil
	}
	// The files are written from what the store holds now, including what the daemon redacted or rejected.
	snap, err := r.cfg.Store.Snapshot(ctx, r.layout.logs())
	if err != nil {
		return err
	}
	r.snapshot = snap
	r.indexMemories()
	return nil
}

// keepCopies keeps the files aside of which something may get lost.
func (r *pass) keepCopies() error {
	for name := range r.copyBefore {
		copied, err := keepCopy(r.cfg.FS, name, r.files[name].data)
		if err != nil {
			return err
		}
		r.report.Kept = append(r.report.Kept, copied)
	}
	clear(r.copyBefore)
	slices.Sort(r.report.Kept)
	return nil
}

// reasonOf says in the list of operations what was done. The names of entry files are made of what memories say, so
// they are not named.
func (r *pass) reasonOf(changes []Change) string {
	count := map[Kind]int{}
	files := map[string]bool{}
	for _, c := range changes {
		count[c.Kind]++
		files[c.File] = true
	}
	var parts []string
	for _, k := range []struct {
		kind Kind
		word string
	}{{Add, "added"}, {Update, "changed"}, {Remove, "removed"}} {
		if n := count[k.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.word))
		}
	}
	where := fmt.Sprintf("%d files", len(files))
	switch name := changes[0].File; {
	case len(files) > 1:
	case r.layout.index != "" && name != r.layout.index:
		where = "an entry file"
	default:
		where = name
	}
	return where + " edited: " + strings.Join(parts, ", ")
}

// recordOutcome notes what became of a change.
func (r *pass) recordOutcome(c Change, number int, o Outcome) {
	t := r.adoptedChange(c)
	t.ID = o.ID
	name, adopted := r.filesOfAdds[number]
	switch {
	case o.Applied || c.Kind == Add && o.Reason == ReasonEqual:
		if adopted {
			k := trackedFile{Hash: r.files[name].hash, ID: o.ID}
			if owner := r.newState.fileOf(o.ID); owner != "" && owner != name {
				k.Copy = true // of another file: it is left alone
			}
			r.newState.Files[name] = k
		}
		if !o.Applied {
			return
		}
	case o.Reason == ReasonStale:
		r.skipped[c.File] = "was changed on both sides"
		r.busy = true // the next pass sees the newer state
		return
	default:
		t.Reason = o.Reason
		r.holdBack(c.File, "was not taken over: "+strings.ToLower(strings.ReplaceAll(o.Reason, "_", " ")))
	}
	r.report.Adopted = append(r.report.Adopted, t)
}

// finish is errBusy made into another pass.
func (r *pass) finish(name string, err error) error {
	if errors.Is(err, errBusy) {
		r.busy = true
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.busy = true // a directory went away
		return nil
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
