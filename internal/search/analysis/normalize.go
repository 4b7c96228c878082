package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normalize applies NFKC (Unicode Standard Annex 15), which brings full-width, ligature and compatibility forms
// together.
func Normalize(s string) string {
	if IsASCII(s) {
		return s
	}
	if narrow, ok := foldWidth(s); ok {
		return narrow
	}
	return norm.NFKC.String(s) // s itself when it is normal
}

// foldWidth is NFKC of a text whose characters other than full-width forms do not change: mostly Chinese. It allocates
// less than NFKC does. The result is false for any other text.
func foldWidth(s string) (string, bool) {
	wide := 0
	for i := 0; i < len(s); {
		r, size := decodeRune(s, i)
		switch {
		case r < utf8.RuneSelf:
		case isFullWidth(r):
			wide++
		case !isNFKCInert(r):
			return "", false
		}
		i += size
	}
	if wide == 0 {
		return s, true
	}
	// A full-width form has three bytes, its ASCII twin one.
	b := make([]byte, 0, len(s)-2*wide)
	for i := 0; i < len(s); {
		r, size := decodeRune(s, i)
		if isFullWidth(r) {
			b = append(b, byte(r-0xff01+'!'))
		} else {
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return string(b), true
}

func isFullWidth(r rune) bool { return 0xff01 <= r && r <= 0xff5e }

// isNFKCInert reports whether NFKC neither changes a character nor joins it with another: the Chinese ones and some of
// their punctuation.
func isNFKCInert(r rune) bool {
	return 0x4e00 <= r && r <= 0x9fff || 0x3001 <= r && r <= 0x3003 || 0x3008 <= r && r <= 0x3011 ||
		0x2018 <= r && r <= 0x201d && r != 0x201b || r == 0x2014
}

// appendFolded appends s in lower case, without apostrophes and without the accents of Latin letters.
func appendFolded(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			if b != '\'' {
				dst = append(dst, b)
			}
			i++
			continue
		}
		r, size := decodeRune(s, i)
		dst = appendFoldedRune(dst, r)
		i += size
	}
	return dst
}

// latinLetters spells Latin letters that have no decomposition.
var latinLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i", "þ",
	"th", "ð", "d")

// appendFoldedRune folds case, drops apostrophes and combining accents, and reduces an accented Latin letter
// to its base ("é" to "e"), since people type names without accents. Other scripts keep their marks, which
// make other words there.
func appendFoldedRune(dst []byte, r rune) []byte {
	r = unicode.ToLower(unicode.ToUpper(r)) // joins variants such as the two small sigmas
	switch {
	case r == '’' || r == '‘' || r == 'ʼ' || unicode.Is(unicode.Mn, r) && r < 0x370:
		return dst
	case r < 0x250 || r >= 0x1e00 && r < 0x1f00:
		var tmp [utf8.UTFMax]byte
		n := utf8.EncodeRune(tmp[:], r)
		if d := norm.NFD.Properties(tmp[:n]).Decomposition(); len(d) > 0 && d[0] < utf8.RuneSelf {
			return append(dst, d[0])
		}
		return append(dst, latinLetters.Replace(string(r))...)
	}
	return utf8.AppendRune(dst, r)
}

// decodeRune is utf8.DecodeRuneInString at i with a fast path for ASCII.
func decodeRune(s string, i int) (rune, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(s[i:])
}
