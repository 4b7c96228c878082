package importers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// latestText is a text that the export repeats in many conversations; the newest one counts.
type latestText struct {
	text     string
	at       time.Time
	place    Place
	session  string            // it was said in
	evidence []memory.Evidence // the entry that remains of that
}

// replaceIfNewer replaces the text if s is not blank and later.
func (t *latestText) replaceIfNewer(s string, at time.Time, p Place) {
	if strings.TrimSpace(s) != "" && (t.text == "" || at.After(t.at)) {
		*t = latestText{text: s, at: at, place: p}
	}
}

// finish sends what was collected.
func (g *chatGPTReader) finish() error {
	listed := map[string]bool{}
	for _, line := range memoryLines(g.memories.text) {
		listed[normalizeSaved(line.text)] = true
		at := cmp.Or(timeOf(line.date, g.loc), g.memories.at)
		if err := g.memory(draft{place: g.memories.place, kind: categoryOfSaved(line.text), content: line.text,
			created: at}); err != nil {
			return err
		}
	}
	for _, s := range g.saved {
		var err error
		switch {
		case listed[normalizeSaved(s.text)]: // sent already
		case strings.HasPrefix(strings.ToLower(s.text), "forget "):
			err = g.skip(s.place, "asks to forget something saved; look whether that was taken over")
		case len(listed) > 0 && s.at.Before(g.memories.at):
			err = g.skip(s.place, "saved a memory that was gone when the export's newest list of memories was made")
		default:
			err = g.memory(draft{place: s.place, kind: categoryOfSaved(s.text), content: s.text, created: s.at,
				session: s.session, evidence: s.evidence})
		}
		if err != nil {
			return err
		}
	}
	for _, t := range []struct {
		latestText
		kind, what string
	}{{g.profile, "user", "about you"}, {g.guidance, "preference", "how to respond"}} {
		if t.text == "" {
			continue
		}
		err := g.memory(draft{
			place: t.place, kind: t.kind, title: "ChatGPT custom instructions: " + t.what, content: t.text,
			tags: []string{"custom-instructions"}, created: t.at,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// memoryLine is one saved memory with its date, as the model was shown it.
type memoryLine struct{ text, date string }

// memoryLines reads "1. [2024-05-01]. Lives in Lisbon." a line. What follows without a number belongs to the memory
// before.
func memoryLines(s string) []memoryLine {
	var lines []memoryLine
	var said []string // the lines of the last one
	end := func() {
		if len(lines) > 0 {
			lines[len(lines)-1].text = strings.Join(said, "\n")
		}
	}
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		number, rest, ok := strings.Cut(line, ".")
		if rest = strings.TrimSpace(rest); !ok || number == "" || rest == "" ||
			strings.Trim(number, "0123456789") != "" {
			if line != "" {
				said = append(said, line)
			}
			continue
		}
		end()
		date := ""
		if inside, behind, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(inside, "[") {
			date, rest = inside[1:], strings.TrimSpace(strings.TrimPrefix(behind, "."))
		}
		lines, said = append(lines, memoryLine{date: date}), []string{rest}
	}
	end()
	return lines
}

// normalizeSaved is a text without what differs between a call and the list.
func normalizeSaved(s string) string {
	return strings.ToLower(strings.TrimRight(strings.Join(strings.Fields(s), " "), ".。"))
}

// preferenceWords are words by which a saved memory states a preference.
var preferenceWords = []string{"prefer", " likes ", " dislikes ", " loves ", " hates ", "would like", "wants ", "偏好", "喜欢", "不喜欢",
	"希望", "更愿意"}

// categoryOfSaved tells a preference from a fact.
func categoryOfSaved(s string) string {
	s = strings.ToLower(s)
	if slices.ContainsFunc(preferenceWords, func(w string) bool { return strings.Contains(s, w) }) {
		return "preference"
	}
	return "fact"
}
