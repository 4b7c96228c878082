//go:build !race

package purge_test

const raceDetector = false
