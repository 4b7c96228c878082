package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// parseError is the answer of JSON-RPC 2.0 to what is no JSON; such a message has no id that could be repeated.
const parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: one message of JSON per line"}}` + "\n"

// mcpLines passes on the lines of an MCP client that are JSON and answers each of the others with parseError. The
// transport below ends the session at the first one that it cannot read.
type mcpLines struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of the line that is passed on
}

// Read returns the next bytes of the lines that are JSON.
func (l *mcpLines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.in.ReadBytes('\n')
		switch text := bytes.TrimSpace(line); {
		case len(text) > 0 && !json.Valid(text):
			if _, err := io.WriteString(l.out, parseError); err != nil {
				return 0, err
			}
		case len(text) > 0:
			l.rest = append(text, '\n')
			continue
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close does nothing: standard input is not the transport's.
func (l *mcpLines) Close() error { return nil }

// lockedWriter is a writer that the transport and mcpLines share. Each message is one Write. Close does nothing.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l *lockedWriter) Close() error { return nil }
