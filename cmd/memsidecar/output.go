package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// output prints results and errors. Results go to stdout, everything else to stderr. People get aligned tables and
// short sentences; --json prints one JSON object, or one per line for streams. Colours and clipping are for terminals
// only, and NO_COLOR turns colours off. An empty result suggests a next step. An error says what happened, to what,
// and what to do.
type output struct {
	w, err  io.Writer
	json    bool
	now     func() time.Time
	width   int  // columns of the terminal, 0 if stdout is no terminal
	colours bool // on stdout
	errTerm bool // stderr is a terminal
}

// newOutput returns an output for w and err; colours depend on the terminal, NO_COLOR and TERM.
func newOutput(w, err io.Writer, env func(string) string, now func() time.Time) *output {
	o := &output{w: w, err: err, now: now, width: columns(w), errTerm: columns(err) > 0}
	o.colours = o.width > 0 && env("NO_COLOR") == "" && env("TERM") != "dumb"
	return o
}

// columns is the width of a terminal, 0 for anything else.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, err := terminalWidth(f)
	if err != nil {
		return 0
	}
	return max(width, 40)
}

// terminal reports whether r is a terminal, so that a person can answer.
func terminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	return isTerminal(f)
}

// printf prints a result for people. What a terminal would obey, or hide, is escaped wherever it comes from.
func (o *output) printf(format string, args ...any) {
	_, _ = io.WriteString(o.w, visible(fmt.Sprintf(format, args...), o.colours, o.width > 0))
}

// note prints a remark to stderr.
func (o *output) note(format string, args ...any) {
	_, _ = io.WriteString(o.err, visible("memsidecar: "+fmt.Sprintf(format, args...)+"\n", false, o.errTerm))
}

// result prints m as JSON for --json, else calls people.
func (o *output) result(m proto.Message, people func()) error {
	if !o.json {
		people()
		return nil
	}
	return o.object(messageJSON(m.ProtoReflect()))
}

// object prints one JSON object: a line, or indented on a terminal.
func (o *output) object(v any) error {
	enc := json.NewEncoder(o.w)
	enc.SetEscapeHTML(false)
	if o.width > 0 {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// line prints one JSON object of a stream.
func (o *output) line(m proto.Message) error {
	data, err := json.Marshal(messageJSON(m.ProtoReflect()))
	if err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	_, err = fmt.Fprintf(o.w, "%s\n", data)
	return err
}

// fail prints an error and returns the exit code for it.
func (o *output) fail(err error) int {
	e := asCLIError(err)
	if errors.Is(err, errSilent) {
		return e.exitCode()
	}
	if o.json {
		failure := object{{"message", e.what}, {"hint", e.hint}, {"exit_code", e.exitCode()}}
		enc := json.NewEncoder(o.err)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(object{{"error", failure}}) // to standard error: there is nothing left to tell it to
		return e.exitCode()
	}
	text := "memsidecar: " + strings.ReplaceAll(e.what, "\n", "\n  ") + "\n"
	if e.hint != "" {
		text += "  " + strings.ReplaceAll(e.hint, "\n", "\n  ") + "\n"
	}
	_, _ = io.WriteString(o.err, visible(text, false, o.errTerm))
	return e.exitCode()
}

// errSilent marks an error that was already reported.
var errSilent = errors.New("already reported")

// failed is the error of a command whose output already explains the failure.
func failed(code int) error { return &cliError{what: "failed", code: code, cause: errSilent} }

const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
)

// colour wraps s in an escape sequence if colours are on.
func (o *output) colour(code, s string) string {
	if !o.colours || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// table prints aligned rows under a heading. On a terminal the last column is clipped to the line.
func (o *output) table(heading []string, rows [][]string) {
	widths := make([]int, len(heading))
	for _, row := range append([][]string{heading}, rows...) {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], displayWidth(cell))
		}
	}
	o.shrink(widths)
	for n, row := range append([][]string{heading}, rows...) {
		var b strings.Builder
		used := 0
		for i, cell := range row[:len(row)-1] {
			cell = clip(cell, widths[i])
			b.WriteString(cell + strings.Repeat(" ", widths[i]-displayWidth(cell)+2))
			used += widths[i] + 2
		}
		last := row[len(row)-1]
		if o.width > 0 {
			last = clip(last, max(o.width-used, lastColumn))
		}
		b.WriteString(last)
		text := strings.TrimRight(b.String(), " ")
		if n == 0 {
			text = o.colour(bold, text)
		}
		o.printf("%s\n", text)
	}
}

// lastColumn is the least width of the last column, which holds a text.
const lastColumn = 20

// shrink makes columns narrower, the widest first, until the last one fits the terminal.
func (o *output) shrink(widths []int) {
	const least = 8
	for o.width > 0 {
		used, widest := 0, 0
		for i, w := range widths[:len(widths)-1] {
			if used += w + 2; w > widths[widest] {
				widest = i
			}
		}
		if used <= o.width-lastColumn || widths[widest] <= least {
			return
		}
		widths[widest]--
	}
}

// fields prints aligned names and values, without empty values.
func (o *output) fields(pairs [][2]string) {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, displayWidth(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			o.printf("%s%s  %s\n", o.colour(dim, p[0]), strings.Repeat(" ", width-displayWidth(p[0])), p[1])
		}
	}
}

// displayWidth counts the columns of a terminal: two for an East Asian wide character, none for a combining one.
func displayWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is the width of one rune in columns.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	case r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// clip shortens s to a width.
func clip(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	var b strings.Builder
	left := width - 1
	for _, r := range s {
		if left -= runeWidth(r); left < 0 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// oneLine joins the lines of a text and removes control characters, which a terminal would interpret.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }),
		" ")
}

// printable keeps line breaks and tabs of a text and replaces all other control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
}

// knownFor is the age of what a memory says, in the words that agents read.
func (o *output) knownFor(m *pb.Memory) string {
	return recall.Age(m.GetContentAt().AsTime(), o.now(), recall.English)
}

// age formats how long ago t was.
func (o *output) age(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := o.now().Sub(t)
	switch {
	case d < -time.Minute:
		return "in the future"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 48*time.Hour:
		return "yesterday"
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

// plural is "1 memory", "2 memories".
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
