package web_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/memtest"
)

func TestAccessControl(t *testing.T) {
	h := startDaemon(t)
	host := strings.TrimPrefix(h.url, "http://")
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if name == "Host" {
				r.Host = value
				return
			}
			if value == "" {
				r.Header.Del(name)
				return
			}
			r.Header.Set(name, value)
		}
	}
	tests := []struct {
		name   string
		change func(*http.Request)
		path   string
		status int
		reason any
	}{
		{"as it should be", func(*http.Request) {}, "/api/memory/entries", 200, nil},
		{"by name", set("Host", "localhost:"+port), "/api/memory/entries", 200, nil},
		{"the panel's own page", set("Origin", h.url), "/api/memory/entries", 200, nil},
		{"no token", set("Authorization", ""), "/api/memory/entries", 401, "NO_TOKEN"},
		{
			"wrong token", set("Authorization", "Bearer "+strings.Repeat("a", 52)), "/api/memory/entries", 401,
			"NO_TOKEN",
		},
		{"half a token", set("Authorization", "Bearer "+h.token[:20]), "/api/memory/entries", 401, "NO_TOKEN"},
		{"another scheme", set("Authorization", "Basic "+h.token), "/api/memory/entries", 401, "NO_TOKEN"},
		{
			"two tokens", func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") },
			"/api/memory/entries", 401, "NO_TOKEN",
		},
		{"token in the address", set("Authorization", ""), "/api/memory/entries?token=" + h.token, 401, "NO_TOKEN"},
		{
			"a name that was made to point here", set("Host", "evil.example:"+port), "/api/memory/entries", 403,
			"FOREIGN_HOST",
		},
		{"another port", set("Host", "127.0.0.1:1"), "/api/memory/entries", 403, "FOREIGN_HOST"},
		{"no port", set("Host", "127.0.0.1"), "/api/memory/entries", 403, "FOREIGN_HOST"},
		{"such a name asks for the panel", set("Host", "evil.example"), "/", 403, "FOREIGN_HOST"},
		{"a page elsewhere", set("Origin", "https://evil.example"), "/api/memory/entries", 403, "FOREIGN_ORIGIN"},
		{
			"a page of another port here",
			set("Origin", "http://127.0.0.1:1"),
			"/api/memory/entries",
			403,
			"FOREIGN_ORIGIN",
		},
		{"a page without origin", set("Origin", "null"), "/api/memory/entries", 403, "FOREIGN_ORIGIN"},
		{"the same name with TLS", set("Origin", "https://"+host), "/api/memory/entries", 403, "FOREIGN_ORIGIN"},
		{
			"a picture of a page elsewhere", set("Sec-Fetch-Site", "cross-site"), "/api/memory/entries", 403,
			"FOREIGN_ORIGIN",
		},
		{
			"a page of another port, as the browser says it", set("Sec-Fetch-Site", "same-site"),
			"/api/memory/entries", 403, "FOREIGN_ORIGIN",
		},
		{
			"a script of a page elsewhere", set("Sec-Fetch-Site", "cross-site"), "/static/panel.js", 403,
			"FOREIGN_ORIGIN",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := valueAt(h.requestJSON(t, tt.status, "GET", tt.path, "", tt.change), "error", "reason")
			if got != tt.reason {
				t.Errorf("reason %v, want %v", got, tt.reason)
			}
		})
	}
	res := h.request(
		t,
		"OPTIONS",
		"/api/memory/entries",
		"",
		set("Origin", "https://evil.example"),
		set("Access-Control-Request-Method", "POST"),
	)
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("a foreign page is told %s", name)
		}
	}
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page's preflight: %d", res.StatusCode)
	}
	link := h.request(
		t, "GET", "/", "", set("Authorization", ""), set("Sec-Fetch-Site", "cross-site"),
		set("Sec-Fetch-Mode", "navigate"),
	)
	if link.StatusCode != http.StatusOK {
		t.Errorf("a link to the panel: %d", link.StatusCode)
	}
}

