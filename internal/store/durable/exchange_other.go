//go:build !linux && !darwin

package durable

import (
	"errors"
	"os"
)

func exchangeAt(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }
