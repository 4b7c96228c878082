package main

import (
	"fmt"
	"time"
)

// progress is one line on a terminal's standard error that says how far a long command is. Where standard error is no
// terminal, it says nothing: a log needs no such lines. It is for one goroutine at a time.
type progress struct {
	out   *output
	next  time.Time // nothing is shown before
	width int       // columns of what is shown now
}

// showEvery is the least time between two updates; the first comes after it, so that quick commands show nothing.
const showEvery = 200 * time.Millisecond

// newProgress returns a line that is not shown yet.
func newProgress(out *output) *progress { return &progress{out: out, next: out.now().Add(showEvery)} }

// show replaces the line, unless it was replaced just now.
func (p *progress) show(format string, args ...any) {
	now := p.out.now()
	if !p.out.errTerm || now.Before(p.next) {
		return
	}
	p.next = now.Add(showEvery)
	text := fmt.Sprintf(format, args...)
	_, _ = fmt.Fprintf(p.out.err, "\r%-*s", p.width, text)
	p.width = displayWidth(text)
}

// clear takes the line away; the cursor is at its beginning then.
func (p *progress) clear() {
	if p.width > 0 {
		_, _ = fmt.Fprintf(p.out.err, "\r%*s\r", p.width, "")
		p.width = 0
	}
}
