package recall

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/agentstate"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/search"
)

const maxStateTools = 20 // tools of a state, most used first

// workingFor returns the working memory of the request's session, or nil.
func (s *Service) workingFor(req *Request) *memory.Working {
	if s.workingMemory == nil || req.Session == "" {
		return nil
	}
	for _, space := range req.Spaces {
		// A session that cannot be read must not prevent the recall.
		if w, err := s.workingMemory(space, req.Session); err == nil {
			return w
		}
	}
	return nil
}

// addWorking adds the session's tools in use and read files to those of the request.
func (r *Request) addWorking(w *memory.Working) {
	r.WorkingTools = union(r.WorkingTools, w.Recent)
	r.FilesRead = union(r.FilesRead, w.Files)
}

// union returns first and the elements of more that it lacks, in order.
func union(first, more []string) []string {
	if len(more) == 0 {
		return first
	}
	out := slices.Clone(first)
	for _, s := range more {
		if !slices.Contains(first, s) {
			out = append(out, s)
		}
	}
	return out
}

// compactionState returns the fenced state of the session, if it has used tools or its agent wrote a summary for
// itself, its context was compacted, and it has not seen the state since; else "". It uses at most half of the budget.
func (s *Service) compactionState(req *Request, seen *sessionSeen, w *memory.Working) string {
	if w == nil || req.Explicit || w.Summary == "" && len(w.Tools) == 0 || w.Compactions == seen.stateShownAt {
		return ""
	}
	return s.fenceState(w, req.Tokens/2)
}

// Working returns the fenced state of a session for the start of its next context, or "" when the session has not been
// at work: it has no tool call, no summary and no compaction. It counts as seen.
//
// Error: memory.ErrNotFound.
func (s *Service) Working(space, session string) (string, error) {
	if s.workingMemory == nil {
		return "", nil
	}
	w, err := s.workingMemory(space, session)
	if err != nil || len(w.Tools) == 0 && w.Summary == "" && w.Compactions == 0 {
		return "", err
	}
	block := s.fenceState(w, promptTokens)
	if block == "" {
		return "", nil
	}
	seen := s.seenSessions.forSession(session)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.observeCompactions(w.Compactions)
	seen.stateShownAt = w.Compactions
	return block, nil
}

// WorkingBlock returns the fenced state of w, "" when nothing is known. Unlike Working it does not count as seen.
func (s *Service) WorkingBlock(w *memory.Working) string { return s.fenceState(w, promptTokens) }

// fenceState returns the state of a session as a fenced block: directory, uses of tools, date and time, and as many
// whole sentences of its agent's own summary as fit into tokens. It returns "" when nothing is known or fits.
func (s *Service) fenceState(state *memory.Working, tokens int) string {
	if state.Dir == "" && len(state.Tools) == 0 && state.Summary == "" {
		return ""
	}
	lang := languageOf(state.Summary)
	w, nonce := phrasesByLanguage[lang], s.nonce()
	open, end := redact.Fence(nonce)
	// Tokens are counted over the whole block each time: a token may span two lines, so costs do not add up.
	head, tail := open+"\n"+agentstate.Intro(lang == Chinese)+"\n", end+"\n"
	lines := stateLines(state, w, agentstate.DateTime(s.now().In(s.zone), lang == Chinese))
	body := ""
	for i, line := range lines {
		line = "  " + removeNonce(line, nonce) + "\n"
		rest := ""
		if i < len(lines)-1 {
			rest = "  …\n"
		}
		if Tokens(head+body+line+rest+tail) > tokens {
			if body != "" {
				body += "  …\n"
			}
			break
		}
		body += line
	}
	if body == "" {
		return ""
	}
	return head + body + tail
}

// stateLines are the lines of a state, most important first.
func stateLines(state *memory.Working, w phrases, now string) (lines []string) {
	if state.Dir != "" {
		lines = append(lines, w.state.dir+onOneLine(state.Dir))
	}
	var tools []string
	for _, t := range state.Tools[:min(len(state.Tools), maxStateTools)] {
		one := fmt.Sprintf("%s %d", onOneLine(t.Name), t.Count)
		if t.Failures > 0 {
			one += " (" + fmt.Sprintf(w.state.failed, t.Failures) + ")"
		}
		tools = append(tools, one)
	}
	if len(tools) > 0 {
		lines = append(lines, w.state.tools+strings.Join(tools, ", "))
	}
	lines = append(lines, w.state.now+now)
	if state.Summary != "" {
		lines = append(lines, w.state.summary)
	}
	for line := range strings.SplitSeq(sanitize(state.Summary), "\n") {
		lines = append(lines, splitSentences(line)...)
	}
	return lines
}

// fileBoost multiplies the score of a memory that names a file in use: enough to decide between near equals.
const fileBoost = 1.1

// outsideName reports whether r cannot be part of a file name. Chinese characters cannot: they adjoin names without a
// space.
func outsideName(r rune) bool {
	return r < unicode.MaxASCII && !isNameByte(byte(r)) && r != '.' && r != '-' ||
		r >= unicode.MaxASCII && (!unicode.IsLetter(r) || unicode.Is(unicode.Han, r))
}

// aboutFiles reorders hits so that memories that name one of the files come before near equals.
func aboutFiles(hits []search.Hit, files []string) []search.Hit {
	names := map[string]bool{}
	for _, f := range files {
		if name := strings.ToLower(path.Base(path.Clean(f))); len(name) > 3 && strings.Contains(name, ".") {
			names[name] = true
		}
	}
	if len(names) == 0 || len(hits) < 2 {
		return hits
	}
	weight := func(h search.Hit) float64 {
		// Look up words instead of searching for each file: there may be hundreds, and the caller waits.
		for word := range strings.FieldsFuncSeq(strings.ToLower(displayText(h.Memory)), outsideName) {
			if names[strings.TrimRight(word, ".")] {
				return h.Score * fileBoost
			}
		}
		return h.Score
	}
	weights := make(map[string]float64, len(hits))
	for _, h := range hits {
		weights[h.Space+"/"+h.Memory.ID] = weight(h)
	}
	out := slices.Clone(hits)
	slices.SortStableFunc(out, func(a, b search.Hit) int {
		return cmp.Compare(weights[b.Space+"/"+b.Memory.ID], weights[a.Space+"/"+a.Memory.ID])
	})
	return out
}
