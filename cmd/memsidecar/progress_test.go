package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// TestProgress shows a line on a terminal, at most every so often, and takes it away; elsewhere it shows nothing.
func TestProgress(t *testing.T) {
	var err bytes.Buffer
	now := time.Unix(0, 0)
	out := newOutput(io.Discard, &err, func(string) string { return "" }, func() time.Time { return now })
	run := func() string {
		err.Reset()
		p := newProgress(out)
		for i := range 5 {
			p.show("%d read", 1000*i)
			now = now.Add(showEvery / 2)
		}
		p.clear()
		return err.String()
	}
	if got := run(); got != "" {
		t.Errorf("no terminal, but %q", got)
	}
	out.errTerm = true
	got := run()
	if want := "\r2000 read\r4000 read\r         \r"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
	r := &progressReader{Reader: strings.NewReader(strings.Repeat("x", 100)), progress: newProgress(out), total: 200}
	err.Reset()
	now = now.Add(showEvery)
	if n, e := r.Read(make([]byte, 64)); n != 64 || e != nil || err.String() != "\r32 % of the file read" {
		t.Errorf("read %d, %v, shown %q", n, e, err.String())
	}
}
