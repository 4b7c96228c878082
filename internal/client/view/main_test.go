package view_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
)

func TestMain(m *testing.M) { memtest.MainSampled(m) }
