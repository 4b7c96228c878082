// Package compressed compresses files of lines. A compressed file is a gzip file of many members, so that any gunzip
// reads it; each member holds whole lines and says how long it is, so that a reader can begin at any of them. Lines
// have checksums of their own: what is damaged here reads as a line that no checksum fits, and the lines before and
// behind it are whole.
package compressed

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// memberBytes is the length of the lines in a member from which the next one begins. Damage costs the rest of a member.
const memberBytes = 64 << 10

// head is the beginning of each member: magic number, deflate, extra field; no time, unknown system; 12 bytes of extra
// field, of which 8 belong to the subfield MS. The length of the member and that of its lines follow, 32 bits each,
// little-endian.
var head = []byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 4, 255, 12, 0, 'M', 'S', 8, 0}

const headBytes = 16 + 8

// damage is a line that no checksum fits.
const damage = "?\n"

// Is reports whether a file that begins with data is compressed.
func Is(data []byte) bool { return len(data) >= 2 && data[0] == head[0] && data[1] == head[1] }

// Writer compresses what is written to it. Each Write must hold whole lines.
type Writer struct {
	w     io.Writer
	gzip  *gzip.Writer
	lines []byte
	out   bytes.Buffer
}

// NewWriter returns a Writer to w. Close writes what is left.
func NewWriter(w io.Writer) *Writer {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return &Writer{w: w, gzip: z}
}

// Write takes whole lines.
func (w *Writer) Write(lines []byte) (int, error) {
	w.lines = append(w.lines, lines...)
	if len(w.lines) >= memberBytes {
		if err := w.Close(); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

// Close ends the member that was begun. It does not close the writer below.
func (w *Writer) Close() error {
	if len(w.lines) == 0 {
		return nil
	}
	w.out.Reset()
	w.gzip.Reset(&w.out)
	w.gzip.Extra = make([]byte, len(head)-12+8) // filled in below
	_, err := w.gzip.Write(w.lines)
	if err = errors.Join(err, w.gzip.Close()); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	member := w.out.Bytes()
	copy(member, head)
	binary.LittleEndian.PutUint32(member[len(head):], uint32(len(member)))
	binary.LittleEndian.PutUint32(member[len(head)+4:], uint32(len(w.lines)))
	w.lines = w.lines[:0]
	_, err = w.w.Write(member)
	return err
}

// Compress compresses lines.
func Compress(lines []byte) ([]byte, error) {
	var out bytes.Buffer
	w := NewWriter(&out)
	for len(lines) > 0 {
		end := min(len(lines), memberBytes)
		if i := bytes.IndexByte(lines[end-1:], '\n'); i >= 0 {
			end += i
		} else {
			end = len(lines)
		}
		if _, err := w.Write(lines[:end]); err != nil {
			return nil, err
		}
		lines = lines[end:]
	}
	err := w.Close()
	return out.Bytes(), err
}

// member is a part of a compressed file, or one that is damaged.
type member struct {
	data    []byte
	at      int // of its lines in the file decompressed
	lines   int // length of them
	damaged bool
}

// members splits a compressed file. Behind damage it goes on at the next member.
func members(data []byte) (all []member) {
	var u decompressor
	at := 0
	for len(data) > 0 {
		m, ok := firstMember(data)
		if ok && len(m.data) < len(data) && !bytes.HasPrefix(data[len(m.data):], head) {
			_, ok = u.decompress(nil, m) // its length is wrong, or what follows is damaged
		}
		if !ok {
			m = member{data: data, lines: len(damage), damaged: true}
			if next := bytes.Index(data[1:], head); next >= 0 {
				m.data = data[:next+1]
			}
		}
		m.at = at
		all, at, data = append(all, m), at+m.lines, data[len(m.data):]
	}
	return all
}

// firstMember reads the head of the member that data begins with. ok is false when it cannot be one.
func firstMember(data []byte) (_ member, ok bool) {
	const most = 1032 // times shorter is what deflate makes of anything, at most
	if len(data) < headBytes || !bytes.HasPrefix(data, head) {
		return member{}, false
	}
	length, lines := binary.LittleEndian.Uint32(data[len(head):]), binary.LittleEndian.Uint32(data[len(head)+4:])
	if length < headBytes || uint64(length) > uint64(len(data)) || lines == 0 || uint64(lines) > most*uint64(length) {
		return member{}, false
	}
	return member{data: data[:length], lines: int(lines)}, true
}

// decompressor decompresses members. The zero value is ready.
type decompressor struct {
	src bytes.Reader
	z   *gzip.Reader
}

// decompress appends the lines of a member to dst. When it is damaged, these are what could be read of it, and damage.
func (u *decompressor) decompress(dst []byte, m member) (_ []byte, whole bool) {
	if m.damaged {
		return append(dst, damage...), false
	}
	u.src.Reset(m.data)
	var err error
	if u.z == nil {
		u.z, err = gzip.NewReader(&u.src)
	} else {
		err = u.z.Reset(&u.src)
	}
	if err != nil {
		u.z = nil
		return append(dst, damage...), false
	}
	u.z.Multistream(false)
	from := len(dst)
	dst = slices.Grow(dst, m.lines)[:from+m.lines]
	n, err := io.ReadFull(u.z, dst[from:])
	if err == nil {
		var more [1]byte
		// The end of the member, where its checksum is compared.
		if _, err = u.z.Read(more[:]); errors.Is(err, io.EOF) && u.src.Len() == 0 {
			return dst, true
		}
	}
	return append(dst[:from+n], damage...), false
}

// Decompress returns the lines of a compressed file. What is damaged is in them as a line that no checksum fits.
func Decompress(data []byte) []byte {
	all := members(data)
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	out, parts := make([]byte, last.at+last.lines), make([][]byte, len(all))
	var damaged atomic.Bool
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(all)/16+1)
	for w := range workers {
		wg.Go(func() {
			var u decompressor
			for i := w * len(all) / workers; i < (w+1)*len(all)/workers; i++ {
				m := all[i]
				lines, whole := u.decompress(out[m.at:m.at:m.at+m.lines], m)
				if parts[i] = lines; !whole {
					damaged.Store(true)
				}
			}
		})
	}
	wg.Wait()
	if damaged.Load() { // then lines are not at the places that the members say
		return bytes.Join(parts, nil)
	}
	return out
}

// ErrDamaged means that a part of a compressed file is not what was written.
var ErrDamaged = errors.New("it is damaged")

// Places says where the members of a compressed file are, so that some of its lines can be read without the rest. It
// does not change, and is safe for concurrent use.
type Places struct {
	members []place
	end     place // of the file
}

// place is where a member begins.
type place struct{ at, lines int } // in the file, and of its lines in the file decompressed

// PlacesOf returns the places in a file, and false when a part of it is damaged so that they cannot be known.
func PlacesOf(data []byte) (Places, bool) {
	var p Places
	for _, m := range members(data) {
		if m.damaged {
			return Places{}, false
		}
		p.members = append(p.members, p.end)
		p.end = place{at: p.end.at + len(m.data), lines: m.at + m.lines}
	}
	return p, true
}

// Size is the length of the file decompressed.
func (p *Places) Size() int { return p.end.lines }

var decompressors = sync.Pool{New: func() any { return new(decompressor) }}

// Read returns n bytes of the lines of file, those behind at. What it reads has the checksum of its members. Errors:
// ErrDamaged, those of the file.
func (p *Places) Read(file io.ReaderAt, at, n int) ([]byte, error) {
	if at < 0 || n < 0 || n > p.end.lines-at {
		return nil, fmt.Errorf("it ends before byte %d of its lines: %w", at+n, ErrDamaged)
	}
	if n == 0 {
		return nil, nil
	}
	first, found := slices.BinarySearchFunc(p.members, at, func(m place, at int) int { return cmp.Compare(m.lines, at) })
	if !found {
		first--
	}
	last, _ := slices.BinarySearchFunc(p.members, at+n, func(m place, at int) int { return cmp.Compare(m.lines, at) })
	end := p.end
	if last < len(p.members) {
		end = p.members[last]
	}
	from := p.members[first]
	data := make([]byte, end.at-from.at)
	if _, err := file.ReadAt(data, int64(from.at)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("it ends before byte %d: %w", end.at, ErrDamaged)
		}
		return nil, err
	}
	u := decompressors.Get().(*decompressor)
	defer decompressors.Put(u)
	lines := make([]byte, 0, end.lines-from.lines)
	for len(data) > 0 {
		m, ok := firstMember(data)
		if ok {
			lines, ok = u.decompress(lines, m)
		}
		if !ok {
			return nil, ErrDamaged
		}
		data = data[len(m.data):]
	}
	if len(lines) != end.lines-from.lines {
		return nil, ErrDamaged
	}
	return lines[at-from.lines:][:n], nil
}

