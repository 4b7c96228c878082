// Package analysis turns text into index terms, for memories and queries alike.
//
// English words are folded and stemmed (Snowball English, Porter 2001). Chinese, Japanese, Korean and the scripts of
// South-East Asia are indexed as character bigrams, as Lucene's CJKAnalyzer does; traditional characters are folded
// into simplified ones. Identifiers, paths, versions and URLs give the whole, every level inside it and its words, so
// that each of them finds the memory. The package also reads identifiers, dates and negations out of a text.
package analysis

// version is raised with every change of the terms of an unchanged text that the probe of Fingerprint does not show.
const version = 2

// MaxTerm is the longest term in bytes. A longer path or address is indexed by its hash; a longer word is cut.
const MaxTerm = 64

// Kind is how a token was read, which decides its weight in a query.
type Kind uint8

// The kinds of tokens.
const (
	Word       Kind = iota // a word or a number
	Subword                // a word inside an identifier
	Compound               // an identifier, path, version or URL as one term
	HanUnigram             // one Han character of a longer run
	HanSingle              // a Han character between other scripts
	Bigram                 // two neighbouring characters of a script written without spaces
	Emoji
)

// Token is one term of a text. Bytes [Start, End) of the normalised text are its source.
type Token struct {
	Term       string
	Kind       Kind
	Weak       bool // a word of general use: it alone makes no match
	Start, End int
}

// Informative reports whether sharing the token says something about the topic.
func (t *Token) Informative() bool { return !t.Weak && t.Kind != HanUnigram }
