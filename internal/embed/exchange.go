package embed

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

	"github.com/memsidecar/memsidecar/internal/vector"
)

// maxReply is more than a batch of the largest vectors has.
const maxReply = 32 << 20

type request struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Encoding string   `json:"encoding_format"`
}

type reply struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// never says that asking again does not help.
const never = time.Duration(-1)

// ask makes one request. again is how long the server asks to wait before the next one, or never. No error holds a text, a key or what the
// server said.
func (c *Client) ask(ctx context.Context, prefix string, texts []string) (out []vector.Direction, again time.Duration, err error) {
	if len(texts) == 0 || len(texts) > MaxBatch {
		return nil, never, fmt.Errorf("%d texts: %w", len(texts), ErrRefused)
	}
	body := request{Model: c.cfg.Model, Input: make([]string, len(texts)), Encoding: "float"}
	for i, t := range texts {
		body.Input[i] = prefix + c.cfg.Clean(t)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, never, ErrRefused
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.URL, bytes.NewReader(data))
	if err != nil {
		return nil, never, unavailable("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "memsidecar")
	if c.cfg.Key != nil {
		key, err := c.cfg.Key()
		if err != nil {
			return nil, never, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, 0, broken(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, afterStatus(resp), statusError(resp.StatusCode)
	}
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, 0, broken(ctx, err)
	case len(data) > maxReply:
		return nil, never, unavailable("its reply has more than %d MiB", maxReply>>20)
	}
	out, err = directions(data, len(texts))
	return out, never, err
}

// directions reads a reply to n texts. What is not exactly that is refused: a vector on the wrong text would be worse than none.
func directions(data []byte, n int) ([]vector.Direction, error) {
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, unavailable("its reply is not the JSON of embeddings")
	}
	if len(r.Data) != n {
		return nil, unavailable("it returned %d vectors for %d texts", len(r.Data), n)
	}
	out := make([]vector.Direction, n)
	for _, d := range r.Data {
		if d.Index < 0 || d.Index >= n || out[d.Index].Dim() != 0 {
			return nil, unavailable("it numbered its vectors wrongly")
		}
		var ok bool
		if out[d.Index], ok = vector.Quantise(d.Embedding); !ok {
			return nil, unavailable("it returned a vector without direction")
		}
	}
	for _, d := range out {
		if d.Dim() != out[0].Dim() {
			return nil, unavailable("its vectors have different dimensions")
		}
	}
	return out, nil
}

// statusError says whose fault a status is. Of those for which the request itself is to blame, a refused key and an unknown model or address
// are the configuration's.
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

// afterStatus is how long to wait before the same request may work, or never.
func afterStatus(resp *http.Response) time.Duration {
	if s := resp.StatusCode; s != http.StatusTooManyRequests && s != http.StatusRequestTimeout && s < 500 {
		return never
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, mostWait)
}

func broken(ctx context.Context, err error) error {
	if _, network := errors.AsType[*net.OpError](err); network {
		return unavailable("it cannot be reached")
	}
	if ctx.Err() != nil {
		return unavailable("it took too long")
	}
	return unavailable("the connection broke")
}
