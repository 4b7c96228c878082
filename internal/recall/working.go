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

// working is the working memory of the session of a request, nil when there is none.
func (s *Service) working(req *Request) *memory.Working {
	if s.workingOf == nil || req.Session == "" {
		return nil
	}
	for _, space := range req.Spaces {
		// A session that cannot be read must not keep its agent from being told of the rest.
		if w, err := s.workingOf(space, req.Session); err == nil {
			return w
		}
	}
	return nil
}

// join adds the tools in use and the files read of a session to those that the request names.
func (r *Request) join(w *memory.Working) {
	r.WorkingTools = joined(r.WorkingTools, w.Recent)
	r.FilesRead = joined(r.FilesRead, w.Files)
}

func joined(first, more []string) []string {
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

// again is what the agent of a session wrote down for itself, when its context was compacted and it was not told since. At most half of the
// budget is used, and not at all when a sentence of it does not fit.
func (s *Service) again(req *Request, seen *seen, w *memory.Working) string {
	if w == nil || req.Explicit || w.Summary == "" || w.Compactions == seen.reminded {
		return ""
	}
	return s.note(w.Summary, req.Tokens/2)
}

// Working writes what the agent of a session wrote down for itself, fenced, for the start of its next context; "" when it wrote nothing.
// It counts as told.
//
// Error: memory.ErrNotFound.
func (s *Service) Working(space, session string) (string, error) {
	if s.workingOf == nil {
		return "", nil
	}
	w, err := s.workingOf(space, session)
	if err != nil {
		return "", err
	}
	block := s.note(w.Summary, promptTokens)
	if block == "" {
		return "", nil
	}
	seen := s.shown.of(session)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	seen.compacted(w.Compactions)
	seen.reminded = w.Compactions
	return block, nil
}

// WorkingBlock is what Working writes, of w, and does not count as told.
func (s *Service) WorkingBlock(w *memory.Working) string { return s.note(w.Summary, promptTokens) }

// note fences a summary, as many whole sentences of it as fit into the tokens.
func (s *Service) note(summary string, tokens int) string {
	w := vocabulary[languageOf(summary)]
	nonce := s.nonce()
	open, end := redact.Fence(nonce)
	guide := w.working
	if tokens < smallBudget {
		guide = w.short
	}
	head, tail := open+"\n"+guide+"\n", end+"\n"
	var entries []string
	for line := range strings.SplitSeq(clean(summary), "\n") {
		for _, part := range sentences(line) {
			entries = append(entries, "  "+withoutNonce(part, nonce)+"\n")
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

// fileBoost is what a memory that names a file in use is worth more: enough to decide between near equals.
const fileBoost = 1.1

// outsideName tells the characters that do not belong to the name of a file. Chinese ones do not: they stand next to names without a space.
func outsideName(r rune) bool {
	return r < unicode.MaxASCII && !inName(byte(r)) && r != '.' && r != '-' || r >= unicode.MaxASCII && (!unicode.IsLetter(r) || unicode.Is(unicode.Han, r))
}

// aboutFiles moves memories that name one of the files up, among those that fit nearly as well.
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
		// Word by word: there may be hundreds of files, and this is done while somebody waits.
		for word := range strings.FieldsFuncSeq(strings.ToLower(said(h.Memory)), outsideName) {
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
