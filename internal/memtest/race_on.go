//go:build race

package memtest

// RaceDetector says that the race detector is on, which makes everything many times slower. Tests that run one
// goroutine after the other, such as simulated crashes, take samples then: there is nothing for it to find in all
// of them.
const RaceDetector = true
