package main

import (
	"fmt"
	"net"
	"strings"
)

// notify sends a state such as "READY=1" to the service manager: the protocol of sd_notify(3). It does nothing if
// NOTIFY_SOCKET is not set. READY is sent once the daemon serves, so that units ordered after it can connect.
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
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}
