package embedding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// maxReply is the greatest size of a reply in bytes; a batch of the largest vectors is smaller.
const maxReply = 32 << 20

// request is the body of a request to /v1/embeddings.
type request struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Encoding string   `json:"encoding_format"`
}

// reply is the part of its reply that is needed.
type reply struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// noRetry as a wait says that the same request will not work later either.
const noRetry = time.Duration(-1)

// request makes one request. retryAfter is how long the server asks to wait before the next one, or noRetry. Errors
// hold neither texts nor keys nor what the server sent: they are logged.
func (c *Client) request(
	ctx context.Context, prefix string, texts []string,
) (out []vector.Quantized, retryAfter time.Duration, err error) {
	if len(texts) == 0 || len(texts) > MaxBatch {
		return nil, noRetry, fmt.Errorf("%d texts: %w", len(texts), ErrRefused)
	}
	body := request{Model: c.cfg.Model, Input: make([]string, len(texts)), Encoding: "float"}
	for i, t := range texts {
		// A remote server gets nothing that looks like a secret.
		body.Input[i] = prefix + c.cfg.Clean(t)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, noRetry, ErrRefused
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL, bytes.NewReader(data))
	if err != nil {
		return nil, noRetry, unavailable("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "memsidecar")
	if c.cfg.Key != nil {
		key, err := c.cfg.Key()
		if err != nil {
			return nil, noRetry, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, 0, transportError(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, retryWait(resp), statusError(resp.StatusCode)
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, 0, transportError(ctx, err)
	case len(data) > maxReply:
		return nil, noRetry, unavailable("its reply has more than %d MiB", maxReply>>20)
	}
	out, err = decodeReply(data, len(texts))
	return out, noRetry, err
}

// decodeReply reads the reply to a request of n texts. It is strict: a vector of the wrong text is worse than none.
func decodeReply(data []byte, n int) ([]vector.Quantized, error) {
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, unavailable("its reply is not the JSON of embeddings")
	}
	if len(r.Data) != n {
		return nil, unavailable("it returned %d vectors for %d texts", len(r.Data), n)
	}
	out := make([]vector.Quantized, n)
	for _, d := range r.Data {
		// The reply names the text of each vector by its index and may be in any order.
		if d.Index < 0 || d.Index >= n || out[d.Index].Dim() != 0 {
			return nil, unavailable("the indexes of its vectors are wrong")
		}
		var ok bool
		if out[d.Index], ok = vector.Quantize(d.Embedding); !ok {
			return nil, unavailable("it returned a vector of zeros or infinite numbers")
		}
	}
	for _, d := range out {
		if d.Dim() != out[0].Dim() {
			return nil, unavailable("its vectors have different dimensions")
		}
	}
	return out, nil
}

// statusError maps a status to an error. Of the statuses that blame the request, a refused key and an unknown model
// or address are faults of the configuration: ErrUnavailable.
func statusError(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return unavailable("it refuses the key (HTTP %d)", status)
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return unavailable("it does not know the model or the address (HTTP %d)", status)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w (HTTP %d)", ErrRefused, status)
	}
	return unavailable("HTTP %d", status)
}

// retryWait is how long to wait before the same request may work, as Retry-After (RFC 9110) says, or noRetry.
func retryWait(resp *http.Response) time.Duration {
	if s := resp.StatusCode; s != http.StatusTooManyRequests && s != http.StatusRequestTimeout && s < 500 {
		return noRetry
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxBackoff)
}

// transportError hides the details of a failed exchange: they may hold the address with its path.
func transportError(ctx context.Context, err error) error {
	if _, network := errors.AsType[*net.OpError](err); network {
		return unavailable("it cannot be reached")
	}
	if ctx.Err() != nil {
		return unavailable("it took too long")
	}
	return unavailable("the connection broke")
}
