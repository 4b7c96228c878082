//go:build race

package edit_test

// raceDetector makes everything many times slower. The simulated crashes have one goroutine each: there is nothing for it to find in all of them.
const raceDetector = true
