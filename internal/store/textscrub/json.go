package textscrub

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape resolves the escapes of JSON strings (RFC 8259, section 7) anywhere in b. Other backslashes stay. With
// withPlaces, places holds for each byte of the result, and for its end, the position in b that it came from.
func unescape(b []byte, withPlaces bool) (out []byte, places []int32) {
	out = make([]byte, 0, len(b))
	if withPlaces {
		places = make([]int32, 0, len(b)+1)
	}
	for i := 0; i < len(b); {
		n, size := 0, 1 // bytes written, bytes read
		if b[i] == '\\' && i+1 < len(b) {
			out, n, size = unescapeOne(out, b[i:])
		}
		if n == 0 {
			out, n, size = append(out, b[i]), 1, 1
		}
		for range n {
			if withPlaces {
				places = append(places, int32(i))
			}
		}
		i += size
	}
	if withPlaces {
		places = append(places, int32(len(b)))
	}
	return out, places
}

// unescapeOne appends what the escape at the start of b stands for. n is the number of bytes appended, 0 when b begins
// with no valid escape; size is the length of the escape.
func unescapeOne(out, b []byte) (_ []byte, n, size int) {
	switch b[1] {
	case '"', '\\', '/':
		return append(out, b[1]), 1, 2
	case 'n':
		return append(out, '\n'), 1, 2
	case 't':
		return append(out, '\t'), 1, 2
	case 'r':
		return append(out, '\r'), 1, 2
	case 'b':
		return append(out, '\b'), 1, 2
	case 'f':
		return append(out, '\f'), 1, 2
	case 'u':
		r, ok := hex4(b)
		if !ok {
			return out, 0, 0
		}
		size = 6
		if utf16.IsSurrogate(r) {
			low, ok := hex4(b[6:])
			// Characters beyond U+FFFF are two escapes.
			if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
				return out, 0, 0
			}
			size = 12
		}
		before := len(out)
		out = utf8.AppendRune(out, r)
		return out, len(out) - before, size
	}
	return out, 0, 0
}

// hex4 reads \uXXXX at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// JSON removes the texts from the strings, names and numbers of a JSON value, and reports whether it did. A value that
// cannot be cleaned in this way becomes {} or the placeholder.
func (t Texts) JSON(raw json.RawMessage) (json.RawMessage, bool) {
	if !t.Match(raw) {
		return raw, false
	}
	out := make([]byte, 0, len(raw))
	names := map[string]bool{}
	for i := 0; i < len(raw); {
		size := tokenLen(raw[i:])
		part := raw[i : i+size]
		i += size
		switch {
		case part[0] == '"':
			out = append(out, t.scrubString(part, isName(raw[i:]), names)...)
		case bytes.IndexByte([]byte("-0123456789"), part[0]) >= 0 && t.Match(part):
			out = append(out, `"`+Placeholder+`"`...)
		default:
			out = append(out, part...)
		}
	}
	// The text may lie across tokens; losing the value is better than keeping the text.
	if !json.Valid(out) || t.Match(out) {
		out = []byte(`"` + Placeholder + `"`)
		if raw[0] == '{' {
			out = []byte("{}")
		}
	}
	return out, true
}

// tokenLen is the length of the string, number or single byte at the start of raw.
func tokenLen(raw []byte) int {
	switch c := raw[0]; {
	case c == '"':
		for i := 1; i < len(raw); i++ {
			switch raw[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(raw)
	case c == '-' || c >= '0' && c <= '9':
		n := 1
		for n < len(raw) && bytes.IndexByte([]byte("0123456789.eE+-"), raw[n]) >= 0 {
			n++
		}
		return n
	}
	return 1
}

// Fields removes the texts from the names and values of an object's members. It returns fields itself when nothing
// changed, else a copy. When two names become equal, the first in order stays.
func (t Texts) Fields(fields map[string]json.RawMessage) (_ map[string]json.RawMessage, changed bool) {
	out, own := fields, false
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value, did := t.JSON(fields[name])
		clean, renamed := t.Replace(name)
		if !did && !renamed {
			continue
		}
		if !own {
			out, own = maps.Clone(fields), true
		}
		delete(out, name)
		if _, taken := out[clean]; !taken {
			out[clean] = value
		}
	}
	return out, own
}

// isName reports whether rest begins with a colon: the string before it is a name.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// scrubString removes the texts from one string literal. A changed name gets a number if another member has it already.
func (t Texts) scrubString(part []byte, name bool, names map[string]bool) []byte {
	var s string
	if json.Unmarshal(part, &s) != nil {
		return part
	}
	clean, changed := t.Replace(s)
	if !changed {
		return part
	}
	if name {
		// Two members whose names become equal would be one for most parsers.
		for base, n := clean, 2; names[clean]; n++ {
			clean = base + " " + strconv.Itoa(n)
		}
		names[clean] = true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(clean) != nil {
		return []byte(`"` + Placeholder + `"`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
