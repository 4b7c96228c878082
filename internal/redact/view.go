package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text as its reader sees it: the escapes of JSON strings are undone, however often they were escaped. The
// rules read the view, so they know 密码 when it is written \u5bc6\u7801. Offsets of a view map back to the text.
type view struct {
	text string
	cuts []cut // nil when the view is the text itself
}

// cut is an escape: the view has n bytes at offset to where the text has m bytes at offset from.
type cut struct{ from, m, to, n int }

// newView undoes the escapes of s.
func newView(s string) view {
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return view{text: s}
	}
	v, last := view{}, 0
	var b strings.Builder
	for at < len(s) {
		if s[at] != '\\' {
			at++
			continue
		}
		r, m := escape(s[at:])
		if m == 0 {
			at++
			continue
		}
		b.WriteString(s[last:at])
		to := b.Len()
		b.WriteRune(r)
		v.cuts = append(v.cuts, cut{from: at, m: m, to: to, n: b.Len() - to})
		at += m
		last = at
	}
	b.WriteString(s[last:])
	v.text = b.String()
	return v
}

// escape decodes the escape at the start of s, and returns its length, 0 for none. Several backslashes count as one:
// JSON inside JSON doubles them.
func escape(s string) (r rune, length int) {
	n := 0
	for n < len(s) && s[n] == '\\' {
		n++
	}
	if n == len(s) {
		return 0, 0
	}
	switch s[n] {
	case '"', '/':
		return rune(s[n]), n + 1
	case 'n', 'r', 't':
		// A path of Windows has such letters behind a backslash, too. The rules read a break there, which is harmless.
		return '\n', n + 1
	case 'u':
		return unicodeEscape(s, n)
	}
	return 0, 0
}

// unicodeEscape decodes the four hexadecimal digits behind the u at s[at], and a second half of a surrogate pair.
func unicodeEscape(s string, at int) (rune, int) {
	high, ok := hex4(s, at+1)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(high) {
		return high, at + 5
	}
	// The second half has as many backslashes before its u as the first.
	next := at + 5
	if next+at < len(s) && s[next:next+at] == s[:at] && s[next+at] == 'u' {
		if low, ok := hex4(s, next+at+1); ok {
			return utf16.DecodeRune(high, low), next + at + 5
		}
	}
	return utf8.RuneError, at + 5
}

// hex4 reads four hexadecimal digits at s[at:].
func hex4(s string, at int) (rune, bool) {
	if at+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[at:at+4], 16, 16)
	return rune(n), err == nil
}

// spans maps sorted spans of the view, which do not overlap, to the text.
func (v *view) spans(list []Finding) []Finding {
	if v.cuts == nil {
		return list
	}
	next, shift := 0, 0
	// offset maps one offset; an offset inside an escape becomes its start, or its end.
	offset := func(at int, end bool) int {
		for next < len(v.cuts) && v.cuts[next].to+v.cuts[next].n <= at {
			shift = v.cuts[next].from + v.cuts[next].m - v.cuts[next].to - v.cuts[next].n
			next++
		}
		if next < len(v.cuts) && at > v.cuts[next].to {
			if end {
				return v.cuts[next].from + v.cuts[next].m
			}
			return v.cuts[next].from
		}
		return at + shift
	}
	for i := range list {
		list[i].From = offset(list[i].From, false)
		list[i].To = offset(list[i].To, true)
	}
	return list
}
