package embedding

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	earlierShare  = 0.6 // what a sentence of a message weighs, of the one after it
	mostSentences = 4   // sentences that are told apart; those before weigh as the first of them
)

// Emphasis is how much each part of a message weighs: who writes several sentences asks with the last.
type Emphasis struct {
	starts []int // bytes at which a sentence begins, the last one first
}

// EmphasisOf returns the emphasis of a message.
func EmphasisOf(text string) Emphasis {
	var starts []int
	for i, r := range text {
		if !strings.ContainsRune(".?!。？！", r) {
			continue
		}
		rest := text[i+utf8.RuneLen(r):]
		next := strings.TrimLeft(rest, " \t\r\n.?!。？！\"'”’)）」")
		// "3.5" and "main.go" do not end a sentence.
		if next == "" || len(next) == len(rest) && r < utf8.RuneSelf {
			continue
		}
		if at := len(text) - len(next); len(starts) == 0 || starts[len(starts)-1] != at {
			starts = append(starts, at)
		}
	}
	slices.Reverse(starts)
	return Emphasis{starts[:min(len(starts), mostSentences-1)]}
}

// Starts are the bytes at which sentences begin that weigh more than those before them, the last one first.
func (e Emphasis) Starts() []int { return e.starts }

// At is the weight of a byte, from 1 in the last sentence downwards.
func (e Emphasis) At(at int) float64 {
	weight := 1.0
	for _, start := range e.starts {
		if at >= start {
			break
		}
		weight *= earlierShare
	}
	return weight
}
