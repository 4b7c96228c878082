package redact

import "strings"

// The tags around injected context. Only a closing tag with the same id ends a block, so recalled text cannot end it
// early.
const (
	recallTag  = "recalled-memories"
	formerTag  = "memsidecar-recall" // its name in earlier versions, whose transcripts are still read
	privateTag = "private"
	maxTag     = 512 // maximum length of a tag in bytes, escapes included; anything longer is text
)

// blockTags are the names of an injected block, and as much of each as must be there for a tag that a host cut off at
// the end of a text.
var blockTags = []struct{ name, cut string }{{recallTag, "recalled-"}, {formerTag, "memsidecar-"}}

// isBlock reports whether a tag has the name of an injected block.
func isBlock(name string) bool { return name == recallTag || name == formerTag }

// isCutBlock reports whether the beginning of a tag is one of a block's opening or closing tag.
func isCutBlock(name string) bool {
	name = strings.TrimLeft(name, "/")
	for _, t := range blockTags {
		if strings.HasPrefix(name, t.cut) && strings.HasPrefix(t.name, name) {
			return true
		}
	}
	return false
}

// Fence returns the opening and closing line of an injected block. The nonce must be unpredictable for the authors of
// the block's text.
func Fence(nonce string) (open, end string) {
	return `<` + recallTag + ` id="` + nonce + `">`, `</` + recallTag + ` id="` + nonce + `">`
}

