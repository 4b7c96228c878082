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
	"github.com/memsidecar/memsidecar/internal/reflector"
)

// Limits of a context.
const (
	DefaultContextTokens = 4000   // budget, in estimated tokens
	DefaultLogDays       = 2      // days of log entries: today and yesterday
	MaxLogDays           = 31     // older logs are archived, and only their summary is left
	MaxIndexLines        = 200    // lines of an index
	MaxIndexBytes        = 25_000 // bytes of an index

	contextChars = 500 // characters per memory or log entry
	indexChars   = 120 // characters per description in the index
)

// ContextRequest describes the context for the beginning of a session.
type ContextRequest struct {
	Spaces       []string // empty is the default space
	Tokens       int      // budget, MinTokens to MaxTokens; 0 is Config.ContextTokens
	Index        bool     // one line per memory instead of texts under headings
	Language     string   // English or Chinese; "" detects it from FirstMessage, else from the memories
	FirstMessage string   // used to detect the language only
	Root         string   // root of the project; "" reads no project files
	Dir          string   // the agent's directory in the project; "" is Root
	Instructions bool     // add the first of AGENTS.md and CLAUDE.md, of Root and of each directory down to Dir
	Bootstrap    bool     // add SOUL.md, USER.md, TOOLS.md and IDENTITY.md
	Tools        string   // the set of memory tools that the agent has, a key of toolNames; "" for none
}

// validate fills in defaults and reports all violations at once.
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
		c.Add("context.language", "UNKNOWN_VALUE", "must be %s or %s", English, Chinese)
	}
	if _, ok := toolNames[r.Tools]; !ok && r.Tools != "" {
		c.Add("context.tools", "UNKNOWN_VALUE", "must be one of %s", toolSets())
	}
	return c.Err()
}

// Context returns the text for the beginning of a session: date and time, rolling summary, memories, recent log entries
// and, on request, how to use the memory tools and files of the project, cut by whole lines to the budget. It returns
// "" if there is nothing to show. The same state, files and minute give the same bytes; package session keeps the text,
// so that a prompt cache stays valid.
//
// Errors: *memory.InvalidError, and errors of reading the logs.
func (s *Service) Context(ctx context.Context, req ContextRequest) (string, error) {
	if err := req.validate(s.contextTokens); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	now := s.now().In(s.zone)
	memories, more, err := s.memoryEntries(ctx, &req, now)
	if err != nil {
		return "", err
	}
	w := phrasesByLanguage[req.Language]
	sections := []*section{
		{title: w.summary, share: 20, prefix: true, entries: s.summaryEntries(&req)},
		{title: w.memory, share: 45, entries: memories, more: more},
	}
	logs, moreLogs, err := s.logEntries(ctx, &req, now)
	if err != nil {
		return "", fmt.Errorf("context: %w", err)
	}
	sections = append(sections,
		&section{title: w.instructions, share: 45, prefix: true,
			entries: projectFiles(req.Root, pathsToward(req.Root, req.Dir, instructionFiles), req.Instructions)},
		&section{title: w.logs, share: 20, entries: logs, more: moreLogs},
		&section{title: w.bootstrap, share: 30, prefix: true,
			entries: projectFiles(req.Root, eachAlone(bootstrapFiles), req.Bootstrap)})
	body := assemble(sections, contextHead(&req, now, false), w, req.Tokens)
	if body == "" && req.Tools != "" {
		body = contextHead(&req, now, true) // an agent that knows nothing yet can still save
	}
	if body == "" || fenceTokens+Tokens(body) > req.Tokens {
		return "", nil
	}
	// The nonce is derived from the text, so that equal texts give equal blocks, and from the secret origin of the
	// store, so that no text can contain its own nonce.
	sum := sha256.Sum256([]byte(s.store.Origin() + "\x00" + body))
	open, end := redact.Fence(hex.EncodeToString(sum[:8]))
	return open + "\n" + body + end + "\n", nil
}

