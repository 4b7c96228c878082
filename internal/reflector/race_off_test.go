//go:build !race

package reflector_test

const raceDetector = false
