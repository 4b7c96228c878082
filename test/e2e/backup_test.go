package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

var copies = flag.Int("copies", 12, "copies of the directory made while the daemon writes")

// load lets clients write, list and append logs until stop is closed.
func load(t *testing.T, p place, n int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for c := range n {
		conn := p.dial(t)
		client, logs, files := pb.NewMemoryServiceClient(conn), pb.NewLogServiceClient(conn),
			pb.NewFileServiceClient(conn)
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				err := add(ctx, client, fmt.Sprintf("%d-%d", c, i))
				if err == nil && i%5 == 0 {
					_, err = logs.Append(ctx,
						&pb.LogServiceAppendRequest{Space: fmt.Sprint("space", c%3),
							Entries: []*pb.NewLogEntry{{Content: fmt.Sprint("entry ", i)}}})
				}
				if err == nil && i%10 == 0 {
					_, err = files.Publish(ctx, &pb.FileServicePublishRequest{})
				}
				if err != nil && ctx.Err() == nil {
					t.Errorf("client %d: %v", c, err)
					return
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// stateAt replays the journal of a directory alone, from its beginning up to lsn, and returns the digest of the state.
func stateAt(t *testing.T, data string, lsn int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(data, "journal", "0*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no segment", err)
	}
	number := regexp.MustCompile(`^\{"lsn":(\d+),`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for line := range bytes.SplitAfterSeq(text, []byte{'\n'}) {
			if m := number.FindSubmatch(line); m != nil {
				if n, _ := strconv.ParseInt(string(m[1]), 10, 64); n > lsn {
					break
				}
			}
			out = append(out, line...)
		}
		if bytes.Count(out, []byte{'\n'}) < 2 {
			break
		}
		if err := os.WriteFile(filepath.Join(dir, "journal", filepath.Base(name)), out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := check(dir)
	if err != nil || len(report.Findings) > 0 || report.LSN != lsn {
		t.Fatalf("the reference up to %d: %+v %v", lsn, report, err)
	}
	return report.Digest
}

func check(dir string) (store.Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return store.Report{}, err
	}
	defer root.Close()
	return store.Check(durable.Dir(root))
}

// TestBackupUnderLoad backs up a daemon under eight writing clients and restores it elsewhere: the state is the one
// that the journal of the original gives at the position that the backup names.
func TestBackupUnderLoad(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	stop := load(t, p, 8)
	type made struct {
		file   string
		lsn    int64
		digest string
	}
	var backups []made
	said := regexp.MustCompile(`up to journal position (\d+)-\w+\.(?s:.*)digest ([0-9a-f]+)`)
	for i := range 4 {
		file := filepath.Join(p.Home(), fmt.Sprintf("b%d.tar.gz", i))
		m := said.FindStringSubmatch(p.Succeeds(t, "backup", "create", file))
		if m == nil {
			t.Fatal("the backup does not say what it holds")
		}
		lsn, _ := strconv.ParseInt(m[1], 10, 64)
		backups = append(backups, made{file, lsn, m[2]})
	}
	stop()
	d.Stop(t)
	if backups[0].lsn == backups[3].lsn {
		t.Error("nothing was written between the backups")
	}
	for _, b := range backups {
		to := newPlace(t)
		to.Succeeds(t, "backup", "restore", b.file)
		report, err := check(to.Data)
		if err != nil || len(report.Findings) > 0 {
			t.Fatalf("%+v %v", report, err)
		}
		if want := stateAt(t, p.Data, b.lsn); report.LSN != b.lsn || report.Digest != want || b.digest != want {
			t.Errorf("restored %d %s, the backup said %d %s, the journal says %s", report.LSN, report.Digest, b.lsn,
				b.digest, want)
		}
		rd := to.serve(t)
		if err := add(t.Context(), to.memories(t), "after-the-restore"); err != nil {
			t.Error(err)
		}
		rd.Stop(t)
		t.Logf("position %d: digest %s, as the journal of the original has it", b.lsn, report.Digest)
	}
}

// TestDaemonDiesDuringBackup kills the daemon while it sends: the command says so and leaves nothing behind, neither
// under the final name nor another.
func TestDaemonDiesDuringBackup(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	big := strings.Repeat("memory ", 1000)
	client := p.memories(t)
	for i := range 40 { // more than fits between the two, so that the daemon waits for whoever reads
		req := &pb.MemoryServiceAddRequest{}
		for n := range 100 {
			text := fmt.Sprintf("%d %x %s", n, rand.Uint64(), big[:rand.IntN(6000)])
			req.Items = append(req.Items, &pb.NewMemory{Id: fmt.Sprintf("%d-%d", i, n), Category: "facts",
				Content: text})
		}
		if _, err := client.Add(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(p.Home(), "b.tar.gz")
	cmd := p.Command("backup", "create", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for { // it has begun to write
		if info, err := os.Stat(file + ".partial"); err == nil && info.Size() > 0 {
			break
		}
		if _, err := os.Stat(file); err == nil {
			t.Skip("the backup was faster")
		}
	}
	d.Kill()
	err := cmd.Wait()
	if err == nil {
		t.Skip("the backup was faster")
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 ||
		!strings.Contains(stderr.String(), "during the backup") {
		t.Errorf("%v: %s", err, stderr.String())
	}
	for _, name := range []string{file, file + ".partial"} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was left: %v", name, err)
		}
	}
}

// TestPlainCopies copies the directory with ordinary means, file by file in any order, while the daemon writes and
// takes snapshots. A copy opens as the state at some position, or is refused by name; it never opens as anything
// else.
func TestPlainCopies(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	stop := load(t, p, 4)
	rng := rand.New(rand.NewPCG(7, 7))
	dirs := make([]string, *copies)
	for i := range dirs {
		dirs[i] = filepath.Join(t.TempDir(), "copy")
		copyInAnyOrder(t, p.Data, dirs[i], rng)
	}
	stop()
	d.Stop(t)
	states := map[int64]string{}
	opened, refused := 0, map[string]int{}
	for i, dir := range dirs {
		report, err := open(dir)
		if err != nil {
			why := err.Error()
			if !strings.Contains(why, "journal/") && !strings.Contains(why, "snapshots/") {
				t.Errorf("copy %d is refused without naming a file: %v", i, err)
			}
			refused[regexp.MustCompile(`[0-9]+`).ReplaceAllString(why, "N")]++
			continue
		}
		if states[report.LSN] == "" {
			states[report.LSN] = stateAt(t, p.Data, report.LSN)
		}
		if report.Digest != states[report.LSN] {
			t.Errorf("copy %d opened at %d as %s, which was %s", i, report.LSN, report.Digest, states[report.LSN])
		}
		opened++
	}
	t.Logf("%d copies under load: %d opened, each as the state at its position; refused: %v", len(dirs), opened,
		refused)
}

// open opens a directory as the daemon does, and reads all of it.
func open(dir string) (report store.Report, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return report, err
	}
	defer root.Close()
	st, err := store.Open(store.Config{FS: durable.Dir(root), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, st.Close(context.Background())) }()
	report.LSN = st.LSN()
	if report.Digest, err = st.Digest(); err != nil {
		err = fmt.Errorf("opened, but cannot be read: %w", err)
		report.Digest = "unreadable"
		return report, nil // which is no state there ever was
	}
	return report, nil
}

// copyInAnyOrder lists the directory and then copies its files in random order. Those that are gone by then are
// missing in the copy.
func copyInAnyOrder(t *testing.T, from, to string, rng *rand.Rand) {
	t.Helper()
	var names []string
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		rel, err := filepath.Rel(from, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := copyFile(name, filepath.Join(to, rel)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// copyFile copies in small pieces, so that the file changes meanwhile.
func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 4096))
	return errors.Join(err, out.Close())
}
