package hook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Bounds of reading a transcript.
const (
	maxLine  = 8 << 20 // longer lines are left out
	lookBack = 1 << 20 // how far back a call is looked for whose answer comes later
)

// entry is a message and where in the transcript it stands.
type entry struct {
	memory.Message
	key string // by which it is known when it comes again in another way; see said and answered
	end int64  // offset behind its line; 0 when it does not come from a transcript
}

// transcript collects the messages of a stretch of a transcript.
type transcript struct {
	at      time.Time
	end     int64
	calls   map[string]memory.ToolCall
	back    func() // reads what came before, once, for its calls
	entries []entry
}

// addText adds a turn.
func (t *transcript) addText(role, text string) {
	if text = strings.TrimSpace(text); text == "" || t.back == nil {
		return
	}
	t.entries = append(t.entries, textEntry(role, text, t.at, t.end))
}

// textEntry returns the entry of a message; end is the transcript offset behind it.
func textEntry(role, text string, at time.Time, end int64) entry {
	return entry{memory.Message{At: at, Role: role, Content: truncate(text, maxText)}, textKey(role, text), end}
}

// addCall remembers what a tool was asked, until it answers.
func (t *transcript) addCall(id, name, arguments string) {
	if id != "" {
		t.calls[id] = memory.ToolCall{Name: truncate(name, 200), Arguments: truncate(arguments, maxArguments)}
	}
}

// addResult adds a tool call.
func (t *transcript) addResult(id, text string, failed bool) {
	if t.back == nil {
		return
	}
	call, ok := t.calls[id]
	if !ok {
		t.back()
		if call, ok = t.calls[id]; !ok {
			return // of a subagent, or too long ago
		}
	}
	setResult(&call, text, failed)
	t.entries = append(t.entries, entry{memory.Message{At: t.at, Role: "tool", Tool: &call}, toolKey(id), t.end})
}

// readTranscript reads whole lines from offset on, about limit bytes at most, and returns their messages and the
// offset behind them. A file that is shorter than offset was written anew: the error is errShrunk.
func readTranscript(opens *Opens, h *Host, path string, offset, limit int64) (entries []entry, end int64, err error) {
	f, err := openTranscript(opens, path)
	if errors.Is(err, os.ErrNotExist) { // hosts begin it with the first turn
		return nil, offset, nil
	}
	if err != nil {
		return nil, offset, fmt.Errorf("open the transcript: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, offset, fmt.Errorf("open the transcript: %w", err)
	}
	switch {
	case info.Size() < offset:
		return nil, 0, errTranscriptShrunk
	case info.Size() == offset:
		return nil, offset, nil
	}
	t := &transcript{calls: map[string]memory.ToolCall{}}
	t.back = func() {
		t.back = func() {}
		earlier := &transcript{calls: t.calls} // without back: of this stretch only the calls are wanted
		from := max(0, offset-lookBack)
		_, _ = eachLine(io.NewSectionReader(f, from, offset-from), 0, func(line []byte, _ int64) bool {
			h.parse(line, earlier)
			return true
		})
	}
	end, err = eachLine(io.NewSectionReader(f, offset, info.Size()-offset), offset, func(line []byte, end int64) bool {
		t.end = end
		h.parse(line, t)
		return end-offset < limit
	})
	if err != nil {
		return nil, offset, fmt.Errorf("read the transcript: %w", err)
	}
	return t.entries, end, nil
}

var errTranscriptShrunk = errors.New("the transcript is shorter than what was read of it")

// eachLine calls f with every whole line and the offset behind it, until it returns false. The result is the offset
// behind the last one.
func eachLine(r io.Reader, offset int64, f func(line []byte, end int64) bool) (int64, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	length := 0 // of the line, also when too much of it came to keep it
	for {
		part, err := br.ReadSlice('\n')
		length += len(part)
		if length <= maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return offset, nil
		case err != nil:
			return offset, err
		}
		offset += int64(length)
		if length > maxLine {
			line = nil
		}
		if !f(bytes.TrimSpace(line), offset) {
			return offset, nil
		}
		line, length = line[:0], 0
	}
}

// fileSize returns the size of a file in bytes, 0 if there is none.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
