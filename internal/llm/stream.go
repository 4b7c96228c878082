package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Why an answer ended, where it matters.
const (
	finishStop    = "stop"
	finishLength  = "length"
	finishRefused = "refused"
)

// answer is what a model said, put together from the events of a stream or from one body.
type answer struct {
	text     strings.Builder // what counts as the reply
	call     strings.Builder // arguments of a tool call; they are the reply when there is no text
	thought  int             // bytes of reasoning, and of what could not be read; they are not kept
	finish   string          // one of the above; empty while it is not known
	code     string          // the server's own word for finish
	done     bool            // the stream said that it ends
	in, out  int             // tokens
	inKnown  bool
	outKnown bool
}

// maxTokens is more than any request can use; a larger count is no count.
const maxTokens = 100_000_000

func (a *answer) setIn(n *int) {
	if n != nil && *n >= 0 && *n <= maxTokens {
		a.in, a.inKnown = *n, true
	}
}

func (a *answer) setOut(n *int) {
	if n != nil && *n >= 0 && *n <= maxTokens {
		a.out, a.outKnown = *n, true
	}
}

// close puts the arguments of a tool call in the place of a reply that has no text of its own.
func (a *answer) close() {
	if a.call.Len() > 0 {
		if strings.TrimSpace(a.text.String()) != "" {
			a.text.WriteString("\n")
		}
		a.text.WriteString(a.call.String())
		a.call.Reset()
	}
}

// wire is the protocol of one provider.
type wire struct {
	path      string
	rungs     []Rung
	authorize func(h http.Header, key string)
	body      func(q query) []byte
	event     func(a *answer, data []byte) error // one event of a stream
	whole     func(a *answer, data []byte) error // a body that is not a stream
}

var wires = map[string]wire{OpenAI: openAI, Anthropic: anthropic}

var (
	errNotModel = errors.New("not the JSON of a chat")
	errBroken   = errors.New("the response ended before the reply was complete")
)

// serverError is an error that came with status 200.
type serverError struct{ code string }

func (e *serverError) Error() string { return "the server reports an error: " + e.code }

// readEvents reads server-sent events until the answer is complete.
func readEvents(in io.Reader, w wire, a *answer) error {
	r := bufio.NewReader(in)
	var data []byte
	flush := func() error {
		event := bytes.TrimSpace(data)
		data = data[:0]
		if len(event) == 0 {
			return nil
		}
		if string(event) == "[DONE]" {
			a.done = true
			return nil
		}
		return w.event(a, event)
	}
	for !a.done {
		line, err := r.ReadBytes('\n')
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, value...), '\n')
		}
		if len(line) == 0 && err == nil {
			if ferr := flush(); ferr != nil {
				return ferr
			}
		}
		if errors.Is(err, io.EOF) {
			if flush() != nil || !a.done && a.finish == "" {
				return errBroken
			}
			break
		}
		if err != nil {
			return err
		}
	}
	a.close()
	return nil
}

// readWhole reads one JSON body. A stream that does not call itself one is read as such.
func readWhole(in io.Reader, w wire, a *answer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		a.thought += len(data)
		return err
	}
	trimmed := bytes.TrimSpace(data)
	if bytes.HasPrefix(trimmed, []byte("data:")) || bytes.HasPrefix(trimmed, []byte("event:")) {
		return readEvents(bytes.NewReader(data), w, a)
	}
	if !json.Valid(trimmed) {
		if _, why := scan(string(trimmed), 0); len(trimmed) > 0 && trimmed[0] == '{' && errors.Is(why, errCut) {
			a.thought += len(data)
			return errBroken
		}
		return errNotModel
	}
	if err := w.whole(a, trimmed); err != nil {
		return err
	}
	a.close()
	return nil
}
