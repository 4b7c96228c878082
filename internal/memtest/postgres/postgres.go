// Package postgres runs a real PostgreSQL for tests: a cluster of the test's own, in a short directory, on a Unix
// socket.
package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running server. Its user postgres needs no password.
type Server struct {
	dir string
	bin string
	cmd *exec.Cmd
	log bytes.Buffer
}

// Start creates a cluster and starts it. Without PostgreSQL on this machine the test is skipped, and says so.
func Start(t testing.TB) *Server {
	t.Helper()
	bin := find()
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
	dir, err := os.MkdirTemp("/tmp", "mspg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{dir: dir, bin: bin}
	if unprivileged() != nil {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	initdb := s.command("initdb", "--pgdata", filepath.Join(dir, "data"), "--username", "postgres", "--auth", "trust", "--no-sync",
		"--encoding", "UTF8", "--locale", "C")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Restart(t)
	t.Cleanup(s.Kill)
	return s
}

// find returns the directory of the server's programs, "" when there is none.
func find() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

// nobody is the uid and gid of the server where the test runs as root.
const nobody = 65534

// command returns a program of the server.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, unprivileged()
	cmd.Env = append(os.Environ(), "HOME="+s.dir)
	return cmd
}

// Restart starts the server again after Kill.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	_ = os.Remove(filepath.Join(s.dir, "data", "postmaster.pid"))
	s.cmd = s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-h", "", "-c", "shared_buffers=16MB",
		"-c", "fsync=off", // what survives is the page cache: only processes are killed
		"-c", "max_connections=50")
	s.log.Reset()
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		conn, err := pgx.Connect(t.Context(), s.URL("postgres"))
		if err == nil {
			_ = conn.Close(t.Context())
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Kill()
	t.Fatalf("PostgreSQL does not answer:\n%s", s.log.String())
}

// Kill ends the server and its connections at once, as a crash does.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // "immediate": no checkpoint, recovery at the next start
	_ = s.cmd.Wait()
	s.cmd = nil
}

// URL is the address of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, s.dir)
}

// Socket is the path of the server's Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Database creates an empty database and returns its address.
func (s *Server) Database(t testing.TB, name string) string {
	t.Helper()
	s.Exec(t, s.URL("postgres"), "CREATE DATABASE "+name)
	return s.URL(name)
}

// Exec runs SQL.
func (s *Server) Exec(t testing.TB, address, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.PgConn().Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", strings.TrimSpace(sql), err)
	}
}
