package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// JournalReader reads memories in the journal form several times as fast as encoding/json, for those who read many. It
// knows what nearly all memories are made of; whatever else it finds is left to encoding/json, which also says what is
// wrong. So the two never differ in what they accept. The zero value is ready. It is for one goroutine.
type JournalReader struct {
	data []byte
	pos  int
	// plain says that the strings read last have no escapes but those that AppendMemory writes, too.
	plain bool
	// words are the short texts that many memories have, and lists their lists by how they are written, so that they
	// share them.
	words map[string]string
	lists map[string][]string
	// spare has a More for the memory that is read, which few take: each has an access_count, but that of most is 0.
	spare memory.Memory
}

// The bounds of JournalReader.words and lists.
const (
	mostWords   = 1024
	longestWord = 24 // bytes; ids are longer
	longestList = 64 // bytes
)

// inMore says which of memory.Fields lie in a memory.More: all memories without one share what is read of it.
var inMore = func() (in []bool) {
	var a, b memory.Memory
	for i := range memory.Fields {
		in = append(in, memory.Fields[i].Pointer(&a) == memory.Fields[i].Pointer(&b))
	}
	return in
}()

// Members reads {"ID":MEMORY,...}, the object that data begins with, and calls each with its members, and with the text
// of each memory if AppendMemory would write the same strings. It returns what follows the object. ok is false when
// encoding/json has to read it.
func (r *JournalReader) Members(
	data []byte, each func(id string, m *memory.Memory, text json.RawMessage),
) (rest []byte, ok bool) {
	if !utf8.Valid(data) { // encoding/json replaces what is not
		return data, false
	}
	r.data, r.pos = data, 0
	defer func() { r.data = nil }()
	ok = r.object(func() bool {
		id, ok := r.name()
		if !ok {
			return false
		}
		m := new(memory.Memory)
		r.plain = true
		start := r.pos
		if !r.memory(m) {
			return false
		}
		key := m.ID
		if key != string(id) {
			key = string(id)
		}
		var text json.RawMessage
		if r.plain {
			text = data[start:r.pos:r.pos]
		}
		each(key, m, text)
		return true
	})
	return data[r.pos:], ok
}

// Memory reads a memory, which data begins with, and returns what follows it. ok is false when encoding/json has to
// read it.
func (r *JournalReader) Memory(data []byte) (m *memory.Memory, rest []byte, ok bool) {
	m = new(memory.Memory)
	r.data, r.pos = data, 0
	defer func() { r.data = nil }()
	ok = r.memory(m)
	return m, data[r.pos:], ok && utf8.Valid(data[:r.pos])
}

// Text reads a string, which data begins with, and returns what follows it. ok is false when encoding/json has to read
// it.
func (r *JournalReader) Text(data []byte) (text string, rest []byte, ok bool) {
	r.data, r.pos = data, 0
	defer func() { r.data = nil }()
	b, ok := r.text()
	return r.word(b), data[r.pos:], ok && utf8.Valid(data[:r.pos])
}

// memory reads a memory.
func (r *JournalReader) memory(m *memory.Memory) bool {
	seen, next, taken := uint64(0), 0, false
	ok := r.object(func() bool {
		i := r.field(next)
		if i < 0 || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		next = i + 1
		if !inMore[i] {
			return r.value(memory.Fields[i].Pointer(m))
		}
		if r.spare.More == nil {
			r.spare.Own()
		}
		p := memory.Fields[i].Pointer(&r.spare)
		count, isCount := p.(*int64)
		ok := r.value(p)
		taken = taken || !isCount || *count != 0
		return ok
	})
	if taken {
		m.More, r.spare.More = r.spare.More, nil
		m.Trim()
	}
	return ok
}

// labels are the names of memory.Fields as they are written before a value.
var labels = func() (all []string) {
	for i := range memory.Fields {
		all = append(all, strconv.Quote(memory.Fields[i].Name)+":")
	}
	return all
}()

// field reads the name of a member of a memory, and returns which of memory.Fields has it, -1 for none. It looks from
// next on first: fields come in order.
func (r *JournalReader) field(next int) int {
	for i := next; i < len(labels); i++ {
		if r.literal(labels[i]) {
			return i
		}
	}
	name, ok := r.name()
	if !ok {
		return -1
	}
	return slices.IndexFunc(memory.Fields, func(f memory.Field[memory.Memory]) bool { return f.Name == string(name) })
}

// value reads a value into what a result of Field.Pointer points to.
func (r *JournalReader) value(pointer any) bool {
	switch p := pointer.(type) {
	case *string:
		b, ok := r.text()
		*p = r.word(b)
		return ok
	case *memory.Status:
		b, ok := r.text()
		*p = memory.Status(r.word(b))
		return ok
	case *float64:
		b, ok := r.number()
		var err error
		if ok {
			*p, err = strconv.ParseFloat(string(b), 64)
		}
		return ok && err == nil
	case *int64:
		b, ok := r.number()
		var err error
		if ok {
			*p, err = strconv.ParseInt(string(b), 10, 64)
		}
		return ok && err == nil
	case *bool:
		*p = true
		return r.literal("true")
	case *time.Time:
		b, ok := r.text()
		return ok && p.UnmarshalText(b) == nil
	case *[]string:
		return r.texts(p)
	}
	return false // few memories have such values
}

// object reads an object, and calls member at each name.
func (r *JournalReader) object(member func() bool) bool {
	if !r.literal("{") {
		return false
	}
	if r.literal("}") {
		return true
	}
	for member() {
		if r.literal("}") {
			return true
		}
		if !r.literal(",") {
			return false
		}
	}
	return false
}

