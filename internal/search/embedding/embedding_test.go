package embedding_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// server is a transport that records requests and answers them with reply.
type server struct {
	mu    sync.Mutex
	sent  []sentRequest
	reply func(n int, input []string) (status int, header http.Header, body string) // of the nth request, from 1
}

// sentRequest is one recorded request.
type sentRequest struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Encoding string   `json:"encoding_format"`
	path     string
	key      string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var a sentRequest
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		return nil, err
	}
	a.path, a.key = r.URL.String(), r.Header.Get("Authorization")
	s.mu.Lock()
	s.sent = append(s.sent, a)
	n := len(s.sent)
	s.mu.Unlock()
	status, header, body := s.reply(n, a.Input)
	if status == 0 { // says nothing
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	rec := httptest.NewRecorder()
	maps.Copy(rec.Header(), header)
	rec.WriteHeader(status)
	_, _ = io.WriteString(rec, body)
	return rec.Result(), nil
}

func (s *server) requests() []sentRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// good answers with [length of the text, 1] for each, last first.
func good(_ int, input []string) (int, http.Header, string) {
	var data []string
	for i, text := range slices.Backward(input) {
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,1]}`, i, len(text)))
	}
	return 200, nil, `{"object":"list","data":[` + strings.Join(data, ",") + `],"usage":{"total_tokens":3}}`
}

func fixed(status int, body string) func(int, []string) (int, http.Header, string) {
	return func(int, []string) (int, http.Header, string) { return status, nil, body }
}

func clientOf(s *server, change ...func(*embedding.Config)) *embedding.Client {
	cfg := embedding.Config{
		URL: "http://localhost:1/v1/", Model: "small", HTTP: &http.Client{Transport: s}, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, c := range change {
		c(&cfg)
	}
	return embedding.New(cfg)
}

func quantized(t *testing.T, v ...float32) vector.Quantized {
	t.Helper()
	d, ok := vector.Quantize(v)
	if !ok {
		t.Fatal("cannot quantise")
	}
	return d
}

func TestEmbed(t *testing.T) {
	s := &server{reply: good}
	c := clientOf(s, func(cfg *embedding.Config) {
		cfg.TextPrefix, cfg.QueryPrefix = "passage: ", "query: "
		cfg.Clean = func(s string) string { return strings.ReplaceAll(s, "secret", "-") }
		cfg.Key = func() (string, error) { return "k", nil }
	})
	got, err := c.EmbedDocuments(t.Context(), []string{"a secret", "bcd"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []vector.Quantized{quantized(t, 12, 1), quantized(t, 12, 1)} {
		if got[i].Vector.Cosine(want) < 0.999 {
			t.Errorf("vector %d differs", i)
		}
	}
	if _, err := c.EmbedQuery(t.Context(), "a secret"); err != nil {
		t.Fatal(err)
	}
	want := []sentRequest{
		{"small", []string{"passage: a -", "passage: bcd"}, "float", "http://localhost:1/v1/embeddings", "Bearer k"},
		{"small", []string{"query: a -"}, "float", "http://localhost:1/v1/embeddings", "Bearer k"},
	}
	if diff := cmp.Diff(want, s.requests(), cmp.AllowUnexported(sentRequest{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestOrder proves that vectors go by their index and not by their place.
func TestOrder(t *testing.T) {
	got, err := clientOf(&server{reply: good}).EmbedDocuments(t.Context(), []string{"x", strings.Repeat("y", 90)})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Vector.Cosine(quantized(t, 1, 1)) < 0.999 || got[1].Vector.Cosine(quantized(t, 90, 1)) < 0.999 {
		t.Error("vectors are on the wrong texts")
	}
}

func TestEmbedErrors(t *testing.T) {
	one := func(v string) string {
		return `{"data":[{"index":0,"embedding":` + v + `},{"index":1,"embedding":[1,2]}]}`
	}
	for _, tt := range []struct {
		name  string
		reply func(int, []string) (int, http.Header, string)
		want  error
		tries int
	}{
		{"refused", fixed(400, `{"error":"too long: confidential"}`), embedding.ErrRefused, 1},
		{"too large", fixed(413, ""), embedding.ErrRefused, 1},
		{"key", fixed(401, "confidential"), embedding.ErrUnavailable, 1},
		{"unknown model", fixed(404, "confidential"), embedding.ErrUnavailable, 1},
		{"redirect", fixed(302, ""), embedding.ErrUnavailable, 1},
		{"failing", fixed(500, "confidential"), embedding.ErrUnavailable, 3},
		{"busy", fixed(429, ""), embedding.ErrUnavailable, 3},
		{"not JSON", fixed(200, "<html>confidential"), embedding.ErrUnavailable, 1},
		{"too few", fixed(200, `{"data":[{"index":0,"embedding":[1,2]}]}`), embedding.ErrUnavailable, 1},
		{"index twice", fixed(200, `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`),
			embedding.ErrUnavailable, 1},
		{"index out of range", fixed(200, `{"data":[{"index":0,"embedding":[1,2]},{"index":-1,"embedding":[1,2]}]}`),
			embedding.ErrUnavailable, 1},
		{"zero", fixed(200, one("[0,0]")), embedding.ErrUnavailable, 1},
		{"empty", fixed(200, one("[]")), embedding.ErrUnavailable, 1},
		{"dimensions differ", fixed(200, one("[1,2,3]")), embedding.ErrUnavailable, 1},
		{"base64", fixed(200, one(`"AAAA"`)), embedding.ErrUnavailable, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{reply: tt.reply}
				_, err := clientOf(s).EmbedDocuments(t.Context(), []string{"confidential", "b"})
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if err != nil && strings.Contains(err.Error(), "confidential") {
					t.Errorf("the error quotes what was sent or received: %v", err)
				}
				if n := len(s.requests()); n != tt.tries {
					t.Errorf("%d requests, want %d", n, tt.tries)
				}
			})
		})
	}
}

func TestEmbedTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.reply = func(n int, input []string) (int, http.Header, string) {
			if n == 1 {
				return 503, http.Header{"Retry-After": {"7"}}, ""
			}
			return good(n, input)
		}
		began := time.Now()
		if _, err := clientOf(s).EmbedDocuments(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 7*time.Second {
			t.Errorf("waited %v, asked to wait 7s", waited)
		}
	})
}

func TestEmbedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := clientOf(&server{reply: fixed(0, "")}).EmbedDocuments(ctx, []string{"a"}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestNoKey(t *testing.T) {
	s := &server{reply: good}
	c := clientOf(s, func(cfg *embedding.Config) {
		cfg.Key = func() (string, error) { return "", errors.New("the variable X holds no key") }
	})
	if _, err := c.EmbedDocuments(t.Context(), []string{"a"}); !errors.Is(err, embedding.ErrUnavailable) ||
		!strings.Contains(err.Error(), "variable X") {
		t.Errorf("error %v", err)
	}
	if len(s.requests()) > 0 {
		t.Error("asked without a key")
	}
}

func TestBatchIsBounded(t *testing.T) {
	s := &server{reply: good}
	for _, n := range []int{0, embedding.MaxBatch + 1} {
		if _, err := clientOf(s).EmbedDocuments(t.Context(), make([]string, n)); !errors.Is(err, embedding.ErrRefused) {
			t.Errorf("%d texts: %v", n, err)
		}
	}
}

// TestQueryIsBounded shows that a server that says nothing costs a quarter of a second once, and then nothing for a
// while.
func TestQueryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{reply: func(n int, input []string) (int, http.Header, string) {
			if n > 1 {
				return good(n, input)
			}
			return 0, nil, ""
		}}
		c := clientOf(s)
		query := func(after, takes time.Duration, want error) {
			t.Helper()
			time.Sleep(after)
			began := time.Now()
			if _, err := c.EmbedQuery(t.Context(), "q"); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
			if took := time.Since(began); took != takes {
				t.Errorf("took %v, want %v", took, takes)
			}
		}
		query(0, 250*time.Millisecond, embedding.ErrUnavailable)
		query(0, 0, embedding.ErrUnavailable)
		query(14*time.Second, 0, embedding.ErrUnavailable)
		if c.LastQueryError() == nil || len(s.requests()) != 1 {
			t.Errorf("last error %v after %d requests", c.LastQueryError(), len(s.requests()))
		}
		query(2*time.Second, 0, nil)
		if c.LastQueryError() != nil {
			t.Errorf("last error %v after an answer", c.LastQueryError())
		}
	})
}

// TestCallerGoesAway shows that a caller that ends its request says nothing about the server.
func TestCallerGoesAway(t *testing.T) {
	s := &server{reply: good}
	c := clientOf(s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.EmbedQuery(ctx, "q"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := c.EmbedQuery(t.Context(), "q"); err != nil {
		t.Errorf("then: %v", err)
	}
}

func TestQueriesAreKept(t *testing.T) {
	s := &server{reply: good}
	c := clientOf(s)
	ask := func(text string, requests int) {
		t.Helper()
		if _, err := c.EmbedQuery(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if n := len(s.requests()); n != requests {
			t.Errorf("%d requests after %q, want %d", n, text, requests)
		}
	}
	ask("first", 1)
	ask("first", 1)
	const kept = embedding.CachedQueries
	for i := range kept - 1 {
		ask(fmt.Sprint(i), i+2)
	}
	ask("first", kept) // used: not the oldest
	ask("another", kept+1)
	ask("first", kept+1)
	ask("0", kept+2) // the oldest went
	c.ClearCache()
	ask("first", kept+3)
}

func TestIdentity(t *testing.T) {
	s := &server{reply: good}
	seen := map[string]string{}
	for name, change := range map[string]func(*embedding.Config){
		"as it is":          func(*embedding.Config) {},
		"another address":   func(c *embedding.Config) { c.URL = "http://localhost:2/v1" },
		"another model":     func(c *embedding.Config) { c.Model = "large" },
		"another text form": func(c *embedding.Config) { c.TextPrefix = "passage: " },
	} {
		id := clientOf(s, change).Identity()
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have the identity %q", name, other, id)
		}
		seen[id] = name
	}
	if a, b := clientOf(s).Identity(), clientOf(s, func(c *embedding.Config) {
		c.QueryPrefix = "query: "
	}).Identity(); a != b {
		t.Errorf("the prefix of queries changes the identity: %q, %q", a, b)
	}
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}`))
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1e39]},{"index":0,"embedding":[-0]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &server{reply: fixed(200, string(body))}
		got, err := clientOf(s).EmbedDocuments(t.Context(), []string{"a", "b"})
		if err == nil && (len(got) != 2 || got[0].Vector.Dim() == 0 || got[0].Vector.Dim() != got[1].Vector.Dim()) {
			t.Errorf("took %q", body)
		}
	})
}
