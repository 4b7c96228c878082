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

// Normalised finish reasons of an answer.
const (
	finishStop    = "stop"
	finishLength  = "length"
	finishRefused = "refused"
)

// answer collects the model's output from the events of a stream or from one body.
type answer struct {
	// visible text, which holds the reply
	text strings.Builder
	// arguments of a tool call; mergeToolCall appends them to text
	toolCall strings.Builder
	// bytes of reasoning and of undecodable data; only counted
	reasoningBytes int
	// one of the finish constants; "" while unknown
	finish string
	// the server's name for the finish reason
	code string
	// the stream sent its end marker
	done     bool
	in, out  int // tokens
	inKnown  bool
	outKnown bool
}

// maxTokens is above any real count; larger reports are ignored.
const maxTokens = 100_000_000

// setIn records the reported input tokens; nil and implausible counts are ignored.
func (a *answer) setIn(n *int) {
	if n != nil && *n >= 0 && *n <= maxTokens {
		a.in, a.inKnown = *n, true
	}
}

// setOut records the reported output tokens; nil and implausible counts are ignored.
func (a *answer) setOut(n *int) {
	if n != nil && *n >= 0 && *n <= maxTokens {
		a.out, a.outKnown = *n, true
	}
}

// mergeToolCall appends the arguments of a tool call to the text, so that extractJSON finds them.
func (a *answer) mergeToolCall() {
	if a.toolCall.Len() > 0 {
		if strings.TrimSpace(a.text.String()) != "" {
			a.text.WriteString("\n")
		}
		a.text.WriteString(a.toolCall.String())
		a.toolCall.Reset()
	}
}

// provider is the codec of one API.
type provider struct {
	path          string
	outputModes   []OutputMode
	setHeaders    func(h http.Header, key string)
	encodeRequest func(q query) []byte
	decodeEvent   func(a *answer, data []byte) error // one server-sent event
	decodeBody    func(a *answer, data []byte) error // one complete JSON body
}

// providers are the codecs by Config.Provider.
var providers = map[string]provider{OpenAI: openAIProvider, Anthropic: anthropicProvider}

var (
	errNotModel   = errors.New("not chat JSON")
	errIncomplete = errors.New("the response ended before the reply was complete")
)

// serverError is an error reported in a body with status 200.
type serverError struct{ code string }

func (e *serverError) Error() string { return "the server reports an error: " + e.code }

// decodeStream reads server-sent events until the answer is complete. Only data fields are used; the format is
// described in the WHATWG HTML standard, section "Server-sent events".
func decodeStream(in io.Reader, w provider, a *answer) error {
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
		return w.decodeEvent(a, event)
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
			// Some servers end the stream without [DONE]; a reason for finishing is enough then.
			if flush() != nil || !a.done && a.finish == "" {
				return errIncomplete
			}
			break
		}
		if err != nil {
			return err
		}
	}
	a.mergeToolCall()
	return nil
}

// decodeWhole reads one JSON body. It also accepts a stream that was sent with another Content-Type.
func decodeWhole(in io.Reader, w provider, a *answer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		a.reasoningBytes += len(data)
		return err
	}
	trimmed := bytes.TrimSpace(data)
	if bytes.HasPrefix(trimmed, []byte("data:")) || bytes.HasPrefix(trimmed, []byte("event:")) {
		return decodeStream(bytes.NewReader(data), w, a)
	}
	if !json.Valid(trimmed) {
		if _, why := skipValue(string(trimmed), 0); len(trimmed) > 0 && trimmed[0] == '{' &&
			errors.Is(why, errTruncated) {
			a.reasoningBytes += len(data)
			return errIncomplete
		}
		return errNotModel
	}
	if err := w.decodeBody(a, trimmed); err != nil {
		return err
	}
	a.mergeToolCall()
	return nil
}