// memoryEntries returns the memories, most important first, and how many there are beyond those. It sets req.Language
// if that is empty. The error is that of ctx.
func (s *Service) memoryEntries(ctx context.Context, req *ContextRequest, now time.Time) (out []entry, more int,
	err error) {
	top, active := s.mostImportant(req.Spaces, now)
	if req.Language == "" {
		req.Language = s.languageFor(req, top)
	}
	if req.Index {
		return s.indexEntries(top, now, req.Language), 0, ctx.Err()
	}
	tokens := 0
	for _, c := range top {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if tokens > req.Tokens {
			break // the budget cannot hold more, so further memories are only counted
		}
		text, _ := truncate(s.contextText(c.memory), contextChars)
		rank, heading := headingOf(c.memory.Category, req.Language)
		age := Age(c.memory.KnownAt(), now, req.Language)
		line := "- " + text + " (" + age + ")" + toolMark(c.memory, req.Language)
		out = append(out, entry{rank, heading, line})
		tokens += Tokens(line)
	}
	return out, max(0, active-len(out)), nil
}

// contextText is a memory as a context writes it, on one line.
func (s *Service) contextText(m *memory.Memory) string {
	return singleLine(s.cleanTexts.sanitize(displayText(m)))
}

// toolMark is what follows a memory that holds what a tool said, "" for others.
func toolMark(m *memory.Memory, language string) string {
	if !isFromTool(m) {
		return ""
	}
	return phrasesByLanguage[language].fromTool
}

// ContextShown records that a session was given this context, so that recalls do not repeat what it says in full. It
// works for a frozen context of any age, also after a restart of the daemon: what the session has seen is read from the
// text. Memories that the context cuts short may still be recalled.
func (s *Service) ContextShown(session string, spaces []string, text string) {
	if session == "" || text == "" {
		return
	}
	req := Request{Session: session, Spaces: spaces}
	if len(req.Spaces) == 0 {
		req.Spaces = []string{memory.DefaultSpace}
	}
	top, _ := s.mostImportant(req.Spaces, s.now())
	working := s.workingFor(&req)
	seen := s.seenSessions.forSession(session)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if working != nil {
		seen.observeCompactions(working.Compactions) // before, or the next recall would forget what follows
	}
	languageIn := English
	if strings.Contains(text, phrasesByLanguage[Chinese].guide) {
		languageIn = Chinese
	}
	beforeAge, behindAge := aroundAges(text)
	for _, c := range top {
		if beforeAge[s.contextText(c.memory)] || len(behindAge) > 0 &&
			behindAge[singleLine(s.cleanTexts.sanitize(c.memory.Content))+toolMark(c.memory, languageIn)] {
			seen.markShown(c.space, c.memory)
		}
	}
}

// aroundAges returns what stands before the ages of a context's lines and, in an index, behind them. The ages
// themselves may have grown since the context was frozen. A text may have brackets of its own, so each may be the age.
func aroundAges(context string) (before, behind map[string]bool) {
	before, behind = map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(context, "\n") {
		line, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		for i := range len(line) {
			if strings.HasPrefix(line[i:], " (") {
				before[line[:i]] = true
			}
			if rest, ok := strings.CutPrefix(line[i:], "): "); ok {
				behind[rest] = true
			}
		}
	}
	return before, behind
}

// mostImportant returns the most important active memories of spaces, at most maxImportant of each: pinned ones first,
// then by salience and last change. The order does not depend on accesses, which would change the context with every
// use. active is the number of all active memories.
func (s *Service) mostImportant(spaces []string, now time.Time) (all []candidate, active int) {
	for _, space := range spaces {
		view := s.store.Space(space)
		ids, n := s.index.importance.top(s.store, space)
		active += n
		for _, id := range ids {
			m, err := view.Get(id)
			switch {
			case err != nil || !m.IsActive():
			case m.Expired(now):
				active--
			default:
				all = append(all, candidate{space: space, memory: m})
			}
		}
	}
	if len(spaces) > 1 {
		slices.SortFunc(all, func(a, b candidate) int {
			return cmp.Or(compareImportance(importanceOf(a.memory), importanceOf(b.memory)),
				cmp.Compare(a.space, b.space))
		})
	}
	return all, active
}

