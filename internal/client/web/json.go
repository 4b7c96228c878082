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
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/memsidecar/memsidecar/internal/client/jsonout"
)

// writeJSON sends v as the JSON body of a response. It encodes v before it sends the status, so an error of the
// encoder is still a proper response.
func writeJSON(w http.ResponseWriter, code int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		code = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"error":{"reason":"INTERNAL","message":"the response cannot be written as JSON"}}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // an error means that the client has gone
}

// messageJSON is the JSON form of a message of the API.
func messageJSON(m proto.Message) any { return jsonout.Message(m.ProtoReflect()) }

// enumWord is the lower-case name of an enum value, such as "active".
func enumWord(e protoreflect.Enum) string { return jsonout.Word(e.Descriptor(), e.Number()) }

// messagesJSON is the JSON form of a list of messages; an empty list is [].
func messagesJSON[M proto.Message](list []M) []any {
	out := make([]any, len(list))
	for i, m := range list {
		out[i] = messageJSON(m)
	}
	return out
}

// readBody reads the body of a request without surrounding white space; nil if it is empty. A body with another
// content type than JSON is an error: a page elsewhere can send those without asking the browser first.
func readBody(r *http.Request) ([]byte, error) {
	data, err := readRawBody(r)
	return bytes.TrimSpace(data), err
}

// readRawBody is readBody with the surrounding white space, so that line numbers are those of the sender.
func readRawBody(r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &httpError{
			http.StatusUnsupportedMediaType, "NOT_JSON", "send the body as Content-Type: application/json",
		}
	}
	return data, nil
}

// decode reads the JSON object in a request's body into v and reports whether there is a body. Unknown names and text
// after the object are errors: a misspelt optional field must not be ignored silently.
func decode(r *http.Request, v any) (given bool, err error) {
	data, err := readBody(r)
	if err != nil || data == nil {
		return false, err
	}
	if data[0] != '{' {
		return true, invalidRequest("the body must be a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return true, invalidRequest("%s must not be a %s", wrong.Field, wrong.Value)
		}
		return true, invalidRequest("the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if dec.More() {
		return true, invalidRequest("there is text after the JSON object")
	}
	return true, nil
}

// decodeRequired is decode for a request without which there is nothing to do.
func decodeRequired(r *http.Request, v any) error {
	given, err := decode(r, v)
	if err == nil && !given {
		return invalidRequest("the body is empty; it must be a JSON object")
	}
	return err
}

// decodeMessage reads JSON into a message of the API, in protobuf's JSON form. The error does not repeat the input,
// which may hold memory text.
func decodeMessage(data []byte, m proto.Message) error {
	if err := protojson.Unmarshal(data, m); err != nil {
		text := err.Error()
		if _, after, found := strings.Cut(text, "): "); found {
			text = after
		}
		return invalidRequest("the body cannot be read: %s", strings.ReplaceAll(text, "\u00a0", " "))
	}
	return nil
}

// queryParams reads the query parameters of a request. After the last read, err is the first thing that was wrong
// with them, or nil.
type queryParams struct {
	values url.Values
	err    error
}

// newQueryParams parses the query parameters of a request. One that is not among the names is an error.
func newQueryParams(r *http.Request, names ...string) *queryParams {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &queryParams{values: values}
	if err != nil {
		q.err = invalidRequest("the query parameters cannot be read")
	}
	for name := range values {
		if !slices.Contains(names, name) && q.err == nil {
			q.err = invalidRequest("there is no parameter %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return q
}

// text is the value of a parameter that may be given once; "" if it is absent.
func (q *queryParams) text(name string) string {
	if len(q.values[name]) > 1 && q.err == nil {
		q.err = invalidRequest("%s is given twice", name)
	}
	return q.values.Get(name)
}

// list is every value of a parameter that may be repeated.
func (q *queryParams) list(name string) []string { return q.values[name] }

// int32 is a whole number; 0 if it is absent.
func (q *queryParams) int32(name string) int32 {
	s := q.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil && q.err == nil {
		q.err = invalidRequest("%s must be a whole number", name)
	}
	return int32(n)
}

// int64 is a whole number; 0 if it is absent.
func (q *queryParams) int64(name string) int64 {
	s := q.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && q.err == nil {
		q.err = invalidRequest("%s must be a whole number", name)
	}
	return n
}

// float64 is a number; 0 if it is absent.
func (q *queryParams) float64(name string) float64 {
	s := q.text(name)
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && q.err == nil {
		q.err = invalidRequest("%s must be a number", name)
	}
	return f
}

// time is an RFC 3339 time; nil if it is absent.
func (q *queryParams) time(name string) *timestamppb.Timestamp {
	s := q.text(name)
	if s == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		if q.err == nil {
			q.err = invalidRequest("%s must be a time, such as 2026-02-21T14:30:00Z", name)
		}
		return nil
	}
	return timestamppb.New(at)
}

// boolean is true or false; false if it is absent.
func (q *queryParams) boolean(name string) bool {
	s := q.text(name)
	if s == "" {
		return false
	}
	b, err := strconv.ParseBool(s)
	if err != nil && q.err == nil {
		q.err = invalidRequest("%s must be true or false", name)
	}
	return b
}
