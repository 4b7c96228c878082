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

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/web"
)

const uiLong = `Open the panel in the browser: the memories and their history, searches with the reasons for their order, operations and their undo,
daily logs, sessions, the rolling summary, and how the daemon does.

The address that is printed lets one browser in, once, within a minute. Where the daemon serves HTTP (http_listen in the
configuration) it leads there. Else this command serves the panel itself, on a port of this machine that nobody else's pages can use, until it is
interrupted.

With --token the address for programs is printed, and the file that holds the token which they must send.`

func (a *app) uiCommand() *cobra.Command {
	var token, noOpen bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Open the panel in the browser",
		Long:  uiLong,
		Args:  cobra.NoArgs,
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
			files := web.FilesFor(c.info.GetSocket())
			secret, at, err := files.Read()
			switch {
			case errors.Is(err, fs.ErrNotExist) && token:
				return &cliError{what: "the daemon does not serve HTTP", cause: err,
					hint: "Set http_listen, such as 127.0.0.1:8765, in the configuration, and `memsidecar restart`."}
			case errors.Is(err, fs.ErrNotExist) || err == nil && !token && strings.HasPrefix(at, "unix:"):
				return a.serveUI(cmd.Context(), cfg, c, noOpen)
			case err != nil:
				return err
			case token:
				return a.printHTTP(at, files)
			}
			code, err := newLoginCode(cmd.Context(), at, secret)
			if err != nil {
				return &cliError{what: "the daemon does not let this program in at " + at + ": " + err.Error(), cause: err, hint: "`memsidecar restart` makes a new token."}
			}
			return a.openUI(c.info.GetSocket(), at, code, noOpen)
		},
	}
	cmd.Flags().BoolVar(&token, "token", false, "say where programs find HTTP and its token")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "only print the address")
	return cmd
}

func (a *app) printHTTP(at string, files web.Files) error {
	if a.out.json {
		return a.out.object(object{{"url", at}, {"token_file", files.Token}})
	}
	a.out.printf("HTTP:   %s\nToken:  %s\n", at, files.Token)
	return nil
}

// newLoginCode asks the daemon for a code.
func newLoginCode(ctx context.Context, at, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/api/login-codes", bytes.NewReader(nil))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	// No proxy stands between two programs of one machine, whatever the environment says.
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
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return out.Code, nil
}

// serveUI serves the panel until ctx ends.
func (a *app) serveUI(ctx context.Context, cfg daemon.Config, c *client, noOpen bool) error {
	listener, err := web.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve the panel: %w", err)
	}
	server := web.New(web.Config{Conn: c.conn, Logger: newLogger(a.stderr, max(cfg.LogLevel, slog.LevelWarn)), Now: a.now})
	if err := a.openUI(c.info.GetSocket(), web.URL(listener.Addr()), server.Login(), noOpen); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.out.note("serving the panel; interrupt to end")
	return server.Serve(ctx, listener)
}

// openUI prints the one-time address and leads the browser there. The code stands behind the #, which browsers keep for themselves.
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
	page, err := leadingPage(filepath.Dir(socket), address)
	if err == nil {
		err = exec.Command(program, page).Run()
	}
	if err != nil {
		a.out.note("no browser could be opened; open the address above")
	}
	return nil
}

// leadingPage writes a page for the user alone that leads to the address. On a command line every user could read the code, and be faster.
func leadingPage(dir, address string) (string, error) {
	name := filepath.Join(dir, "memsidecar.ui.html")
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=%s\"><a href=\"%s\">memsidecar</a>\n", address, address)
	return name, errors.Join(err, f.Close())
}
