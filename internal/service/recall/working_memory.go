package recall

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/search"
)

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

// compactionSummary returns the fenced summary that the session's agent wrote for itself, if its context was compacted
// and it has not seen the summary since; else "". It uses at most half of the budget.
func (s *Service) compactionSummary(req *Request, seen *sessionSeen, w *memory.Working) string {
	if w == nil || req.Explicit || w.Summary == "" || w.Compactions == seen.summaryShownAt {
		return ""
	}
	return s.fenceSummary(w.Summary, req.Tokens/2)
}

// Working returns the fenced summary that the session's agent wrote for itself, for the start of its next context, or
// "" without one. It counts as seen.
//
// Error: memory.ErrNotFound.
func (s *Service) Working(space, session string) (string, error) {
	if s.workingMemory == nil {
		return "", nil
	}
	w, err := s.workingMemory(space, session)
	if err != nil {
		return "", err
	}
	block := s.fenceSummary(w.Summary, promptTokens)
	if block == "" {
		return "", nil
	}
	seen := s.seenSessions.forSession(session)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.observeCompactions(w.Compactions)
	seen.summaryShownAt = w.Compactions
	return block, nil
}

// WorkingBlock returns the fenced summary of w. Unlike Working it does not count as seen.
func (s *Service) WorkingBlock(w *memory.Working) string {
	return s.fenceSummary(w.Summary, promptTokens)
}

// fenceSummary returns a fenced block with as many whole sentences of summary as fit into tokens, or "".
func (s *Service) fenceSummary(summary string, tokens int) string {
	w := phrasesByLanguage[languageOf(summary)]
	nonce := s.nonce()
	open, end := redact.Fence(nonce)
	guide := w.working
	if tokens < smallBudget {
		guide = w.short
	}
	// Tokens are counted over the whole block each time: a token may span two lines, so costs do not add up.
	head, tail := open+"\n"+guide+"\n", end+"\n"
	var entries []string
	for line := range strings.SplitSeq(sanitize(summary), "\n") {
		for _, part := range splitSentences(line) {
			entries = append(entries, "  "+removeNonce(part, nonce)+"\n")
		}
	}
	body := ""
	for i, line := range entries {
		rest := ""
		if i < len(entries)-1 {
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
