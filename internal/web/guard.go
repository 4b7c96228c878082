package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// route is one pair of method and path, in the form that http.ServeMux takes.
type route struct {
	pattern string
	handle  func(w http.ResponseWriter, r *http.Request) error
	open    bool          // needs no token
	wait    time.Duration // bound on the whole answer; 0 is callWait, less than 0 is none
	limit   int64         // bytes of the request's body; 0 is maxBody
}

// handler is all of the server. What stands around every request is the same whatever it asks for.
func (s *Server) handler(hosts map[string]bool) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, rt := range s.routes {
		mux.Handle(rt.pattern, s.endpoint(rt))
		method, path, _ := strings.Cut(rt.pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.endpoint(route{open: true, handle: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &problem{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "this path takes " + strings.Join(allowed, ", ")}
		}}))
	}
	mux.Handle("/api/", s.endpoint(route{open: true, handle: func(http.ResponseWriter, *http.Request) error {
		return &problem{http.StatusNotFound, "NO_SUCH_PATH", "there is nothing here; GET /api/openapi.json lists what there is"}
	}}))
	return s.outer(hosts, mux)
}

// outer checks where a request comes from, before anything of it is looked at, and logs it.
func (s *Server) outer(hosts map[string]bool, mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		start := s.cfg.Now()
		defer func() {
			if p := recover(); p != nil {
				// Only the type of what was thrown: its text could hold anything.
				s.cfg.Logger.Error("panic", "route", r.Pattern, "kind", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
				s.fail(rec, &problem{http.StatusInternalServerError, "INTERNAL", "internal error; the daemon's log tells more"})
			}
			s.cfg.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "http", slog.String("method", known(r.Method)), slog.String("route", r.Pattern),
				slog.Int("status", rec.status), slog.Duration("took", s.cfg.Now().Sub(start)), slog.Int64("sent", rec.sent))
		}()
		secure(rec.Header())
		if err := origin(hosts, r); err != nil {
			s.fail(rec, err)
			return
		}
		mux.ServeHTTP(rec, r)
	})
}

// known keeps what a client invents out of the log.
func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// secure forbids the browser everything that the panel does not need.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// origin refuses requests that were made for another server, or by a page of one.
func origin(hosts map[string]bool, r *http.Request) error {
	host := strings.ToLower(r.Host)
	if !hosts[host] {
		return &problem{http.StatusForbidden, "FOREIGN_HOST", "this server is not the one that the request names"}
	}
	for _, o := range r.Header.Values("Origin") {
		if o != "http://"+host {
			return &problem{http.StatusForbidden, "FOREIGN_ORIGIN", "pages of other origins may not ask"}
		}
	}
	// Browsers say this of requests that carry no Origin too. A link on a page elsewhere may lead to the panel, which holds nothing by itself.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if strings.HasPrefix(r.URL.Path, "/api/") || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return &problem{http.StatusForbidden, "FOREIGN_ORIGIN", "pages of other origins may not ask"}
	}
	return nil
}

// endpoint checks the token, bounds the time and turns an error into an answer.
func (s *Server) endpoint(rt route) http.Handler {
	wait, limit := rt.wait, cmp.Or(rt.limit, maxBody)
	if wait == 0 {
		wait = callWait
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		if !rt.open && !s.keys.allows(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="memsidecar"`)
			s.fail(w, &problem{http.StatusUnauthorized, "NO_TOKEN", "send the token as \"Authorization: Bearer TOKEN\"; `memsidecar ui --token` says where it is"})
			return
		}
		end := time.Time{} // none
		if wait > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), wait)
			defer cancel()
			r, end = r.WithContext(ctx), s.cfg.Now().Add(wait+writeSlack)
		}
		// Not every writer has deadlines; then the server's own hold. One for reading that passes would end the request.
		_ = http.NewResponseController(w).SetReadDeadline(end)
		_ = http.NewResponseController(w).SetWriteDeadline(end)
		if err := rt.handle(w, r); err != nil {
			s.fail(w, err)
		}
	})
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	begun  bool
	sent   int64
}

func (r *recorder) WriteHeader(status int) {
	if !r.begun {
		r.status, r.begun = status, true
		r.ResponseWriter.WriteHeader(status)
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.begun = true
	n, err := r.ResponseWriter.Write(p)
	r.sent += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach deadlines and flushing.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
