package reflector

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

var (
	// UUIDs, hashes and other hexadecimal ids.
	hexID  = lazyregexp.New(`(?i)\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{7,64})\b`)
	digits = lazyregexp.New(`\d+`)
	// An http or https URL.
	anyURL = lazyregexp.New(`https?://[^\s"'<>)\]]+`)
	// A path with at least two segments.
	longPath = lazyregexp.New(`(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|[A-Za-z]:\\[\w.\\ -]+`)
)

// Signature identifies a failure across sessions: tool, error class, and arguments without their variable parts
// (numbers, ids, directories, URL queries), or without all of them where the failure tells of the tool alone. It is ""
// for a call that did not fail, and at most 200 characters long.
func Signature(tc *memory.ToolCall) string {
	class := failureClass(tc)
	switch class {
	case "":
		return ""
	case classWindows, classPosix: // says something of the tool, whatever the command was
		return toolcall.Canonical(tc.Name) + "(*)!" + class
	}
	return ActionOf(tc).normal + "!" + class
}

// normalArguments normalises canonical arguments: named ones become sorted key=value pairs, anything else is text.
func normalArguments(named map[string]any, plain string) string {
	if named == nil {
		return normalValue(plain)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(named)) {
		parts = append(parts, k+"="+normalValue(flattenValue(named[k])))
	}
	return strings.Join(parts, ",")
}

// flattenValue converts a JSON value to text.
func flattenValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "" // impossible: v was decoded from JSON
	}
	return string(b)
}

// normalValue replaces the variable parts of an argument by placeholders.
func normalValue(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = anyURL.ReplaceAllStringFunc(s, func(raw string) string {
		u, err := url.Parse(raw)
		if err != nil {
			return raw
		}
		return u.Scheme + ":\x00" + u.Host +
			hexID.ReplaceAllString(strings.ReplaceAll(u.EscapedPath(), "/", "\x00"), "ID")
	})
	s = longPath.ReplaceAllStringFunc(s, func(p string) string {
		return "PATH/" + p[strings.LastIndexAny(strings.TrimRight(p, `/\`), `/\`)+1:]
	})
	s = strings.ReplaceAll(s, "\x00", "/")
	s = strings.Replace(strings.Replace(s, "http:/", "http://", 1), "https:/", "https://", 1)
	s = hexID.ReplaceAllStringFunc(s, func(id string) string {
		if strings.ContainsFunc(id, unicode.IsDigit) {
			return "ID"
		}
		return id
	})
	return truncateHashed(digits.ReplaceAllString(s, "N"), 80)
}

// truncate cuts s to n characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := 0
	for at := range s {
		if i == n {
			return s[:at]
		}
		i++
	}
	return s
}
