//go:build !race

package redact

// RaceDetector says whether the tests run under it.
const RaceDetector = false
