package web

import "net/http"

// Handler is the whole server for requests to one host.
func (s *Server) Handler(host string) http.Handler { return s.handler(map[string]bool{host: true}) }

// Session is the token of a session that begins now.
func (s *Server) Session() string {
	token, _ := s.credentials.login(s.Login())
	return token
}

// Routes lists every pair of method and path.
func (s *Server) Routes() []string {
	var out []string
	for _, rt := range s.routes {
		out = append(out, rt.pattern)
	}
	return out
}

// Callable lists the methods that can be called.
func Callable() map[string]bool { return servedMethods }