// pinned is 1 for a pinned memory, else 0.
func pinned(m *memory.Memory) int {
	if m.Pinned {
		return 1
	}
	return 0
}

// languageFor detects the language of the first message, else that of most of the summaries' lines and the most
// important memories. They vote, because a Chinese text has more meaning in a character: few of them would outweigh
// many English ones. A tie is English.
func (s *Service) languageFor(req *ContextRequest, all []candidate) string {
	if strings.TrimSpace(req.FirstMessage) != "" {
		return languageOf(searchText(req.FirstMessage))
	}
	var texts []string
	for _, space := range req.Spaces {
		texts = append(texts, strings.FieldsFunc(s.store.Space(space).Summary(), func(r rune) bool { return r == '\n' })...)
	}
	for _, c := range all[:min(50, len(all))] {
		texts = append(texts, c.memory.Content)
	}
	chinese := 0
	for _, text := range texts {
		if languageOf(text) == Chinese {
			chinese++
		}
	}
	if 2*chinese > len(texts) {
		return Chinese
	}
	return English
}

// indexEntries returns one line per memory, within MaxIndexLines and MaxIndexBytes.
func (s *Service) indexEntries(all []candidate, now time.Time, language string) (out []entry) {
	size := 0
	for _, c := range all {
		if len(out) == MaxIndexLines {
			break
		}
		text := singleLine(s.cleanTexts.sanitize(c.memory.Content))
		text, _ = truncate(text, indexChars)
		name := singleLine(s.cleanTexts.sanitize(c.memory.Title))
		if name == "" {
			name = c.memory.ID
		}
		line := fmt.Sprintf("- [%s/%s] %s (%s): %s", c.memory.Category, c.space, sanitize(name),
			Age(c.memory.KnownAt(), now, language), text) + toolMark(c.memory, language)
		if size += len(line) + 1; size > MaxIndexBytes {
			break
		}
		out = append(out, entry{line: line})
	}
	return out
}

// summaryEntries returns the rolling summaries by line, and long lines by sentence.
func (s *Service) summaryEntries(req *ContextRequest) (out []entry) {
	for _, space := range req.Spaces {
		for line := range strings.SplitSeq(sanitize(s.store.Space(space).Summary()), "\n") {
			for _, part := range splitSentences(line) {
				out = append(out, entry{line: "  " + part})
			}
		}
	}
	return out
}

// splitSentences splits a line of more than 300 bytes after each sentence; a shorter line stays whole.
func splitSentences(line string) (out []string) {
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

// logEntries returns the log entries of the latest days, newest first, and how many there are beyond what the
// budget can hold; of an archived log its summary.
func (s *Service) logEntries(ctx context.Context, req *ContextRequest, now time.Time) (out []entry, more int,
	err error) {
	tokens := 0
	for back := range s.logDays {
		date := now.AddDate(0, 0, -back).Format(memory.DateLayout)
		for _, space := range req.Spaces {
			day, entries, err := s.store.Space(space).Log(date)
			if errors.Is(err, memory.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, 0, err
			}
			if day.Archived && day.Summary != "" {
				entries = []*memory.Entry{{Type: "summary", Content: day.Summary}}
			}
			for _, e := range slices.Backward(entries) {
				if e.Type == memory.EntrySessionSummary && reflector.IsBareSummary(e.Content) {
					continue
				}
				if err := ctx.Err(); err != nil {
					return nil, 0, err
				}
				if tokens > req.Tokens {
					more++ // an agent can log thousands of entries a day: those are only counted
					continue
				}
				text, _ := truncate(strings.Join(strings.Fields(sanitize(e.Content)), " "), contextChars)
				line := strings.Join(strings.Fields("- "+e.Time+" ["+e.Type+"] "+text), " ")
				out = append(out, entry{back, "## " + date, line})
				tokens += Tokens(line)
			}
		}
	}
	return out, more, nil
}
