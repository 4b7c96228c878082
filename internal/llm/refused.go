package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

const maxErrorBytes = 64 << 10 // of a refusal's body

// refused classifies a response with another status than 200. Its body can quote the prompt, so only what has the form of a name is
// kept.
func (c *Client) refused(resp *http.Response, in io.Reader, a *answer) *failure {
	body, _ := io.ReadAll(io.LimitReader(in, maxErrorBytes)) // what can be read of it is enough
	code := errorCode(body)
	_ = c.wire.whole(a, body) // an error can report usage too
	now := c.cfg.Now()
	after := retryAfter(resp.Header, now)
	said := strings.ToLower(string(body))
	var fail *failure
	switch status := resp.StatusCode; {
	case status >= 300 && status < 400:
		fail = failed(ErrNotModel, "it redirects"+redirectHost(resp)+"; redirects are not followed, name the final address")
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == "invalid_api_key", strings.Contains(said, "api key not valid"):
		fail = failed(ErrKey, "")
	case status == http.StatusNotFound, status == http.StatusGone, code == "model_not_found", strings.Contains(said, "model not exist"):
		fail = failed(ErrNotFound, "")
	case status == http.StatusPaymentRequired, strings.Contains(code, "insufficient_quota"), strings.Contains(said, "credit balance is too low"):
		fail = failed(ErrRateLimited, "the account has nothing left")
	case status == http.StatusTooManyRequests:
		fail = failed(ErrRateLimited, "")
		fail.retry, fail.after = true, after
	case status == http.StatusRequestTimeout:
		fail = failed(ErrTimeout, "")
		fail.retry, fail.after = true, after
	case status == http.StatusRequestEntityTooLarge, tooLong(said):
		fail = failed(ErrTooLarge, "")
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity, status == http.StatusNotImplemented:
		fail = failed(ErrRejected, "")
		fail.adapt = said + " "
	case status >= 500:
		fail = failed(ErrServer, "")
		fail.retry, fail.after = true, after
	case status >= 400 && status != http.StatusMethodNotAllowed:
		fail = failed(ErrRejected, "")
	default:
		fail = failed(ErrNotModel, "")
	}
	fail.Code = code
	if after > 0 && fail.Later {
		fail.RetryAt = now.Add(after)
	}
	return fail
}

// tooLong recognises the ways in which servers say that a question does not fit into the model's context.
func tooLong(said string) bool {
	for _, s := range []string{"context_length_exceeded", "exceed_context_size", "prompt is too long", "maximum context length", "exceeds the available context"} {
		if strings.Contains(said, s) {
			return true
		}
	}
	return false
}

func redirectHost(resp *http.Response) string {
	if u, err := resp.Location(); err == nil && u.Host != "" {
		return " to " + u.Scheme + "://" + u.Host
	}
	return ""
}

// errorCode finds the server's own name for an error in its body, and keeps it when it looks like a name.
func errorCode(body []byte) string {
	var outer struct {
		Error json.RawMessage `json:"error"`
		Code  json.RawMessage `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return ""
	}
	var inner struct {
		Code json.RawMessage `json:"code"`
		Type json.RawMessage `json:"type"`
	}
	_ = json.Unmarshal(outer.Error, &inner) // it may be a string, which is prose
	for _, raw := range []json.RawMessage{inner.Code, inner.Type, outer.Code} {
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" && len(s) <= 48 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == "" {
			return s
		}
	}
	return ""
}
