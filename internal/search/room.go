package search

// longFrom is from how many elements a slice is long: what is unused of a long one counts, and copying it does.
const longFrom = 1024

// roomShare is the share of a long slice that is room for more.
const roomShare = 16

// withRoom returns s with room for n more elements. What append makes of a long slice is a fourth larger, which of a
// million memories are hundreds of megabytes together.
func withRoom[S ~[]E, E any](s S, n int) S {
	size := len(s) + n
	if size <= cap(s) {
		return s
	}
	if size < longFrom {
		return append(s, make(S, n)...)[:len(s)]
	}
	return append(make(S, 0, size+size/roomShare), s...)
}
