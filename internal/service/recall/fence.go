package recall

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// MaxQuoted is the usual limit for Quoted, in characters per text: that of an explicit recall.
const MaxQuoted = 2000

// Quoted fences stored texts as data, one item each, with the sentence of a recall in the language of about. No text
// can close the fence, and captured transcripts leave the block out. limit bounds each text, in characters; 0 is no
// bound. Without texts it returns "". nonce must be random.
func Quoted(nonce, about string, texts []string, limit int) string {
	if len(texts) == 0 {
		return ""
	}
	open, end := redact.Fence(nonce)
	var b strings.Builder
	b.WriteString(open + "\n" + phrasesByLanguage[languageOf(about)].short + "\n")
	for _, text := range texts {
		text = indentContinuation(sanitize(text))
		if limit > 0 {
			text, _ = truncate(text, limit)
		}
		b.WriteString("- " + strings.ReplaceAll(text, nonce, " …") + "\n")
	}
	b.WriteString(end + "\n")
	return b.String()
}

// QuotedAll fences one text, keeps its lines, and cuts it to limit characters. nonce must be random.
func QuotedAll(nonce, text string, limit int) string {
	open, end := redact.Fence(nonce)
	guide := phrasesByLanguage[languageOf(text)].short
	text = sanitize(text)
	if utf8.RuneCountInString(text) > limit {
		text, _ = truncate(text, limit)
	}
	return open + "\n" + guide + "\n" + strings.ReplaceAll(text, nonce, " …") + "\n" + end + "\n"
}

// LanguageOf returns Chinese or English.
func LanguageOf(text string) string { return languageOf(text) }
