package recall

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// MaxQuoted is the longest a text gets in Quoted, in characters, as when an agent asks by itself.
const MaxQuoted = 2000

// Quoted fences texts that came out of the store, one item each, as a recall does: as data, with what an agent should know about them, in the
// language of about. Nothing in a text can close the fence, and what memsidecar records of a session leaves it out. limit bounds each text in characters; 0 is no
// bound. No texts make no fence. The nonce is a random word.
func Quoted(nonce, about string, texts []string, limit int) string {
	if len(texts) == 0 {
		return ""
	}
	open, end := redact.Fence(nonce)
	var b strings.Builder
	b.WriteString(open + "\n" + vocabulary[languageOf(about)].guide + "\n")
	for _, text := range texts {
		text = indented(clean(text))
		if limit > 0 {
			text, _ = clip(text, limit)
		}
		b.WriteString("- " + strings.ReplaceAll(text, nonce, " …") + "\n")
	}
	b.WriteString(end + "\n")
	return b.String()
}

// QuotedAll is Quoted for one long text, which keeps its lines; at most limit characters of it.
func QuotedAll(nonce, text string, limit int) string {
	open, end := redact.Fence(nonce)
	guide := vocabulary[languageOf(text)].guide
	text = clean(text)
	if utf8.RuneCountInString(text) > limit {
		text, _ = clip(text, limit)
	}
	return open + "\n" + guide + "\n" + strings.ReplaceAll(text, nonce, " …") + "\n" + end + "\n"
}

// LanguageOf is Chinese for a text that is written in it, else English.
func LanguageOf(text string) string { return languageOf(text) }
