package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/memsidecar/memsidecar/internal/strictjson"
)

const (
	// levels of wrapping around a reply
	maxUnwrap     = 8
	maxCandidates = 1000 // objects tried per reply
)

// wrappers are the member names under which servers and models put the arguments of a tool call.
var wrappers = []string{"arguments", "parameters", "input", "function", "tool_call", "tool_calls", "function_call"}

// extractor searches a text for the first object that check accepts.
type extractor struct {
	check func(json.RawMessage) error
	found json.RawMessage
	// check's error for the first refused object
	firstError error
	// the text ended inside a value
	truncated bool
	// objects that may still be tried
	budget int
}

// extractJSON returns the first JSON object in text that check accepts. It skips prose, code fences, a byte order
// mark and reasoning in think tags, and unwraps tool calls, arrays and strings that contain JSON. Objects inside a
// truncated value are not tried: a fragment must not pass for the whole. The error is check's for the first object,
// errTruncated, or that there is no object.
//
// The time is linear in the length of text: skipped and malformed parts are not read again, except for unwrapping, at
// most maxUnwrap levels deep.
func extractJSON(text string, check func(json.RawMessage) error) (json.RawMessage, error) {
	f := extractor{check: check, budget: maxCandidates}
	// Some chat templates put the opening think tag into the prompt, so the reply has only the closing one.
	if before, after, ok := strings.Cut(text, "</think>"); ok && !strings.Contains(before, "<think>") &&
		f.searchText(after, 0) {
		return f.found, nil
	}
	if f.firstError == nil && f.searchText(text, 0) {
		return f.found, nil
	}
	switch {
	case f.firstError != nil:
		return nil, f.firstError
	case f.truncated:
		return nil, errTruncated
	}
	return nil, errors.New("there is no JSON object in it")
}

// searchText searches a text and reports whether an object was accepted.
func (f *extractor) searchText(s string, depth int) bool {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "\ufeff"))
	// Some models answer with JSON in a JSON string.
	if strings.HasPrefix(s, `"`) {
		if end, err := skipValue(s, 0); err == nil && end == len(s) {
			return f.searchString([]byte(s), depth)
		}
	}
	for i := 0; i < len(s) && f.budget > 0; {
		next := strings.IndexAny(s[i:], "{[<")
		if next < 0 {
			return false
		}
		i += next
		if s[i] == '<' {
			// Reasoning may hold drafts of the answer, which must not be taken for it.
			n, closed := reasoningLength(s[i:])
			if !closed {
				f.truncated = true
				return false
			}
			i += n
			continue
		}
		end, err := skipValue(s, i)
		switch {
		case err == nil:
			if f.searchValue([]byte(s[i:end]), depth) {
				return true
			}
		case errors.Is(err, errTruncated):
			f.truncated = true
			return false
		case errors.Is(err, errTooDeep):
			f.recordError(err)
			return false
		// An object whose quotes are escaped, as if cut out of a string.
		case strings.HasPrefix(s[end:], `\`) && end <= i+2:
			return f.searchEscaped(s[i:], depth)
		}
		i = max(end, i+1)
	}
	return false
}

// reasoningLength is the length of the think block at the start of s, or 1 when s does not start with one. closed is
// false when the block has no end.
func reasoningLength(s string) (n int, closed bool) {
	for _, tag := range []string{"think>", "thinking>"} {
		if strings.HasPrefix(s[1:], tag) {
			end := strings.Index(s, "</"+tag)
			return end + len("</"+tag), end >= 0
		}
	}
	return 1, true
}

// searchEscaped searches JSON that is escaped as in a string, but without the quotes around it.
func (f *extractor) searchEscaped(s string, depth int) bool {
	end := 0
	for end < len(s) && s[end] != '"' && s[end] >= ' ' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	return f.searchString([]byte(`"`+s[:min(end, len(s))]+`"`), depth)
}

// searchString searches the content of a JSON string.
func (f *extractor) searchString(raw []byte, depth int) bool {
	var s string
	if depth >= maxUnwrap || json.Unmarshal(raw, &s) != nil {
		return false
	}
	return f.searchText(s, depth+1)
}

// searchValue searches one complete value.
func (f *extractor) searchValue(raw json.RawMessage, depth int) bool {
	if len(raw) == 0 || depth > maxUnwrap || f.budget <= 0 {
		return false
	}
	switch raw[0] {
	case '"':
		return f.searchString(raw, depth)
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return false
		}
		for _, item := range items {
			if f.searchValue(item, depth+1) {
				return true
			}
		}
	case '{':
		return f.tryObject(raw, depth)
	}
	return false
}

// tryObject checks one object, and searches its wrapper members if check refuses it.
func (f *extractor) tryObject(raw json.RawMessage, depth int) bool {
	f.budget--
	err := strictjson.Check(raw)
	if err == nil && f.check != nil {
		err = f.check(raw)
	}
	if err == nil {
		f.found = bytes.Clone(raw)
		return true
	}
	f.recordError(err)
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	for _, name := range wrappers {
		if f.searchValue(members[name], depth+1) {
			return true
		}
	}
	return false
}

// recordError keeps the first error.
func (f *extractor) recordError(err error) {
	if f.firstError == nil {
		f.firstError = err
	}
}

// isObject reports whether raw is one valid JSON object.
func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && strictjson.Check(raw) == nil
}
