package llm

import (
	"bytes"
	"encoding/json"
)

// ExtractJSON is find.
func ExtractJSON(text string, check func(json.RawMessage) error) (json.RawMessage, error) {
	return extractJSON(text, check)
}

// ErrTruncatedJSON is errCut.
var ErrTruncatedJSON = errTruncated

// ReadResponse reads a body as the client does, as a stream or not, and returns the text of the answer.
func ReadResponse(provider string, stream bool, body []byte) (string, error) {
	a := new(answer)
	read := decodeWhole
	if stream {
		read = decodeStream
	}
	err := read(bytes.NewReader(body), providers[provider], a)
	return a.text.String(), err
}
