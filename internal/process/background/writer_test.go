package background_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// TestWriter: what is written arrives, with steps in between, until one fails.
func TestWriter(t *testing.T) {
	var got bytes.Buffer
	var at []int // what was written before each step
	stop := errors.New("stop")
	w := background.Writer(&got, 10, func() error {
		if at = append(at, got.Len()); len(at) == 3 {
			return stop
		}
		return nil
	})
	for {
		n, err := w.Write([]byte("four"))
		if err != nil {
			if n > 0 || !errors.Is(err, stop) {
				t.Errorf("it wrote %d bytes: %v", n, err)
			}
			break
		}
	}
	if want := bytes.Repeat([]byte("four"), 9); !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%q was written", got.Bytes())
	}
	if len(at) != 3 || at[0] != 12 || at[1] != 24 || at[2] != 36 {
		t.Errorf("it made steps behind %v bytes", at)
	}
}
