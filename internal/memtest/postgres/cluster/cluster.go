// Package cluster runs a real PostgreSQL: a cluster in a short directory, on a Unix socket. It is for tests, by package
// postgres, and for benchmarks.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a cluster and the server that runs on it. Its user postgres needs no password.
type Server struct {
	dir      string
	bin      string
	settings []string
	cmd      *exec.Cmd
	log      bytes.Buffer
}

// Find returns the directory of the programs of an installed PostgreSQL, "" when there is none.
func Find() string {
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

// Start creates a cluster below a directory with the programs in bin, and starts it with some settings, as NAME=VALUE.
// The path below must be short: a Unix socket lies there.
func Start(ctx context.Context, bin, below string, settings ...string) (*Server, error) {
	dir, err := os.MkdirTemp(below, "mspg")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, settings: settings}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

// create makes the cluster and starts it.
func (s *Server) create(ctx context.Context) error {
	if unprivileged() != nil {
		if err := os.Chown(s.dir, nobody, nobody); err != nil {
			return err
		}
	}
	initdb := s.command("initdb", "--pgdata", filepath.Join(s.dir, "data"), "--username", "postgres", "--auth", "trust",
		"--no-sync", "--encoding", "UTF8", "--locale", "C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.Restart(ctx)
}

// nobody is the uid and gid of the server where this process runs as root.
const nobody = 65534

// command returns a program of the server.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, unprivileged()
	cmd.Env = append(os.Environ(), "HOME="+s.dir)
	return cmd
}

// Restart starts the server again after Kill and waits until it answers.
func (s *Server) Restart(ctx context.Context) error {
	_ = os.Remove(filepath.Join(s.dir, "data", "postmaster.pid"))
	args := []string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-h", ""}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.cmd = s.command("postgres", args...)
	s.log.Reset()
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for range 600 {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.Kill()
	return fmt.Errorf("PostgreSQL does not answer:\n%s", s.log.String())
}

// Kill ends the server and its connections at once, as a crash does.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT) // "immediate": no checkpoint, recovery at the next start
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Remove kills the server and removes the cluster.
func (s *Server) Remove() error {
	s.Kill()
	return os.RemoveAll(s.dir)
}

// URL is the address of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, s.dir)
}

// Socket is the path of the server's Unix socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Exec runs SQL at the address of a database.
func (s *Server) Exec(ctx context.Context, address, sql string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(sql), err)
	}
	return nil
}
