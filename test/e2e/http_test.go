//go:build unix

package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// serveHTTP starts a daemon in a place whose directories for data and sockets are the program's own choice, with an
// address for HTTP or none.
func serveHTTP(t *testing.T, listen string) (d *daemon, runtimeDir string) {
	t.Helper()
	p := newPlace(t)
	home := p.Home()
	runtimeDir = filepath.Join(home, "run")
	// Open to all, so that what keeps others out is what the program does.
	for dir, mode := range map[string]os.FileMode{home: 0o755, runtimeDir: 0o755} {
		if err := os.MkdirAll(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "daemon", "serve", "--data", p.Data)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+runtimeDir, "XDG_STATE_HOME="+home+"/state",
		"MEMSIDECAR_HTTP_LISTEN="+listen)
	return p.serveAs(t, cmd), runtimeDir
}

// listening are the TCP addresses that a process listens on, as the kernel has them.
func listening(t *testing.T, pid int) (out []netip.AddrPort) {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d", pid)
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, fd := range fds {
		if link, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil {
			own = append(own, link)
		}
	}
	for _, name := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(proc + "/net/" + name)
		if os.IsNotExist(err) {
			continue // no IPv6 here
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line) // number, local address, remote address, state, …, the tenth the inode
			if len(f) < 10 || f[3] != "0A" || !slices.Contains(own, "socket:["+f[9]+"]") {
				continue
			}
			out = append(out, kernelAddress(t, f[1]))
		}
	}
	return out
}

// kernelAddress reads what /proc/net/tcp says: an address in words of four bytes, the lowest first, and a port.
func kernelAddress(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	var raw []byte
	for i := 0; i+8 <= len(host); i += 8 {
		word, err := strconv.ParseUint(host[i:i+8], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		t.Fatalf("%q is no address", text)
	}
	return netip.AddrPortFrom(addr, uint16(n))
}

// TestNoPortUnlessAsked looks at the process itself: no TCP socket listens unless one is configured, and that one on
// this machine only.
func TestNoPortUnlessAsked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process listens on is read from Linux's /proc")
	}
	quiet, dir := serveHTTP(t, "")
	if got := listening(t, quiet.Cmd.Process.Pid); len(got) > 0 {
		t.Errorf("without an address it listens on %v", got)
	}
	if found, _ := filepath.Glob(dir + "/memsidecar/*http*"); len(found) > 0 {
		t.Errorf("there is %v", found)
	}
	quiet.Stop(t)
	asked, _ := serveHTTP(t, "127.0.0.1:0")
	if got := listening(t, asked.Cmd.Process.Pid); len(got) != 1 || got[0].Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("with an address it listens on %v", got)
	}
	asked.Stop(t)
}

// TestTokenIsTheOwners tries to read the token as another user of the system.
func TestTokenIsTheOwners(t *testing.T) {
	d, runtimeDir := serveHTTP(t, "127.0.0.1:0")
	tokens, err := filepath.Glob(runtimeDir + "/memsidecar/*.http-token")
	if err != nil || len(tokens) != 1 {
		t.Fatalf("tokens %v, %v", tokens, err)
	}
	token := tokens[0]
	for name, want := range map[string]os.FileMode{token: 0o600, filepath.Dir(token): 0o700 | os.ModeDir} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, want %v, %v", name, info.Mode(), want, err)
		}
	}
	data, err := os.ReadFile(token)
	if err != nil {
		t.Fatal(err)
	}
	url, err := os.ReadFile(strings.TrimSuffix(token, "token") + "url")
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]int{"": 401, strings.TrimSpace(string(data)): 200} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSpace(string(url))+
			"/api/memory/entries", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+given)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("a token of %d characters: status %d, want %d", len(given), res.StatusCode, want)
		}
	}
	othersCannotRead(t, token)
	d.Stop(t)
}

// othersCannotRead tries as another user, first at the closed directory, then with the directory open.
func othersCannotRead(t *testing.T, token string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("reading it as another user is left out: only root can become one")
		return
	}
	read := func(name string) ([]byte, error) {
		cmd := exec.Command("cat", name)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cmd.CombinedOutput()
	}
	other := filepath.Join(filepath.Dir(token), "for-all")
	if err := os.WriteFile(other, []byte("all may read this"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{token, other} {
		if out, err := read(name); err == nil || !bytes.Contains(out, []byte("Permission denied")) {
			t.Errorf("through the directory of mode 0700 another user reads %q, %v", out, err)
		}
	}
	if err := os.Chmod(filepath.Dir(token), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := read(token); err == nil || !bytes.Contains(out, []byte("Permission denied")) {
		t.Errorf("through an open directory another user reads %q, %v", out, err)
	}
	if out, err := read(other); err != nil || string(out) != "all may read this" {
		t.Fatalf("the other user reads nothing at all, which proves nothing: %q, %v", out, err)
	}
}