func TestSecurityHeaders(t *testing.T) {
	h := startDaemon(t)
	for _, path := range []string{"/", "/api/memory/entries", "/api/nothing"} {
		res := h.request(t, "GET", path, "")
		policy := res.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
			"base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: policy lacks %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
			t.Errorf("%s: policy lets too much in: %s", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cache-Control":                "no-store",
			"Cross-Origin-Resource-Policy": "same-origin", "Set-Cookie": "",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestFilesHaveOwnerMode(t *testing.T) {
	h := startDaemon(t)
	for _, name := range []string{h.files.Token, h.files.URL} {
		info, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode())
		}
	}
	if strings.Contains(h.log.String(), h.token) {
		t.Error("the log holds the token")
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := web.FilesFor(filepath.Join(t.TempDir(), "m.sock"))
	if err := os.Symlink(other, files.Token); err != nil {
		t.Fatal(err)
	}
	if err := files.Write("secret", "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "mine" {
		t.Errorf("a link was followed: %q, %v", data, err)
	}
}

func TestNoListenerByDefault(t *testing.T) {
	h := startDaemonOn(t, "")
	if _, _, err := h.files.Read(); err == nil {
		t.Error("there is a token")
	}
	if log := h.log.String(); strings.Contains(log, "serving HTTP") {
		t.Error(log)
	}
}

func TestUnixSocket(t *testing.T) {
	h := startDaemonOn(t, "unix")
	path := strings.TrimPrefix(h.url, "unix:")
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600|os.ModeSocket {
		t.Fatalf("socket: %v, %v", info, err)
	}
	h.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	h.url = "http://localhost"
	h.requestJSON(t, 200, "GET", "/api/memory/entries", "")
	h.requestJSON(t, 401, "GET", "/api/memory/entries", "", func(r *http.Request) { r.Header.Del("Authorization") })
	if _, err := web.Listen(t.Context(), path); err == nil ||
		!strings.Contains(err.Error(), "in use") {
		t.Errorf("listening on a socket in use: error is %v", err)
	}
}

func TestCheckAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8765": "", "127.9.9.9:0": "", "[::1]:8765": "", "/run/user/1000/memsidecar/http.sock": "",
		"0.0.0.0:8765": "loopback", "[::]:8765": "loopback", "192.168.1.5:8765": "loopback",
		"10.0.0.1:80": "loopback", "8.8.8.8:80": "loopback",
		"localhost:8765": "numeric", ":8765": "numeric", "8765": "numeric", "memory.example:80": "numeric",
		"http.sock": "numeric", "127.0.0.1": "numeric", "": "numeric",
		"/" + strings.Repeat("x", 200): "too long",
	} {
		err := web.CheckAddress(addr)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
	}
}

func TestLogin(t *testing.T) {
	h := startDaemon(t)
	without := func(r *http.Request) { r.Header.Del("Authorization") }
	h.requestJSON(t, 401, "POST", "/api/login-codes", "", without)
	code := valueAt(h.requestJSON(t, 201, "POST", "/api/login-codes", ""), "code").(string)
	session := valueAt(h.requestJSON(t, 201, "POST", "/api/login", `{"code":"`+code+`"}`, without), "token").(string)
	if session == h.token {
		t.Error("the browser is given the token of the file")
	}
	h.requestJSON(t, 200, "GET", "/api/memory/entries", "", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+session)
	})
	h.requestJSON(t, 401, "POST", "/api/login", `{"code":"`+code+`"}`, without)
}

func TestCredentialsExpire(t *testing.T) {
	clock := &memtest.Clock{}
	s := web.New(web.Config{Logger: slog.New(slog.DiscardHandler), Now: clock.Now})
	handler := s.Handler("127.0.0.1:1")
	ask := func(method, path, token, body string) int {
		r := httptest.NewRequest(method, "http://127.0.0.1:1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	code := s.Login()
	clock.Advance(time.Minute)
	if got := ask("POST", "/api/login", "", `{"code":"`+code+`"}`); got != http.StatusUnauthorized {
		t.Errorf("an old code: %d", got)
	}
	token := s.Session()
	clock.Advance(11 * time.Hour)
	if got := ask("GET", "/api/openapi.json", token, ""); got != http.StatusOK {
		t.Errorf("a session in use: %d", got)
	}
	clock.Advance(11 * time.Hour)
	if got := ask("GET", "/api/openapi.json", token, ""); got != http.StatusOK {
		t.Errorf("a session that was used since: %d", got)
	}
	clock.Advance(12 * time.Hour)
	if got := ask("GET", "/api/openapi.json", token, ""); got != http.StatusUnauthorized {
		t.Errorf("an old session: %d", got)
	}
	codes := []string{}
	for range 20 {
		codes = append(codes, s.Login())
		clock.Advance(time.Second)
	}
	if got := ask("POST", "/api/login", "", `{"code":"`+codes[0]+`"}`); got != http.StatusUnauthorized {
		t.Errorf("the oldest of too many codes: %d", got)
	}
	if got := ask("POST", "/api/login", "", `{"code":"`+codes[19]+`"}`); got != http.StatusCreated {
		t.Errorf("the newest code: %d", got)
	}
}

// A request that is begun and not ended must not keep others from theirs, nor the daemon from its end.
func TestShutdownEndsStreams(t *testing.T) {
	h := startDaemon(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "POST /api/memory/search HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	res := h.request(t, "GET", "/api/events", "")
	if !bufio.NewScanner(res.Body).Scan() {
		t.Fatal("no stream")
	}
	h.stop() // fails when it waits for ever
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Errorf("the stream was cut off instead of ended: %v", err)
	}
}
