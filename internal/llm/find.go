package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/memsidecar/memsidecar/internal/strictjson"
)

const (
	maxUnwrap     = 8    // how many wrappings a reply is taken out of
	maxCandidates = 1000 // objects that are looked at
)

// wrappers are the names under which servers and models put the arguments of a tool call.
var wrappers = []string{"arguments", "parameters", "input", "function", "tool_call", "tool_calls", "function_call"}

// finder looks for the first object in a text that check accepts.
type finder struct {
	check func(json.RawMessage) error
	found json.RawMessage
	bad   error // what is wrong with the first object that was refused
	cut   bool  // the text ended within a value
	left  int   // objects still to be looked at
}

// find returns the first JSON object in text that check accepts, whatever is around it: prose, code fences, a byte order mark, reasoning between
// think tags, the wrapping of a tool call, an array, a string with JSON in it. Its parts are not searched when it is cut off: a fragment
// must not pass for the whole. The error is errCut, what check says of the first object, or that there is none.
//
// The time is linear in the length of text: what was passed over, or found to be malformed, is not looked at again, except for unwrapping,
// at most maxUnwrap deep.
func find(text string, check func(json.RawMessage) error) (json.RawMessage, error) {
	f := finder{check: check, left: maxCandidates}
	// Some templates open the reasoning in the prompt, so that only its end is in the reply.
	if before, after, ok := strings.Cut(text, "</think>"); ok && !strings.Contains(before, "<think>") && f.text(after, 0) {
		return f.found, nil
	}
	if f.bad == nil && f.text(text, 0) {
		return f.found, nil
	}
	switch {
	case f.bad != nil:
		return nil, f.bad
	case f.cut:
		return nil, errCut
	}
	return nil, errors.New("there is no JSON object in it")
}

// text looks through a text and reports whether an object was accepted.
func (f *finder) text(s string, depth int) bool {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "\ufeff"))
	if strings.HasPrefix(s, `"`) {
		if end, err := scan(s, 0); err == nil && end == len(s) {
			return f.inner([]byte(s), depth)
		}
	}
	for i := 0; i < len(s) && f.left > 0; {
		next := strings.IndexAny(s[i:], "{[<")
		if next < 0 {
			return false
		}
		i += next
		if s[i] == '<' {
			n, closed := thought(s[i:])
			if !closed {
				f.cut = true
				return false
			}
			i += n
			continue
		}
		end, err := scan(s, i)
		switch {
		case err == nil:
			if f.value([]byte(s[i:end]), depth) {
				return true
			}
		case errors.Is(err, errCut):
			f.cut = true
			return false
		case errors.Is(err, errDeep):
			f.refuse(err)
			return false
		case strings.HasPrefix(s[end:], `\`) && end <= i+2:
			return f.escaped(s[i:], depth)
		}
		i = max(end, i+1)
	}
	return false
}

// thought is the length of the reasoning that begins at s, or 1 when none does.
func thought(s string) (n int, closed bool) {
	for _, tag := range []string{"think>", "thinking>"} {
		if strings.HasPrefix(s[1:], tag) {
			end := strings.Index(s, "</"+tag)
			return end + len("</"+tag), end >= 0
		}
	}
	return 1, true
}

// escaped looks into JSON that is written as in a string, without the quotes around it.
func (f *finder) escaped(s string, depth int) bool {
	end := 0
	for end < len(s) && s[end] != '"' && s[end] >= ' ' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	return f.inner([]byte(`"`+s[:min(end, len(s))]+`"`), depth)
}

// inner looks into a JSON string.
func (f *finder) inner(raw []byte, depth int) bool {
	var s string
	if depth >= maxUnwrap || json.Unmarshal(raw, &s) != nil {
		return false
	}
	return f.text(s, depth+1)
}

// value looks at a complete value, and then at what it wraps.
func (f *finder) value(raw json.RawMessage, depth int) bool {
	if len(raw) == 0 || depth > maxUnwrap || f.left <= 0 {
		return false
	}
	switch raw[0] {
	case '"':
		return f.inner(raw, depth)
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return false
		}
		for _, item := range items {
			if f.value(item, depth+1) {
				return true
			}
		}
	case '{':
		return f.object(raw, depth)
	}
	return false
}

func (f *finder) object(raw json.RawMessage, depth int) bool {
	f.left--
	err := strictjson.Check(raw)
	if err == nil && f.check != nil {
		err = f.check(raw)
	}
	if err == nil {
		f.found = bytes.Clone(raw)
		return true
	}
	f.refuse(err)
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	for _, name := range wrappers {
		if f.value(members[name], depth+1) {
			return true
		}
	}
	return false
}

func (f *finder) refuse(err error) {
	if f.bad == nil {
		f.bad = err
	}
}

func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && strictjson.Check(raw) == nil
}
