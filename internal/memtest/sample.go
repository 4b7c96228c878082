package memtest

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// MainSampled is the TestMain of a package with many random tests on one goroutine: under the race detector rapid
// runs a quarter of them. -rapid.checks overrides that.
func MainSampled(m *testing.M) {
	if RaceDetector {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// SkipSample reports whether try n of many sequential ones is left out: with -short and under the race detector
// only one in every runs.
func SkipSample(n, every int) bool { return (testing.Short() || RaceDetector) && n%every != 0 }
