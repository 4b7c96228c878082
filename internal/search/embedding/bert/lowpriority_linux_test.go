package bert

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestRunLowPriority(t *testing.T) {
	attributes := func() *unix.SchedAttr {
		a, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	before := attributes()
	var during *unix.SchedAttr
	runLowPriority(func() { during = attributes() })
	if after := attributes(); during.Nice < backgroundNice || after.Nice != before.Nice {
		t.Errorf("nice value %d, then %d, then %d", before.Nice, during.Nice, after.Nice)
	}
	if before.Runtime == 0 {
		t.Skip("this kernel has no slices: Linux has them since 6.12")
	}
	if during.Runtime != backgroundSlice {
		t.Errorf("a slice of %d ns, want %d", during.Runtime, backgroundSlice)
	}
}
