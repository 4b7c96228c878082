package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/socketpath"
)

// CheckAddress returns an error unless addr can be reached from this machine only: the absolute path of a Unix
// socket, or a numeric loopback address with a port, such as 127.0.0.1:8765. Names are rejected, localhost too: the
// resolver decides what they mean. Port 0 lets the system choose.
func CheckAddress(addr string) error {
	if filepath.IsAbs(addr) {
		return socketpath.Check(addr)
	}
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return errors.New(
			"must be a numeric address with a port, such as 127.0.0.1:8765, or the absolute path of a Unix socket",
		)
	}
	if !at.Addr().Unmap().IsLoopback() {
		return errors.New(
			"must be a loopback address, such as 127.0.0.1:8765, or the absolute path of a Unix socket: " +
				"other machines could reach this one",
		)
	}
	return nil
}

// Listen listens on an address that CheckAddress accepts. Only its owner can connect to a Unix socket. A socket on
// which another process answers is an error; a stale one is replaced.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if err := CheckAddress(addr); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(addr) {
		return new(net.ListenConfig).Listen(ctx, "tcp", addr)
	}
	return listener.Listen(ctx, addr, "the HTTP interface of another daemon")
}

// URL is the address of the panel at a listener's address: http://127.0.0.1:8765, or unix:PATH.
func URL(addr net.Addr) string {
	if addr.Network() == "unix" {
		return "unix:" + addr.String()
	}
	return "http://" + addr.String()
}

// allowedHosts is the set of valid Host headers. A page of another site whose name resolves to this machine sends
// that name and is rejected.
func allowedHosts(addr net.Addr) map[string]bool {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return map[string]bool{"localhost": true}
	}
	port := strconv.Itoa(tcp.Port)
	hosts := map[string]bool{}
	for _, name := range []string{tcp.IP.String(), "localhost"} {
		hosts[net.JoinHostPort(name, port)] = true
		if port == "80" {
			hosts[name] = true // the port of http is left out
		}
	}
	return hosts
}

// Files are the files beside the daemon's own socket by which programs of the same user find its HTTP server. They
// exist while the daemon serves HTTP; after a crash they name a server that no longer answers.
type Files struct {
	Token string // holds the token and a newline, mode 0600
	URL   string // holds what URL returns and a newline, mode 0600
}

// FilesFor names the files that belong to the daemon with this socket.
func FilesFor(socket string) Files {
	base := strings.TrimSuffix(socket, ".sock")
	return Files{Token: base + ".http-token", URL: base + ".http-url"}
}

// Write creates both files with mode 0600 and removes older ones. It does not follow symbolic links.
func (f Files) Write(token, url string) error {
	for name, text := range map[string]string{f.Token: token, f.URL: url} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace %s: %w", name, err)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		_, err = file.WriteString(text + "\n")
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// Read returns what the files hold. The error is fs.ErrNotExist when no daemon serves HTTP.
func (f Files) Read() (token, url string, err error) {
	for name, into := range map[string]*string{f.Token: &token, f.URL: &url} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", "", fmt.Errorf("read %s: %w", name, err)
		}
		*into = strings.TrimSpace(string(data))
	}
	return token, url, nil
}

// Remove removes both files. A missing file is no error.
func (f Files) Remove() error {
	var errs []error
	for _, name := range []string{f.Token, f.URL} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
