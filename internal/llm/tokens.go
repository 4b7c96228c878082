package llm

import "unicode/utf8"

// EstimateTokens guesses, rather too high, how many tokens a text has: four characters of ASCII to a token, and every other
// character, such as a Chinese one, a token of its own. It is for bounds, and for requests whose cost was not reported.
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
