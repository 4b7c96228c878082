//go:build !linux

package session

import (
	"errors"
	"time"
)

// openExit waits for nothing here.
func openExit(int) (processExit, error) { return nil, errors.ErrUnsupported }

// processStarted knows of no process here, so that sessions end by request or silence.
func processStarted(int) (time.Time, bool) { return time.Time{}, false }