// name reads a name and the colon behind it.
func (r *JournalReader) name() (name []byte, ok bool) {
	name, ok = r.text()
	return name, ok && r.literal(":")
}

// texts reads an array of strings that is not empty. Memories share one that is written in the same way.
func (r *JournalReader) texts(list *[]string) bool {
	start, plain := r.pos, r.plain
	if end := bytes.IndexByte(r.data[start:], ']'); end >= 0 { // it may be in a string: then no list is written so
		if known := r.lists[string(r.data[start:start+end+1])]; known != nil {
			*list, r.pos = known, start+end+1
			return true
		}
	}
	r.plain = true
	if !r.newTexts(list) {
		return false
	}
	if written := r.data[start:r.pos]; r.plain && len(written) <= longestList && len(r.lists) < mostWords {
		if r.lists == nil {
			r.lists = map[string][]string{}
		}
		r.lists[string(written)] = slices.Clip(*list)
	}
	r.plain = r.plain && plain
	return true
}

// newTexts reads an array of strings that is not empty.
func (r *JournalReader) newTexts(list *[]string) bool {
	if !r.literal("[") {
		return false
	}
	for {
		b, ok := r.text()
		if !ok {
			return false
		}
		*list = append(*list, r.word(b))
		if r.literal("]") {
			return true
		}
		if !r.literal(",") {
			return false
		}
	}
}

// literal reads a text if it is next. There is no white space in the journal form.
func (r *JournalReader) literal(s string) bool {
	if len(r.data)-r.pos < len(s) || string(r.data[r.pos:r.pos+len(s)]) != s {
		return false
	}
	r.pos += len(s)
	return true
}

// number reads a number without sign and exponent.
func (r *JournalReader) number() (digits []byte, ok bool) {
	start := r.pos
	whole := r.digits()
	if whole == 0 || whole > 1 && r.data[start] == '0' {
		return nil, false
	}
	if r.literal(".") && r.digits() == 0 {
		return nil, false
	}
	if r.pos < len(r.data) && r.data[r.pos]|0x20 == 'e' {
		return nil, false
	}
	return r.data[start:r.pos], true
}

// digits passes over digits and counts them.
func (r *JournalReader) digits() (n int) {
	for r.pos < len(r.data) && r.data[r.pos] >= '0' && r.data[r.pos] <= '9' {
		r.pos++
		n++
	}
	return n
}

// text reads a string. What it returns may share the data.
func (r *JournalReader) text() (text []byte, ok bool) {
	if !r.literal(`"`) {
		return nil, false
	}
	rest := r.data[r.pos:]
	n := plainBytes(rest)
	switch {
	case n == len(rest):
		return nil, false
	case rest[n] == '"':
		r.pos += n + 1
		return rest[:n], true
	case rest[n] == '\\':
		return r.escaped(n)
	}
	return nil, false
}

// plainBytes counts the bytes before the first one that is a quotation mark, a backslash or a control character, eight
// at a time: "Determine if a word has a byte less than n" of Sean Eron Anderson's Bit Twiddling Hacks, whose lowest
// match is exact.
func plainBytes(b []byte) (n int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := x^ones*'"', x^ones*'\\'
		if match := (quote-ones)&^quote | (backslash-ones)&^backslash | (x-ones*' ')&^x; match&highs != 0 {
			return n + bits.TrailingZeros64(match&highs)/8
		}
	}
	for ; n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= ' '; n++ {
	}
	return n
}

// escaped reads the rest of a string that has an escape behind n bytes.
func (r *JournalReader) escaped(n int) (text []byte, ok bool) {
	text = append(text, r.data[r.pos:r.pos+n]...)
	r.pos += n
	for {
		end := bytes.IndexAny(r.data[r.pos:], `"\`)
		if end < 0 || bytes.ContainsFunc(r.data[r.pos:r.pos+end], func(c rune) bool { return c < ' ' }) {
			return nil, false
		}
		text = append(text, r.data[r.pos:r.pos+end]...)
		r.pos += end + 1
		if r.data[r.pos-1] == '"' {
			return text, true
		}
		c, ok := r.escape()
		if !ok {
			return nil, false
		}
		text = utf8.AppendRune(text, c)
	}
}

// escape reads what follows a backslash. Halves of surrogate pairs are left to encoding/json.
func (r *JournalReader) escape() (rune, bool) {
	const hexDigits = 4
	if r.pos < len(r.data) && bytes.IndexByte([]byte(`"\nrt`), r.data[r.pos]) < 0 {
		r.plain = false
	}
	if r.literal("u") {
		if len(r.data)-r.pos < hexDigits {
			return 0, false
		}
		v, err := strconv.ParseUint(string(r.data[r.pos:r.pos+hexDigits]), 16, 16)
		r.pos += hexDigits
		return rune(v), err == nil && utf8.ValidRune(rune(v))
	}
	for i, c := range []byte(`"\/bfnrt`) {
		if r.literal(string(c)) {
			return rune("\"\\/\b\f\n\r\t"[i]), true
		}
	}
	return 0, false
}

// word returns a string, the same one for equal short ones.
func (r *JournalReader) word(b []byte) string {
	if len(b) > longestWord {
		return string(b)
	}
	if s, known := r.words[string(b)]; known {
		return s
	}
	s := string(b)
	if len(r.words) < mostWords {
		if r.words == nil {
			r.words = map[string]string{}
		}
		r.words[s] = s
	}
	return s
}
