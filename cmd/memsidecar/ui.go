package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/daemon"
)

const uiLong = `Open the panel in the browser: memories with their history, searches with explained scores,
operations and undo, daily logs, sessions, the rolling summary, and daemon status.

The printed address admits one browser, once, within a minute. If the daemon serves HTTP (http_listen in the
configuration), the address points there. Otherwise this command serves the panel on a free loopback port until it
is interrupted.

With --token, print the HTTP address for programs, and the file with the bearer token that they must send.`

// uiCommand is "ui".
func (a *app) uiCommand() *cobra.Command {
	var token, noOpen bool
	cmd := &cobra.Command{
		Use:     "ui",
		Short:   "Open the panel in the browser",
		Long:    uiLong,
		Example: "  memsidecar ui\n  memsidecar ui --token",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			c, err := a.connect(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			defer c.close()
			files := web.FilesFor(c.info.GetSocketPath())
			secret, at, err := files.Read()
			switch {
			case errors.Is(err, fs.ErrNotExist) && token:
				return &cliError{what: "the daemon does not serve HTTP", cause: err,
					hint: "Set http_listen in the configuration, such as 127.0.0.1:8765, then run `memsidecar daemon " +
						"restart`."}
			case errors.Is(err, fs.ErrNotExist) || err == nil && !token && strings.HasPrefix(at, "unix:"):
				return a.serveUI(cmd.Context(), cfg, c, noOpen)
			case err != nil:
				return err
			case token:
				return a.printHTTP(at, files)
			}
			code, err := newLoginCode(cmd.Context(), at, secret)
			if err != nil {
				return &cliError{what: "the daemon at " + at + " rejects the token: " + err.Error(), cause: err,
					hint: "`memsidecar daemon restart` creates a new token."}
			}
			return a.openUI(c.info.GetSocketPath(), at, code, noOpen)
		},
	}
	cmd.Flags().BoolVar(&token, "token", false, "print the HTTP address and the token file for programs")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "only print the address")
	return cmd
}

// printHTTP prints the address and the token file for programs.
func (a *app) printHTTP(at string, files web.Files) error {
	if a.out.json {
		return a.out.object(object{{"url", at}, {"token_file", files.Token}})
	}
	a.out.printf("HTTP:   %s\nToken:  %s\n", at, files.Token)
	return nil
}

// newLoginCode requests a login code from the daemon.
func newLoginCode(ctx context.Context, at, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/api/login-codes", bytes.NewReader(nil))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	// Never use a proxy between two programs on one machine.
	res, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var out struct{ Code string }
	if res.StatusCode != http.StatusCreated {
		return "", errors.New(res.Status)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 4<<10)).Decode(&out); err != nil {
		return "", fmt.Errorf("read the response: %w", err)
	}
	return out.Code, nil
}

// serveUI serves the panel until ctx ends.
func (a *app) serveUI(ctx context.Context, cfg daemon.Config, c *client, noOpen bool) error {
	listener, err := web.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve the panel: %w", err)
	}
	machine, err := a.machine(cfg)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := web.New(web.Config{Conn: c.conn, Logger: newLogger(a.stderr, max(cfg.LogLevel, slog.LevelWarn)),
		Now: a.now, Machine: machine})
	if err := a.openUI(c.info.GetSocketPath(), web.URL(listener.Addr()), server.Login(), noOpen); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.out.note("serving the panel; stop with Ctrl-C")
	return server.Serve(ctx, listener)
}

// openUI prints the one-time address and opens it in the browser. Browsers do not send the fragment after "#", so the
// code reaches no server log.
func (a *app) openUI(socket, at, code string, noOpen bool) error {
	address := at + "/#code=" + code
	if a.out.json {
		if err := a.out.object(object{{"url", address}}); err != nil {
			return err
		}
	} else {
		a.out.printf("%s\n", address)
	}
	if noOpen || a.out.json || !terminal(a.stdin) {
		return nil
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	page, err := redirectPage(filepath.Dir(socket), address)
	if err == nil {
		err = exec.Command(program, page).Run()
	}
	if err != nil {
		a.out.note("cannot start a browser; open the address above")
	}
	return nil
}

// redirectPage writes a page, readable by the user only, that redirects to the address. A code in the arguments of the
// browser would be visible to every user of the machine.
func redirectPage(dir, address string) (string, error) {
	name := filepath.Join(dir, "memsidecar.ui.html")
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=%s\"><a "+
		"href=\"%s\">memsidecar</a>\n", address, address)
	return name, errors.Join(err, f.Close())
}
