package llm

import "unicode/utf8"

// EstimateTokens estimates the tokens of a text, rather too high: one per four ASCII characters, and one per other
// character, such as a Chinese one. It serves limits and requests whose cost the server did not report.
func EstimateTokens(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}
