package jsonstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// ReportName is the file that lists, for people, what an adoption stored and what not. It holds no memory text. It
// may be deleted.
const ReportName = "migration-report.txt"

// placesLine begins the line of the report that ReadReport reads.
const placesLine = "Places to look at: "

// Places is the number of places that a person should check.
func (r *Report) Places() int { return len(r.Notes) + len(r.Ignored) }

// writeReport writes the report. Durable on return.
func (a *adoption) writeReport(spaces []SpaceFiles) error {
	var b strings.Builder
	r := &a.report
	fmt.Fprintf(
		&b,
		"memsidecar adopted the files in this directory.\n\nMemories: %d. Daily logs: %d, with %d entries.\n%s%d\n",
		r.Memories,
		r.Days,
		r.Entries,
		placesLine,
		r.Places(),
	)
	b.WriteString("\nFiles:\n")
	to := map[string]string{}
	for _, m := range r.Migrated {
		to[m.From] = m.To
	}
	for i := range spaces {
		spaces[i].describe(&b, to)
	}
	if len(r.Notes) > 0 {
		b.WriteString("\nNot adopted, or changed:\n")
	}
	for _, n := range r.Notes {
		if n.Line > 0 {
			fmt.Fprintf(&b, "  %s:%d: %s\n", n.File, n.Line, n.Detail)
		} else {
			fmt.Fprintf(&b, "  %s: %s\n", n.File, n.Detail)
		}
	}
	for _, k := range r.Quarantined {
		fmt.Fprintf(&b, "  a copy of the file as it was: %s\n", k)
	}
	if len(r.Ignored) > 0 {
		b.WriteString("\nLeft alone, and not read:\n")
	}
	for _, name := range r.Ignored {
		fmt.Fprintf(&b, "  %s\n", name)
	}
	b.WriteString(
		"\nLine numbers are those of the files named *.migrated, which are whole and as they were. memsidecar does not read them again, and\n" +
			"never deletes them. Delete this report when you have read it.\n",
	)
	return durable.WriteFile(a.fsys, ReportName, func(w io.Writer) error {
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// describe lists the files of a space. to maps the files of the first layout to their new names.
func (s *SpaceFiles) describe(b *strings.Builder, to map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		fmt.Fprintf(b, "  %s\n", name)
	}
	for _, f := range s.markdown {
		what := "memories"
		if f.date != "" {
			what = "entries of " + f.date
		}
		fmt.Fprintf(b, "  %s: %s: %d", f.name, what, f.adopted)
		if f.duplicates > 0 {
			fmt.Fprintf(b, ", in other files too: %d", f.duplicates)
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

// ReadReport returns how many places the report of an adoption lists, and false when there is no report.
func ReadReport(fsys durable.FS) (places int, ok bool, err error) {
	data, err := durable.ReadFile(fsys, ReportName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the report of the adoption: %w", err)
	}
	_, rest, _ := strings.Cut(string(data), placesLine)
	_, _ = fmt.Sscan(rest, &places) // a report that somebody edited names none
	return places, true, nil
}
