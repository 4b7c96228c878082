//go:build !race

package edit_test

const raceDetector = false
