package web

import (
	"context"
	"embed"
	"net/http"
	"strings"
)

// openapi is the OpenAPI document of the API, which tests compare with the routes and their responses.
//
//go:embed openapi.json
var openapi []byte

// static holds the files of the panel.
//
//go:embed static
var static embed.FS

// routeTable lists all routes.
func (s *Server) routeTable() []route {
	routes := []route{
		{pattern: "GET /api/memory/entries", serve: s.listEntries},
		{pattern: "POST /api/memory/entries", serve: s.addEntry},
		{pattern: "GET /api/memory/entries/{id}", serve: s.getEntry},
		{pattern: "PATCH /api/memory/entries/{id}", serve: s.updateEntry},
		{pattern: "DELETE /api/memory/entries/{id}", serve: s.deleteEntry},
		{pattern: "POST /api/memory/changes", serve: s.applyChanges, maxBody: maxBatchBytes},
		{pattern: "POST /api/memory/move", serve: s.moveEntries},
		{pattern: "POST /api/memory/search", serve: s.searchEntries},
		{pattern: "POST /api/memory/consolidate", serve: s.consolidate, timeout: modelTimeout},
		{pattern: "POST /api/memory/archive", serve: s.archiveLogs, timeout: modelTimeout},
		{pattern: "GET /api/memory/procedural", serve: s.listProcedural},
		{pattern: "GET /api/memory/rolling-summary", serve: s.getRollingSummary},
		{pattern: "PUT /api/memory/rolling-summary", serve: s.putRollingSummary},
		{pattern: "GET /api/memory/file", serve: s.getFile},
		{pattern: "PUT /api/memory/file", serve: s.putFile, maxBody: maxFileBytes},
		{pattern: "POST /api/memory/file/check", serve: s.checkFile, maxBody: maxCheckBytes},
		{pattern: "GET /api/memory/usage", serve: s.listUsage},
		{pattern: "POST /api/memory/recall-preview", serve: s.previewRecall},
		{pattern: "GET /api/memory/graph", serve: s.readGraph},
		{pattern: "GET /api/memory/session-starts", serve: s.listStarts},
		{pattern: "GET /api/export", serve: s.export, timeout: transferTimeout},
		{pattern: "GET /api/backup", serve: s.backup, timeout: transferTimeout},
		{pattern: "POST /api/import", serve: s.importFile, timeout: transferTimeout, maxBody: maxImportBytes},
		{pattern: "GET /api/hosts", serve: s.listHosts},
		{pattern: "GET /api/settings", serve: s.listSettings},
		{pattern: "GET /api/events", serve: s.watchOperations, timeout: -1},
		{pattern: "POST /api/v1/{service}/{method}", serve: s.callMethod},
		{pattern: "POST /api/login-codes", serve: s.createLoginCode},
		{pattern: "POST /api/login", serve: s.login, public: true},
		{pattern: "GET /api/openapi.json", serve: serveOpenAPI},
		{pattern: "GET /{$}", serve: serveAsset("index.html"), public: true},
		{pattern: "GET /static/{name}", serve: serveAssetIn(""), public: true},
		{pattern: "GET /static/vendor/{name}", serve: serveAssetIn("vendor/"), public: true},
	}
	if s.cfg.MCP == nil {
		return routes
	}
	return append(routes,
		route{pattern: "POST " + mcpPath, serve: s.serveMCP, timeout: mcpTimeout},
		route{pattern: "GET " + mcpPath, serve: s.serveMCP, timeout: -1},
		route{pattern: "DELETE " + mcpPath, serve: s.serveMCP, timeout: mcpTimeout})
}

// mcpPath is where the Model Context Protocol is served.
const mcpPath = "/mcp"

// serveMCP passes a request on. A stream of events never ends by itself; it ends when the server stops.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if r.Method == http.MethodGet {
		go func() {
			select {
			case <-s.stopping:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	s.cfg.MCP.ServeHTTP(w, r.WithContext(ctx))
	return nil
}

// createLoginCode serves POST /api/login-codes.
func (s *Server) createLoginCode(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusCreated, map[string]any{"code": s.Login(), "expires_in": codeLifetime.Seconds()})
	return nil
}

// loginBody is the body of a login.
type loginBody struct {
	Code string `json:"code"`
}

// login serves POST /api/login, without a token: it exchanges a code for a session.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	var in loginBody
	if err := decodeRequired(r, &in); err != nil {
		return err
	}
	token, ok := s.credentials.login(in.Code)
	if !ok {
		return &httpError{
			http.StatusUnauthorized, "CODE_USED",
			"this address was used or has expired; `memsidecar ui` makes a new one",
		}
	}
	writeJSON(w, http.StatusCreated, map[string]any{"token": token, "expires_in": sessionLifetime.Seconds()})
	return nil
}

// serveOpenAPI serves the OpenAPI document.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(openapi) // an error means that the client has gone
	return nil
}

// contentTypes are the types of the panel's files, by extension. They do not come from the system's MIME table, which
// may lack or change them.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// serveAsset returns the handler of a file of the panel.
func serveAsset(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		data, err := static.ReadFile("static/" + name)
		kind := contentTypes[name[max(0, strings.LastIndexByte(name, '.')):]]
		if err != nil || kind == "" {
			return &httpError{http.StatusNotFound, "NO_SUCH_PATH", "there is no such file"}
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // an error means that the client has gone
		return nil
	}
}

// serveAssetIn returns the handler of the files of a directory, by the name in the path.
func serveAssetIn(dir string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error { return serveAsset(dir+r.PathValue("name"))(w, r) }
}
