package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// What turns of a dialogue know of themselves. People answer in other words than they were asked in, a turn is short,
// and a conversation stays with its subject for a while.
const (
	questionShare = 0.5 // share of the evidence of the question before a turn, beyond that of the mean candidate
	lengthWeight  = 0.1 // of the logarithm of its length over typicalLength
	sessionShare  = 0.3 // share of the mean of the session's best turns
	typicalLength = 80  // characters
	shortestTurn  = 20  // characters; a shorter turn counts as this long
	longestTurn   = 400 // characters; a longer one likewise
	sessionBest   = 3   // turns whose mean is that of a session
)

// turnLength is the length of a turn of a dialogue in characters, bounded; 0 for what is no turn: it was not said by a
// speaker in a session.
func turnLength(m *memory.Memory) uint16 {
	if sessionKeyOf(m).session == "" {
		return 0
	}
	if _, _, ok := analysis.CutSpeaker(m.Content[:min(len(m.Content), maxHead)]); !ok {
		return 0
	}
	// No character takes more than four bytes, so the rest of a long text does not matter.
	n := utf8.RuneCountInString(m.Content[:min(len(m.Content), utf8.UTFMax*longestTurn)])
	return uint16(min(max(n, shortestTurn), longestTurn))
}

func isQuestion(m *memory.Memory) bool { return strings.ContainsAny(m.Content, "?？") }

// isTurn reports whether a document is a turn of a dialogue.
func (c *evidenceCollector) isTurn(doc uint32) bool { return c.index.features[doc].turnLength > 0 }

// previousTurn is the turn before one in its session; noDoc when there is none, or when the document is no turn.
func (c *evidenceCollector) previousTurn(doc uint32) uint32 {
	if !c.isTurn(doc) {
		return noDoc
	}
	return c.index.links[doc].inSession().previous
}

// lengthEvidence prefers turns that say more: "Wow!" answers nothing.
func (c *evidenceCollector) lengthEvidence(doc uint32) float64 {
	return lengthWeight * math.Log(float64(max(c.index.features[doc].turnLength, shortestTurn))/typicalLength)
}

// addDialogue adds to the turns of dialogues what their surroundings say: the question before, their length and the
// best turns of their session.
func (c *evidenceCollector) addDialogue() {
	sessions := map[sessionKey]float64{}
	for i := range c.pool {
		w := &c.pool[i]
		if !c.isTurn(w.doc) {
			continue
		}
		if previous := c.previousTurn(w.doc); previous != noDoc && c.index.features[previous].question {
			w.context += questionShare * c.beyondMean(previous)
		}
		w.context += c.lengthEvidence(w.doc)
		key := sessionKeyOf(c.index.docs[w.doc])
		mean, known := sessions[key]
		if !known {
			mean = c.sessionEvidence(key)
			sessions[key] = mean
		}
		w.context += sessionShare * mean
		w.sum += w.context
	}
}

// beyondMean is how much more than the mean candidate the words and the meaning of a document say; at least 0. Any
// question is somewhat near to a query, and its answer need not be.
func (c *evidenceCollector) beyondMean(doc uint32) float64 {
	return max(0, float64(wordWeight*c.ownWords(doc))+c.meaning(doc)-c.meanMeaning)
}

// sessionEvidence is the mean evidence of the best turns of a session.
func (c *evidenceCollector) sessionEvidence(key sessionKey) (mean float64) {
	var best []float64 // descending
	for _, doc := range c.index.sessions[key] {
		w := c.evidenceOf(doc)
		e := float64(wordWeight*w.words) + c.meaning(doc) + float64(dateWeight*w.date) + c.lengthEvidence(doc)
		at, _ := slices.BinarySearchFunc(best, e, func(a, b float64) int { return cmp.Compare(b, a) })
		if at < sessionBest {
			best = slices.Insert(best[:min(len(best), sessionBest-1)], at, e)
		}
	}
	for _, e := range best {
		mean += e / float64(len(best))
	}
	return mean
}
