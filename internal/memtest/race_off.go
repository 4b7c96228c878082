//go:build !race

package memtest

// RaceDetector says that the race detector is off.
const RaceDetector = false
