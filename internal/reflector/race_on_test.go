//go:build race

package reflector_test

// raceDetector makes everything many times slower, and one goroutine has no races.
const raceDetector = true