// File reads a compressed file as if it were not compressed. It is not safe for concurrent use.
type File struct {
	data    []byte
	members []member
	size    int64
	u       decompressor
	at      int    // of lines in the file
	lines   []byte // decompressed last
}

// Open returns the File of the bytes of a compressed one.
func Open(data []byte) *File {
	f := &File{data: data, members: members(data)}
	if n := len(f.members); n > 0 {
		f.size = int64(f.members[n-1].at + f.members[n-1].lines)
	}
	if slices.ContainsFunc(f.members, func(m member) bool { return m.damaged }) {
		f.decompressAll()
	}
	return f
}

// decompressAll keeps the whole file decompressed: in a damaged one lines are not at the places that the members say.
func (f *File) decompressAll() {
	f.at, f.lines = 0, Decompress(f.data)
	f.size, f.members = int64(len(f.lines)), nil
}

// Size is the length of the file decompressed.
func (f *File) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if at+int64(n) >= f.size {
			return n, io.EOF
		}
		offset := int(at) + n
		if offset < f.at || offset >= f.at+len(f.lines) {
			i, found := slices.BinarySearchFunc(f.members, offset, func(m member, at int) int { return cmp.Compare(m.at, at) })
			if !found {
				i--
			}
			lines, whole := f.u.decompress(f.lines[:0], f.members[i])
			if f.at, f.lines = f.members[i].at, lines; !whole {
				f.decompressAll()
				continue
			}
		}
		n += copy(p[n:], f.lines[offset-f.at:])
	}
	return n, nil
}
