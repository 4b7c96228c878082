package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// route is a pattern, as http.ServeMux has it, and what serves it.
type route struct {
	pattern string
	serve   func(w http.ResponseWriter, r *http.Request) error
	public  bool          // needs no token
	timeout time.Duration // bound on the whole answer; 0 is callWait, less than 0 is none
	maxBody int64         // bytes of the request's body; 0 is maxBody
}

// handler returns the handler of the whole server. Every request, also one for an unknown path, passes
// withRequestChecks.
//
// A path without its method has its own route: ServeMux would answer 405 in plain text, and every other response of
// this server is JSON.
func (s *Server) handler(hosts map[string]bool) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, rt := range s.routes {
		mux.Handle(rt.pattern, s.endpoint(rt))
		method, path, _ := strings.Cut(rt.pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.endpoint(route{public: true, serve: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &httpError{
				http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED",
				"this path allows " + strings.Join(allowed, ", "),
			}
		}}))
	}
	mux.Handle("/api/", s.endpoint(route{public: true, serve: func(http.ResponseWriter, *http.Request) error {
		return &httpError{
			http.StatusNotFound, "NO_SUCH_PATH", "there is no such path; GET /api/openapi.json lists them",
		}
	}}))
	return s.withRequestChecks(hosts, mux)
}

// withRequestChecks sets the security headers, checks the origin of a request before anything else, turns a panic
// into an internal error, and logs one line per request without its address or body.
func (s *Server) withRequestChecks(hosts map[string]bool, mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &responseRecorder{ResponseWriter: w, status: http.StatusOK}
		start := s.cfg.Now()
		defer func() {
			if p := recover(); p != nil {
				// A file that broke off: net/http closes the connection.
				if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				// Only the type of the value: its text could hold memory text.
				s.cfg.Logger.Error(
					"panic", "route", r.Pattern, "kind", fmt.Sprintf("%T", p), "stack", string(debug.Stack()),
				)
				s.writeError(
					rec,
					&httpError{
						http.StatusInternalServerError, "INTERNAL", "internal error; see the daemon's log",
					},
				)
			}
			s.cfg.Logger.LogAttrs(
				context.WithoutCancel(r.Context()), slog.LevelInfo, "http",
				slog.String("method", loggedMethod(r.Method)), slog.String("route", r.Pattern),
				slog.Int("status", rec.status), slog.Duration("took", s.cfg.Now().Sub(start)),
				slog.Int64("sent", rec.sent),
			)
		}()
		setSecurityHeaders(rec.Header())
		if err := checkOrigin(hosts, r); err != nil {
			s.writeError(rec, err)
			return
		}
		mux.ServeHTTP(rec, r)
	})
}

// loggedMethod is the method for the log; methods that a client invents are "other".
func loggedMethod(method string) string {
	switch method {
	case http.MethodGet,
		http.MethodHead,
		http.MethodPost,
		http.MethodPut,
		http.MethodPatch,
		http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "other"
}

// setSecurityHeaders tells the browser to allow only what the panel needs: scripts, styles and requests of this
// origin, no frames, no other documents, no cache.
func setSecurityHeaders(h http.Header) {
	h.Set(
		"Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// checkOrigin rejects a request with a Host that is not this server's (DNS rebinding) and one made by a page of
// another origin (cross-site request forgery).
func checkOrigin(hosts map[string]bool, r *http.Request) error {
	host := strings.ToLower(r.Host)
	if !hosts[host] {
		return &httpError{http.StatusForbidden, "FOREIGN_HOST", "this server is not the one that the request names"}
	}
	for _, o := range r.Header.Values("Origin") {
		if o != "http://"+host {
			return &httpError{http.StatusForbidden, "FOREIGN_ORIGIN", "pages of other origins may not ask"}
		}
	}
	// Browsers send Sec-Fetch-Site on requests without an Origin too. A link on another site may open the panel: its
	// files hold no data.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	data := strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == mcpPath
	if data || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return &httpError{http.StatusForbidden, "FOREIGN_ORIGIN", "pages of other origins may not ask"}
	}
	return nil
}

// endpoint is the handler of a route: it checks the token, bounds the body and the time, and turns an error into a
// response.
func (s *Server) endpoint(rt route) http.Handler {
	wait, limit := rt.timeout, cmp.Or(rt.maxBody, defaultMaxBody)
	if wait == 0 {
		wait = callTimeout
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		if !rt.public && !s.credentials.authorizes(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="memsidecar"`)
			s.writeError(
				w,
				&httpError{
					http.StatusUnauthorized, "NO_TOKEN",
					"send the token as \"Authorization: Bearer TOKEN\"; `memsidecar ui --token` says where it is",
				},
			)
			return
		}
		if name := r.Header.Get(memory.HostKey); name != "" { // of a program that may be paused
			r = r.WithContext(metadata.AppendToOutgoingContext(r.Context(), memory.HostKey, url.PathEscape(name)))
		}
		end := time.Time{} // none
		if wait > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), wait)
			defer cancel()
			r, end = r.WithContext(ctx), s.cfg.Now().Add(wait+writeSlack)
		}
		// A writer without deadlines has those of http.Server. The read deadline must cover the whole request: when
		// it passes, the server cancels the request.
		_ = http.NewResponseController(w).SetReadDeadline(end)
		_ = http.NewResponseController(w).SetWriteDeadline(end)
		if err := rt.serve(w, r); err != nil {
			s.writeError(w, err)
		}
	})
}

// responseRecorder counts what is sent, for the log, and knows whether the response has started.
type responseRecorder struct {
	http.ResponseWriter
	status  int
	started bool
	sent    int64
}

// WriteHeader sends the status once; later calls do nothing.
func (r *responseRecorder) WriteHeader(status int) {
	if !r.started {
		r.status, r.started = status, true
		r.ResponseWriter.WriteHeader(status)
	}
}

// Write counts the bytes.
func (r *responseRecorder) Write(p []byte) (int, error) {
	r.started = true
	n, err := r.ResponseWriter.Write(p)
	r.sent += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach deadlines and flushing.
func (r *responseRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
