// Package peer asks the kernel which user is at the other end of a Unix socket. The Go client carries a copy of it,
// which clients/generate makes.
package peer

// Peer is the process at the other end of a connection, as the kernel saw it when the connection was made.
type Peer struct {
	UID uint32
	PID int32 // in the reader's namespace; for the log only, never to decide what is allowed
}
