package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// maxErrorBytes limits what is read of an error body, in bytes.
const maxErrorBytes = 64 << 10 // read from the body of an error response

// statusFailure classifies a response with a status other than 200. Its body can quote the prompt, so only its error
// code is kept.
func (c *Client) statusFailure(resp *http.Response, in io.Reader, a *answer) *failure {
	body, _ := io.ReadAll(io.LimitReader(in, maxErrorBytes)) // a partial body is enough
	code := errorCode(body)
	_ = c.provider.decodeBody(a, body) // an error can report usage too
	now := c.cfg.Now()
	after := retryAfter(resp.Header, now)
	said := strings.ToLower(string(body))
	var fail *failure
	switch status := resp.StatusCode; {
	case status >= 300 && status < 400:
		fail = newFailure(ErrNotModel, "it redirects"+redirectHost(resp)+
			"; redirects are not followed, configure the final URL")
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == "invalid_api_key",
		strings.Contains(said, "api key not valid"):
		fail = newFailure(ErrKey, "")
	case status == http.StatusNotFound, status == http.StatusGone, code == "model_not_found",
		strings.Contains(said, "model not exist"):
		fail = newFailure(ErrNotFound, "")
	case status == http.StatusPaymentRequired, strings.Contains(code, "insufficient_quota"),
		strings.Contains(said, "credit balance is too low"):
		fail = newFailure(ErrRateLimited, "the account has no credit left")
	case status == http.StatusTooManyRequests:
		fail = newFailure(ErrRateLimited, "")
		fail.retry, fail.after = true, after
	case status == http.StatusRequestTimeout:
		fail = newFailure(ErrTimeout, "")
		fail.retry, fail.after = true, after
	case status == http.StatusRequestEntityTooLarge, isContextOverflow(said):
		fail = newFailure(ErrTooLarge, "")
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity, status == http.StatusNotImplemented:
		fail = newFailure(ErrRejected, "")
		fail.serverMessage = said + " "
	case status >= 500:
		fail = newFailure(ErrServer, "")
		fail.retry, fail.after = true, after
	case status >= 400 && status != http.StatusMethodNotAllowed:
		fail = newFailure(ErrRejected, "")
	default:
		fail = newFailure(ErrNotModel, "")
	}
	fail.Code = code
	if after > 0 && fail.Later {
		fail.RetryAt = now.Add(after)
	}
	return fail
}

// isContextOverflow recognises error bodies of servers whose model has a smaller context than the question needs.
func isContextOverflow(said string) bool {
	for _, s := range []string{"context_length_exceeded", "exceed_context_size", "prompt is too long",
		"maximum context length", "exceeds the available context"} {
		if strings.Contains(said, s) {
			return true
		}
	}
	return false
}

// redirectHost names the target of a redirect without its path, "" when unknown.
func redirectHost(resp *http.Response) string {
	if u, err := resp.Location(); err == nil && u.Host != "" {
		return " to " + u.Scheme + "://" + u.Host
	}
	return ""
}

// errorCode returns the error code of a body if it looks like an identifier. Anything else could quote the prompt.
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
	_ = json.Unmarshal(outer.Error, &inner) // a string here is prose, not a code
	for _, raw := range []json.RawMessage{inner.Code, inner.Type, outer.Code} {
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" && len(s) <= 48 &&
			strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == "" {
			return s
		}
	}
	return ""
}
