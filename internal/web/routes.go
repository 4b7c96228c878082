package web

import (
	"embed"
	"net/http"
	"strings"
)

//go:embed openapi.json
var openapi []byte

//go:embed static
var static embed.FS

// table lists everything that is answered.
func (s *Server) table() []route {
	return []route{
		{pattern: "GET /api/memory/entries", handle: s.listEntries},
		{pattern: "POST /api/memory/entries", handle: s.addEntry},
		{pattern: "GET /api/memory/entries/{id}", handle: s.getEntry},
		{pattern: "PATCH /api/memory/entries/{id}", handle: s.changeEntry},
		{pattern: "DELETE /api/memory/entries/{id}", handle: s.deleteEntry},
		{pattern: "POST /api/memory/search", handle: s.find},
		{pattern: "POST /api/memory/consolidate", handle: s.consolidate, wait: longWait},
		{pattern: "POST /api/memory/archive", handle: s.archive, wait: longWait},
		{pattern: "GET /api/memory/procedural", handle: s.listProcedural},
		{pattern: "GET /api/memory/rolling-summary", handle: s.getSummary},
		{pattern: "PUT /api/memory/rolling-summary", handle: s.putSummary},
		{pattern: "GET /api/memory/file", handle: s.getFile},
		{pattern: "PUT /api/memory/file", handle: s.putFile, limit: maxFile},
		{pattern: "POST /api/memory/file/check", handle: s.checkFile, limit: maxChecked},
		{pattern: "GET /api/memory/figures", handle: s.days},
		{pattern: "GET /api/events", handle: s.events, wait: -1},
		{pattern: "POST /api/v1/{service}/{method}", handle: s.call},
		{pattern: "POST /api/login-codes", handle: s.newCode},
		{pattern: "POST /api/login", handle: s.login, open: true},
		{pattern: "GET /api/openapi.json", handle: document},
		{pattern: "GET /{$}", handle: asset("index.html"), open: true},
		{pattern: "GET /static/{name}", handle: namedAsset(""), open: true},
		{pattern: "GET /static/vendor/{name}", handle: namedAsset("vendor/"), open: true},
	}
}

func (s *Server) newCode(w http.ResponseWriter, _ *http.Request) error {
	reply(w, http.StatusCreated, map[string]any{"code": s.Login(), "expires_in": codeLife.Seconds()})
	return nil
}

type loginBody struct {
	Code string `json:"code"`
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	var in loginBody
	if err := need(r, &in); err != nil {
		return err
	}
	token, ok := s.keys.login(in.Code)
	if !ok {
		return &problem{http.StatusUnauthorized, "CODE_USED", "this address was used before or is too old; `memsidecar ui` makes a new one"}
	}
	reply(w, http.StatusCreated, map[string]any{"token": token, "expires_in": sessionLife.Seconds()})
	return nil
}

func document(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(openapi) // a client that has gone cannot be told
	return nil
}

// kinds are the files of the panel by their endings.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

func asset(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		data, err := static.ReadFile("static/" + name)
		kind := kinds[name[max(0, strings.LastIndexByte(name, '.')):]]
		if err != nil || kind == "" {
			return &problem{http.StatusNotFound, "NO_SUCH_PATH", "there is nothing here"}
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // a client that has gone cannot be told
		return nil
	}
}

func namedAsset(dir string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error { return asset(dir+r.PathValue("name"))(w, r) }
}
