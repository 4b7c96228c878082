package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/internal/plainjson"
)

// reply answers with JSON.
func reply(w http.ResponseWriter, code int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		code = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"error":{"reason":"INTERNAL","message":"the answer cannot be written as JSON"}}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // a client that has gone cannot be told
}

// plain is a message as JSON.
func plain(m proto.Message) any { return plainjson.Message(m.ProtoReflect()) }

func plainList[M proto.Message](list []M) []any {
	out := make([]any, len(list))
	for i, m := range list {
		out[i] = plain(m)
	}
	return out
}

// bodyOf reads the JSON of a request; empty when there is none.
func bodyOf(r *http.Request) ([]byte, error) {
	data, err := textOf(r)
	return bytes.TrimSpace(data), err
}

// textOf is bodyOf with the white space around, so that lines count as they were sent.
func textOf(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &problem{http.StatusUnsupportedMediaType, "NOT_JSON", "send the body as Content-Type: application/json"}
	}
	return data, nil
}

// decode reads the JSON object of a request into v. An unknown name is an error, as is anything behind the object.
func decode(r *http.Request, v any) (given bool, err error) {
	data, err := bodyOf(r)
	if err != nil || data == nil {
		return false, err
	}
	if data[0] != '{' {
		return true, invalid("the body must be a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return true, invalid("%s: a %s cannot be taken here", wrong.Field, wrong.Value)
		}
		return true, invalid("the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if dec.More() {
		return true, invalid("something follows the JSON object")
	}
	return true, nil
}

// need is decode for a request that must have a body.
func need(r *http.Request, v any) error {
	given, err := decode(r, v)
	if err == nil && !given {
		return invalid("a JSON object is needed as body")
	}
	return err
}

// message reads JSON into a message, by the names of the fields in the API. The error does not repeat what was sent.
func message(data []byte, m proto.Message) error {
	if err := protojson.Unmarshal(data, m); err != nil {
		text := err.Error()
		if _, after, found := strings.Cut(text, "): "); found {
			text = after
		}
		return invalid("the body cannot be read: %s", strings.ReplaceAll(text, "\u00a0", " "))
	}
	return nil
}

// query reads parameters of an address. The first one that is wrong is kept.
type query struct {
	values url.Values
	err    error
}

// queryOf reads the parameters of a request, which must be among the names.
func queryOf(r *http.Request, names ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.err = invalid("the parameters of the address cannot be read")
	}
	for name := range values {
		if !slices.Contains(names, name) && q.err == nil {
			q.err = invalid("there is no parameter %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return q
}

func (q *query) text(name string) string {
	if len(q.values[name]) > 1 && q.err == nil {
		q.err = invalid("%s is given twice", name)
	}
	return q.values.Get(name)
}

// list is every value of a parameter that may be repeated.
func (q *query) list(name string) []string { return q.values[name] }

func (q *query) number(name string) int32 {
	s := q.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil && q.err == nil {
		q.err = invalid("%s must be a whole number", name)
	}
	return int32(n)
}

func (q *query) large(name string) (n int64, given bool) {
	s := q.text(name)
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && q.err == nil {
		q.err = invalid("%s must be a whole number", name)
	}
	return n, true
}

func (q *query) fraction(name string) float64 {
	s := q.text(name)
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && q.err == nil {
		q.err = invalid("%s must be a number", name)
	}
	return f
}

func (q *query) truth(name string) bool {
	s := q.text(name)
	if s == "" {
		return false
	}
	b, err := strconv.ParseBool(s)
	if err != nil && q.err == nil {
		q.err = invalid("%s must be true or false", name)
	}
	return b
}
