package recall

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Limits of a context.
const (
	DefaultContextTokens = 4000
	MaxIndexLines        = 200
	MaxIndexBytes        = 25_000

	contextChars = 500 // of one memory or log entry
	indexChars   = 120 // of a description in the index
	logDays      = 2
)

// ContextRequest asks for what an agent should know from the beginning of a session.
type ContextRequest struct {
	Spaces       []string // none is the default space
	Tokens       int      // MinTokens to MaxTokens; 0 is the configured number
	Index        bool     // memories as a line each, instead of with their text under headings
	Language     string   // English or Chinese; "" is that of FirstMessage, else that of the memories
	FirstMessage string   // for the language only
	Root         string   // of the project, for the files below; "" is none
	Dir          string   // where in the project the agent works; "" is its root
	Instructions bool     // add AGENTS.md and CLAUDE.md, of the root and of each directory from there to Dir
	Bootstrap    bool     // add SOUL.md, USER.md, TOOLS.md and IDENTITY.md
}

func (r *ContextRequest) validate(tokens int) error {
	var c memory.Check
	if len(r.Spaces) == 0 {
		r.Spaces = []string{memory.DefaultSpace}
	}
	for _, s := range r.Spaces {
		c.Slug("spaces", s)
	}
	if r.Tokens == 0 {
		r.Tokens = tokens
	}
	if r.Tokens < MinTokens || r.Tokens > MaxTokens {
		c.Add("context.max_tokens", "OUT_OF_RANGE", "must be %d to %d", MinTokens, MaxTokens)
	}
	if r.Language != "" && r.Language != English && r.Language != Chinese {
		c.Add("context.language", "UNKNOWN_LANGUAGE", "must be %s or %s", English, Chinese)
	}
	return c.Err()
}

// Context returns what an agent should know from the beginning: the rolling summary, memories, the newest log entries and, when asked
// for, the project's own files, trimmed line by line to the budget. It is "" when there is nothing to say. For the same state, the same
// files and the same day it is the same byte for byte.
//
// Errors: *memory.InvalidError, and those of reading the logs.
func (s *Service) Context(ctx context.Context, req ContextRequest) (string, error) {
	if err := req.validate(s.contextTokens); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	now := s.now().In(s.zone)
	memories, err := s.remembered(&req, now)
	if err != nil {
		return "", err
	}
	w := vocabulary[req.Language]
	sections := []*section{
		{title: w.summary, share: 20, prefix: true, entries: s.summaries(&req)},
		{title: w.memory, share: 45, entries: memories},
	}
	logs, err := s.logs(&req, now)
	if err != nil {
		return "", fmt.Errorf("context: %w", err)
	}
	sections = append(sections,
		&section{title: w.instructions, share: 45, prefix: true, entries: projectFiles(req.Root, toward(req.Root, req.Dir, instructionFiles), req.Instructions)},
		&section{title: w.logs, share: 20, entries: logs},
		&section{title: w.bootstrap, share: 30, prefix: true, entries: projectFiles(req.Root, bootstrapFiles, req.Bootstrap)})
	body := assemble(sections, w, req.Tokens)
	if body == "" {
		return "", nil
	}
	// The nonce follows from the text, so that the same text is the same block; and from what only this store knows, so that nobody can
	// write a text that holds its own nonce.
	sum := sha256.Sum256([]byte(s.store.Origin() + "\x00" + body))
	open, end := redact.Fence(hex.EncodeToString(sum[:8]))
	return open + "\n" + body + end + "\n", nil
}

// remembered lists the memories, the most important first, and decides the language when nobody has.
func (s *Service) remembered(req *ContextRequest, now time.Time) ([]entry, error) {
	all := s.byImportance(req.Spaces, now)
	if req.Language == "" {
		req.Language = s.languageFor(req, all)
	}
	if req.Index {
		return index(all, now, req.Language), nil
	}
	out := make([]entry, 0, len(all))
	for _, c := range all {
		text, _ := clip(strings.Join(strings.Fields(clean(said(c.memory))), " "), contextChars)
		rank, heading := headingOf(c.memory.Category, req.Language)
		out = append(out, entry{rank, heading, "- " + text + " (" + Age(changedAt(c.memory), now, req.Language) + ")"})
	}
	return out, nil
}

