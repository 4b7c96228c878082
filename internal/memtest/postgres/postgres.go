// Package postgres runs a real PostgreSQL for tests.
package postgres

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest/postgres/cluster"
)

// Server is a running server. Its user postgres needs no password.
type Server struct{ *cluster.Server }

// Start creates a cluster and starts it. Without PostgreSQL on this machine the test is skipped, and says so.
func Start(t testing.TB) *Server {
	t.Helper()
	bin := cluster.Find()
	if bin == "" {
		t.Skip("SHARED SPACES ARE NOT TESTED: PostgreSQL (initdb, postgres) is not installed")
	}
	return start(t, bin)
}

// vectorVariable names the directory of the programs of a server that has the extension vector, and vectorPlace is
// where such a server is otherwise, below the directory for temporary files: .ci/run unpacks one there.
const (
	vectorVariable = "MEMSIDECAR_TEST_PGVECTOR"
	vectorPlace    = "memsidecar-pgserver-0.1.4/pgserver/pginstall/bin"
)

// StartVector is Start with a server that has the extension vector (pgvector). Without one the test is skipped, and
// says so.
func StartVector(t testing.TB) *Server {
	t.Helper()
	bin := findVector()
	if bin == "" {
		t.Skip("THE MIRROR OF SHARED SPACES IS NOT TESTED: there is no PostgreSQL with pgvector; name the directory of its " +
			"programs in " + vectorVariable + ", or run `.ci/run modules`")
	}
	return start(t, bin)
}

// findVector returns the directory of the programs of a server that has the extension vector, "" when there is none.
func findVector() string {
	if bin := os.Getenv(vectorVariable); bin != "" {
		return bin
	}
	unpacked := filepath.Join(os.TempDir(), vectorPlace)
	if _, err := os.Stat(filepath.Join(unpacked, "initdb")); err == nil {
		return unpacked
	}
	controls, _ := filepath.Glob("/usr/share/postgresql/*/extension/vector.control")
	if len(controls) == 0 {
		return ""
	}
	version := filepath.Base(filepath.Dir(filepath.Dir(controls[len(controls)-1])))
	return filepath.Join("/usr/lib/postgresql", version, "bin")
}

// start creates a cluster with some programs and starts it.
func start(t testing.TB, bin string) *Server {
	t.Helper()
	s, err := cluster.Start(t.Context(), bin, "/tmp", "shared_buffers=16MB", "max_connections=50",
		"fsync=off") // what survives is the page cache: only processes are killed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Remove() })
	return &Server{s}
}

// Restart starts the server again after Kill.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.Server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Database creates an empty database and returns its address.
func (s *Server) Database(t testing.TB, name string) string {
	t.Helper()
	s.Exec(t, s.URL("postgres"), "CREATE DATABASE "+name)
	return s.URL(name)
}

// Exec runs SQL.
func (s *Server) Exec(t testing.TB, address, sql string) {
	t.Helper()
	if err := s.Server.Exec(context.Background(), address, sql); err != nil {
		t.Fatal(err)
	}
}
