package main

import (
	"fmt"
	"net"
	"strings"
)

// notify tells the service manager about this process, where one wants to know: systemd names a socket for that in NOTIFY_SOCKET. Of readiness it
// is told once requests are answered, so that whoever is started after the daemon finds it.
func (a *app) notify(state string) error {
	name := a.env("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if abstract, ok := strings.CutPrefix(name, "@"); ok {
		name = "\x00" + abstract
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}