// byImportance lists all active memories of spaces, the most important first.
func (s *Service) byImportance(spaces []string, now time.Time) []choice {
	var all []choice
	for _, space := range spaces {
		for _, m := range s.store.Space(space).Memories() {
			if m.IsActive() && !m.Expired(now) {
				all = append(all, choice{space: space, memory: m})
			}
		}
	}
	slices.SortFunc(all, func(a, b choice) int {
		return cmp.Or(
			cmp.Compare(pinned(b.memory), pinned(a.memory)), cmp.Compare(b.memory.Salience, a.memory.Salience),
			changedAt(b.memory).Compare(changedAt(a.memory)), cmp.Compare(a.memory.ID, b.memory.ID), cmp.Compare(a.space, b.space))
	})
	return all
}

func pinned(m *memory.Memory) int {
	if m.Pinned {
		return 1
	}
	return 0
}

func (s *Service) languageFor(req *ContextRequest, all []choice) string {
	if strings.TrimSpace(req.FirstMessage) != "" {
		return languageOf(queryOf(req.FirstMessage))
	}
	var b strings.Builder
	for _, space := range req.Spaces {
		b.WriteString(s.store.Space(space).Summary())
	}
	for _, c := range all[:min(50, len(all))] {
		b.WriteString(c.memory.Content)
	}
	return languageOf(b.String())
}

// index writes a line for each memory, as many as an index may have.
func index(all []choice, now time.Time, language string) (out []entry) {
	size := 0
	for _, c := range all {
		if len(out) == MaxIndexLines {
			break
		}
		text := strings.Join(strings.Fields(clean(c.memory.Content)), " ")
		text, _ = clip(text, indexChars)
		name := strings.Join(strings.Fields(clean(c.memory.Title)), " ")
		if name == "" {
			name = c.memory.ID
		}
		line := fmt.Sprintf("- [%s/%s] %s (%s): %s", c.memory.Category, c.space, clean(name), Age(changedAt(c.memory), now, language), text)
		if size += len(line) + 1; size > MaxIndexBytes {
			break
		}
		out = append(out, entry{line: line})
	}
	return out
}

// summaries are the rolling summaries, a sentence a line where a line is long.
func (s *Service) summaries(req *ContextRequest) (out []entry) {
	for _, space := range req.Spaces {
		for line := range strings.SplitSeq(clean(s.store.Space(space).Summary()), "\n") {
			for _, part := range sentences(line) {
				out = append(out, entry{line: "  " + part})
			}
		}
	}
	return out
}

// sentences cuts a long line behind the ends of its sentences.
func sentences(line string) (out []string) {
	const long = 300 // bytes
	start := 0
	for i, r := range line {
		end := i + len(string(r))
		stop := strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?", r) && strings.HasPrefix(line[end:], " ")
		if stop && len(line) > long {
			out = append(out, strings.TrimSpace(line[start:end]))
			start = end
		}
	}
	if rest := strings.TrimSpace(line[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

// logs lists the entries of today and yesterday, newest first.
func (s *Service) logs(req *ContextRequest, now time.Time) (out []entry, err error) {
	for back := range logDays {
		date := now.AddDate(0, 0, -back).Format(memory.DateLayout)
		for _, space := range req.Spaces {
			day, entries, err := s.store.Space(space).Log(date)
			if errors.Is(err, memory.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, err
			}
			if day.Archived && day.Summary != "" {
				entries = []*memory.Entry{{Type: "summary", Content: day.Summary}}
			}
			for _, e := range slices.Backward(entries) {
				text, _ := clip(strings.Join(strings.Fields(clean(e.Content)), " "), contextChars)
				out = append(out, entry{back, "## " + date, strings.Join(strings.Fields("- "+e.Time+" ["+e.Type+"] "+text), " ")})
			}
		}
	}
	return out, nil
}