// hasTag reports whether a text can hold anything that strip removes.
func hasTag(s string) bool {
	if !strings.ContainsAny(s, `<&\`) {
		return false // no bracket, however it is escaped
	}
	low := lower(s)
	return strings.Contains(low, privateTag) || strings.Contains(low, blockTags[0].cut) ||
		strings.Contains(low, blockTags[1].cut)
}

// strip removes closed private passages and recall blocks, and lists both. A tag in quotes of its own is a mention of
// the tag; a private one counts in a message of a session all the same. A tag also counts when a removal joins its two
// halves. Hosts hand blocks back in forms of their own: brackets and quotes may be escaped as JSON or HTML do it, more
// than once, lines may be quoted, and the beginning or the end may be cut off. So a block without an end reaches to the
// end of the text, and one of which only the end is left to its beginning. Other programs name such blocks
// <recalled-memories> too, without an id: those count when they are closed, since people may write of the tag.
func strip(s string, message bool) (string, []Finding, origins) {
	whole, out := len(s), kept{text: make([]byte, 0, len(s))}
	var found []Finding
	// remove takes out what was kept from start on, and what stood behind it up to where rest begins.
	remove := func(kind string, start int, rest string) {
		found = append(found, Finding{kind, out.back.source(start), whole - len(rest)})
		out.cut(start)
	}
	closed := true // some closing tag may follow
	foreign := -1  // where in out a block without an id began
	for len(s) > 0 {
		if foreign >= len(out.text) {
			foreign = -1 // it went with a longer passage
		}
		at, n := nextClose(s)
		out.add(s[:at], whole-len(s))
		s = s[at:]
		tag, start := openTag(out.text)
		closing, behind := s[:n], whole-len(s)
		s = s[n:]
		switch name, id := nameOf(tag); {
		case n == 0: // the end of the text, perhaps within a tag
			if start >= 0 && isCutBlock(name) {
				remove(RecallBlock, start, "")
			}
		case start >= 0 && name == privateTag:
			rest, ok := "", false
			if closed && (message || !isMention(out.text[:start], s)) {
				rest, ok = afterPrivateEnd(s)
				closed = ok
			}
			if !ok {
				out.add(closing, behind)
				continue
			}
			remove(Private, start, rest)
			s = rest
		case start >= 0 && isBlock(name):
			if name == formerTag || id != "" {
				if isMention(out.text[:start], s) {
					out.add(closing, behind)
					continue
				}
				rest := afterBlockEnd(s, id)
				remove(RecallBlock, start, rest)
				s = rest
				continue
			}
			if !isMention(out.text[:start], s) && (foreign < 0 || foreign > start) {
				foreign = start
			}
			out.add(closing, behind)
		case start >= 0 && isBlock(strings.TrimPrefix(name, "/")) && id != "" && !isMention(out.text[:start], s):
			remove(RecallBlock, 0, s)
		case start >= 0 && name == "/"+recallTag && foreign >= 0 && foreign < start:
			remove(RecallBlock, foreign, s)
			foreign = -1
		default:
			out.add(closing, behind)
		}
	}
	return string(out.text), found, out.back
}

// nextClose returns where the next closing bracket begins and how long it is; the length of s and 0 without one.
func nextClose(s string) (at, n int) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '>', '&':
			if kind, n := bracket(s[i:]); kind == '>' {
				return i, n
			}
		case '\\':
			if kind, n := bracket(s[i:]); kind == '>' {
				return i, n
			}
			for i+1 < len(s) && s[i+1] == '\\' {
				i++ // the same bracket again
			}
		}
	}
	return len(s), 0
}

// bracket reads the angle bracket at the beginning of s, plain or escaped: \u003c and &lt;, and escapes of those.
// kind is '<' or '>', else 0.
func bracket(s string) (kind byte, n int) {
	switch {
	case s == "":
		return 0, 0
	case s[0] == '<' || s[0] == '>':
		return s[0], 1
	case s[0] == '\\':
		rest := strings.TrimLeft(s, `\`)
		n = len(s) - len(rest)
		switch low := lower(rest[:min(len(rest), 5)]); low {
		case "u003c":
			return '<', n + len(low)
		case "u003e":
			return '>', n + len(low)
		case "u0026":
			kind, of := entity(rest[len(low):])
			return kind, n + len(low) + of
		}
	case s[0] == '&':
		kind, n = entity(s[1:])
		return kind, n + 1
	}
	return 0, 0
}

// entities are the names of the brackets behind an ampersand.
var entities = []struct {
	name string
	kind byte
}{{"lt;", '<'}, {"gt;", '>'}, {"#60;", '<'}, {"#62;", '>'}, {"#x3c;", '<'}, {"#x3e;", '>'}}

// entity reads an HTML entity without its ampersand, which may be escaped itself, any number of times.
func entity(s string) (kind byte, n int) {
	rest := behindAmpersands(s)
	low := lower(rest[:min(len(rest), 5)])
	for _, e := range entities {
		if strings.HasPrefix(low, e.name) {
			return e.kind, len(s) - len(rest) + len(e.name)
		}
	}
	return 0, 0
}

// behindAmpersands returns s without what escapes of its leading ampersand have put there.
func behindAmpersands(s string) string {
	for n := 1; n > 0; {
		n = 0
		for _, name := range []string{"amp;", "#38;", "#x26;", "#X26;"} {
			if strings.HasPrefix(s, name) {
				n = len(name)
				break
			}
		}
		s = s[n:]
	}
	return s
}

// openTag returns the text behind the last opening bracket of out and where the bracket begins; start is -1 when there
// is none, or a closing one behind it.
func openTag(out []byte) (tag string, start int) {
	from := max(0, len(out)-maxTag)
	tail := string(out[from:])
	for i := len(tail) - 1; i >= 0; i-- {
		switch c := tail[i]; c {
		case '>':
			return "", -1
		case '<', '\\', '&':
			if c == '\\' && i+1 < len(tail) && tail[i+1] == '\\' {
				continue // looked at from the last of them on
			}
			kind, n := bracket(tail[i:])
			if kind == '>' {
				return "", -1
			}
			for kind == '<' && i > 0 && tail[i] == '\\' && tail[i-1] == '\\' {
				i, n = i-1, n+1
			}
			if kind == '<' {
				return tail[i+n:], from + i
			}
		}
	}
	return "", -1
}

// nameOf splits the text of a tag into its name, in lower case, and the value of its id.
func nameOf(tag string) (name, id string) {
	name, rest := cutSpace(tag)
	return lower(strings.ReplaceAll(name, `\`, "")), attribute(rest)
}

// cutSpace splits s at the first white space.
func cutSpace(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// attribute returns the value of id="…"; its quotes may be escaped.
func attribute(s string) string {
	_, s, _ = strings.Cut(s, "id=")
	for s != "" {
		s = strings.TrimLeft(s, "\\\"' \t\r\n")
		if !strings.HasPrefix(s, "&") && !strings.HasPrefix(s, "u0022") && !strings.HasPrefix(s, "u0026") {
			break
		}
		if s[0] == 'u' {
			s = s[len("u0022"):]
		}
		s = behindAmpersands(strings.TrimPrefix(s, "&"))
		for _, quote := range []string{"quot;", "#34;", "#39;", "apos;", "#x22;", "#x27;"} {
			s = strings.TrimPrefix(s, quote)
		}
	}
	if i := strings.IndexAny(s, "\\\"'& \t\r\n/"); i >= 0 {
		s = s[:i]
	}
	return s
}

// nextTag returns the next tag of s, "" at the end of s, and the text behind it.
func nextTag(s string) (tag, rest string) {
	at, n := nextClose(s)
	tag, start := openTag([]byte(s[max(0, at-maxTag):at]))
	if start < 0 {
		tag = ""
	}
	return tag, s[at+n:]
}

// isMention reports whether a tag between before and after stands in quotes of its own.
func isMention(before []byte, after string) bool {
	if len(before) == 0 || after == "" {
		return false
	}
	quote := before[len(before)-1]
	return (quote == '`' || quote == '"' || quote == '\'') && after[0] == quote
}

// afterPrivateEnd returns the text behind the matching end of a private passage, or behind the last closing tag when
// there are too few. false: no closing tag follows at all, so the tag is only text.
func afterPrivateEnd(s string) (rest string, ok bool) {
	for depth := 1; depth > 0 && s != ""; {
		var tag string
		tag, s = nextTag(s)
		switch name, _ := nameOf(tag); name {
		case privateTag:
			depth++
		case "/" + privateTag:
			depth--
			rest, ok = s, true
		}
	}
	return rest, ok
}

// afterBlockEnd returns the text behind the closing tag of the block with this id. Programs that write a block again
// drop the attributes of closing tags, so without such a tag the last one without an id ends the block, up to the next
// block: no memory holds a tag. "" when nothing ends it.
func afterBlockEnd(s, id string) (rest string) {
	ended, another := false, false
	for s != "" {
		var tag string
		tag, s = nextTag(s)
		switch name, of := nameOf(tag); {
		case strings.HasPrefix(name, "/") && isBlock(name[1:]) && of == id:
			return s
		case name == "/"+recallTag && of == "" && !another:
			rest, ended = s, true
		case isBlock(name) && ended:
			another = true
		}
	}
	return rest
}
