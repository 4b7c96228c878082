package memtest

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// MainSampled is the TestMain of a package that tries much at random, one goroutine after the other: under the race detector rapid tries a
// quarter of it. -rapid.checks says otherwise.
func MainSampled(m *testing.M) {
	if RaceDetector {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// LeftOut says whether try n is left out of many that run one after the other: with -short and under the race detector only every so many-th is made.
func LeftOut(n, every int) bool { return (testing.Short() || RaceDetector) && n%every != 0 }
