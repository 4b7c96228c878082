package jsonstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/durable"
)

// ReportName is the file that says, for people, what an adoption took over and what not. It holds no memory text. It may be deleted.
const ReportName = "migration-report.txt"

// toLookAt begins the line of the report that ReadReport looks for.
const toLookAt = "Places to look at: "

// Places is how many places there are that somebody should look at.
func (r *Report) Places() int { return len(r.Notes) + len(r.LeftAlone) }

func (a *adoption) writeReport(spaces []FoundSpace) error {
	var b strings.Builder
	r := &a.report
	fmt.Fprintf(&b, "memsidecar took over the files that it found in this directory.\n\nMemories: %d. Daily logs: %d, with %d entries.\n%s%d\n",
		r.Memories, r.Days, r.Entries, toLookAt, r.Places())
	b.WriteString("\nFiles:\n")
	to := map[string]string{}
	for _, m := range r.Migrated {
		to[m.From] = m.To
	}
	for i := range spaces {
		spaces[i].describe(&b, to)
	}
	if len(r.Notes) > 0 {
		b.WriteString("\nNot taken over, or not as it stood:\n")
	}
	for _, n := range r.Notes {
		if n.Line > 0 {
			fmt.Fprintf(&b, "  %s:%d: %s\n", n.File, n.Line, n.Detail)
		} else {
			fmt.Fprintf(&b, "  %s: %s\n", n.File, n.Detail)
		}
	}
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "  a copy of the file as it was: %s\n", k)
	}
	if len(r.LeftAlone) > 0 {
		b.WriteString("\nLeft alone, and not read:\n")
	}
	for _, name := range r.LeftAlone {
		fmt.Fprintf(&b, "  %s\n", name)
	}
	b.WriteString("\nLine numbers are those of the files named *.migrated, which are whole and as they were. memsidecar does not read them again, and\n" +
		"never deletes them. Delete this report when you have read it.\n")
	return durable.WriteFile(a.fsys, ReportName, func(w io.Writer) error {
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// describe lists the files of a space. to holds the new names of those of the oldest layout.
func (s *FoundSpace) describe(b *strings.Builder, to map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		fmt.Fprintf(b, "  %s\n", name)
	}
	for _, f := range s.old {
		what := "memories"
		if f.date != "" {
			what = "entries of " + f.date
		}
		fmt.Fprintf(b, "  %s: %s: %d", f.name, what, f.taken)
		if f.known > 0 {
			fmt.Fprintf(b, ", in other files too: %d", f.known)
		}
		if f.memories.Done > 0 {
			fmt.Fprintf(b, ", finished tasks (see `memsidecar list --status retired`): %d", f.memories.Done)
		}
		if f.memories.Summary != "" {
			b.WriteString(", a rolling summary")
		}
		fmt.Fprintf(b, "; now %s\n", to[f.name])
	}
}

// ReadReport returns how many places the report of an adoption names, and false when there is no report.
func ReadReport(fsys durable.FS) (places int, ok bool, err error) {
	data, err := durable.ReadFile(fsys, ReportName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the report of the adoption: %w", err)
	}
	_, rest, _ := strings.Cut(string(data), toLookAt)
	_, _ = fmt.Sscan(rest, &places) // a report that somebody edited names none
	return places, true, nil
}
