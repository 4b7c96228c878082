package llm

import (
	"bytes"
	"encoding/json"
)

// Find is find.
func Find(text string, check func(json.RawMessage) error) (json.RawMessage, error) {
	return find(text, check)
}

// ErrCut is errCut.
var ErrCut = errCut

// ReadResponse reads a body as the client does, as a stream or not, and returns the text of the answer.
func ReadResponse(provider string, stream bool, body []byte) (string, error) {
	a := new(answer)
	read := readWhole
	if stream {
		read = readEvents
	}
	err := read(bytes.NewReader(body), wires[provider], a)
	return a.text.String(), err
}
