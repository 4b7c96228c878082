//go:build unix

package main

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The parts of HTTP/2 (RFC 9113) that one unary gRPC call needs. Headers are never decoded: a call succeeded when its
// message has come, and failed when its stream ends without one.
const (
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHeader = 9
	maxFrame    = 16384
	firstWindow = 65535 // flow control of a stream and of a connection until more is granted

	typeData, typeHeaders, typeReset, typeSettings, typeGoAway, typeWindow = 0, 1, 3, 4, 7, 8

	flagEnd        = 1 // of a stream; of settings: their acknowledgement
	flagEndHeaders = 4

	settingWindow = 4
	ourStream     = 1
	// what the server may send at once: more than any answer has
	ourWindow = 1 << 30
	maxAnswer = 64 << 20
)

// Errors of a call.
var (
	errStranger = errors.New("the socket belongs to somebody else")
	errRefused  = errors.New("the daemon did not run the command")
)

// conn is a connection for one call.
type conn struct {
	fd       int
	deadline func(alive, slow bool) time.Time // of what comes next

	alive, slow          bool  // the daemon has said something; that it may take long
	connLeft, streamLeft int64 // bytes that may be sent
	streamWindow         int64 // that a stream begins with
	read                 []byte
	message              []byte // of the answer, behind its gRPC header
}

// dial connects to a socket and makes sure that this user or root listens on it. It never waits for a daemon that is
// too busy to accept.
func dial(path string) (*conn, error) {
	if path == "" {
		return nil, unix.ENOENT
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	c := &conn{fd: fd, connLeft: firstWindow, streamLeft: firstWindow, streamWindow: firstWindow}
	if err := c.limit(unix.SO_SNDTIMEO, time.Now().Add(aliveLimit)); err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, err
	}
	uid, err := peerUID(fd)
	if err != nil {
		return nil, err
	}
	if uid != 0 && uid != uint32(os.Getuid()) {
		return nil, errStranger
	}
	return c, nil
}

// exchange sends a request message and returns the output in the answer. Errors: unix.EAGAIN after the deadline, and
// any other when there is no answer.
func (c *conn) exchange(request []byte) ([]byte, error) {
	out := make([]byte, 0, len(request)+1024)
	out = append(out, preface...)
	out = appendFrame(out, typeSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, settingWindow}, ourWindow))
	out = appendFrame(out, typeWindow, 0, 0, binary.BigEndian.AppendUint32(nil, ourWindow))
	out = appendFrame(out, typeHeaders, flagEndHeaders, ourStream, callHeaders())
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...)
	for {
		for len(body) > 0 && c.window() > 0 {
			n := min(int64(len(body)), c.window(), maxFrame)
			var flags byte
			if int(n) == len(body) {
				flags = flagEnd
			}
			out = appendFrame(out, typeData, flags, ourStream, body[:n])
			body = body[n:]
			c.connLeft, c.streamLeft = c.connLeft-n, c.streamLeft-n
		}
		if err := c.send(out); err != nil {
			return nil, err
		}
		out = out[:0]
		if done, err := c.handleFrame(); done || err != nil {
			if err != nil {
				return nil, err
			}
			output, ok := decode(c.message)
			if !ok {
				return nil, errRefused
			}
			return output, nil
		}
	}
}

// window is how many bytes may be sent now.
func (c *conn) window() int64 { return min(c.connLeft, c.streamLeft) }

// callHeaders is the header block of the call: literals that change no table (RFC 7541).
func callHeaders() []byte {
	out := []byte{0x83, 0x86} // POST, http
	out = appendLiteral(out, []byte{0x04}, "/memsidecar.v1alpha1.CommandService/Run")
	out = appendLiteral(out, []byte{0x01}, "memsidecar")             // :authority
	out = appendLiteral(out, []byte{0x0f, 0x10}, "application/grpc") // content-type
	return appendLiteral(out, []byte("\x00\x02te"), "trailers")
}

// appendLiteral appends a header of which name holds the encoded name. Values have less than 127 bytes.
func appendLiteral(out, name []byte, value string) []byte {
	out = append(append(out, name...), byte(len(value)))
	return append(out, value...)
}

// appendFrame appends a frame.
func appendFrame(out []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	out = append(out, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	out = binary.BigEndian.AppendUint32(out, stream)
	return append(out, payload...)
}

// handleFrame reads one frame. done is true when the answer is complete. Settings and pings are not acknowledged: the
// call is over before the server would mind.
func (c *conn) handleFrame() (done bool, err error) {
	head, err := c.take(frameHeader)
	if err != nil {
		return false, err
	}
	length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
	kind, flags := head[3], head[4]
	stream := binary.BigEndian.Uint32(head[5:]) & math.MaxInt32
	payload, err := c.take(length)
	if err != nil {
		return false, err
	}
	c.alive = true
	switch {
	case kind == typeSettings && flags&flagEnd == 0:
		c.setWindow(payload)
	case kind == typeWindow && len(payload) == 4:
		n := int64(binary.BigEndian.Uint32(payload) & math.MaxInt32)
		if stream == 0 {
			c.connLeft += n
		} else {
			c.streamLeft += n
		}
	case kind == typeGoAway, kind == typeReset:
		return false, errRefused
	case kind == typeHeaders && stream == ourStream:
		if flags&flagEnd != 0 { // trailers without a message before them
			return false, errRefused
		}
		c.slow = true
	case kind == typeData && stream == ourStream:
		c.message = append(c.message, payload...)
		return c.complete()
	}
	return false, nil
}

// setWindow applies the setting for the window that streams begin with.
func (c *conn) setWindow(settings []byte) {
	for ; len(settings) >= 6; settings = settings[6:] {
		if binary.BigEndian.Uint16(settings) == settingWindow {
			window := int64(binary.BigEndian.Uint32(settings[2:]))
			c.streamLeft += window - c.streamWindow
			c.streamWindow = window
		}
	}
}

// complete reports whether the message of the answer has come, and takes its gRPC header off.
func (c *conn) complete() (bool, error) {
	if len(c.message) < 5 {
		return false, nil
	}
	length := int64(binary.BigEndian.Uint32(c.message[1:]))
	switch {
	case c.message[0] != 0 || length > maxAnswer: // compressed: nobody asked for that
		return false, errRefused
	case int64(len(c.message)-5) < length:
		return false, nil
	}
	c.message = c.message[5 : 5+length]
	return true, nil
}

// take returns the next n bytes that the daemon sent.
func (c *conn) take(n int) ([]byte, error) {
	if n > maxFrame {
		return nil, errRefused
	}
	for len(c.read) < n {
		if err := c.limit(unix.SO_RCVTIMEO, c.deadline(c.alive, c.slow)); err != nil {
			return nil, err
		}
		buf := make([]byte, 32<<10)
		got, err := unix.Read(c.fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case got == 0:
			return nil, errRefused
		}
		c.read = append(c.read, buf[:got]...)
	}
	out := c.read[:n:n]
	c.read = c.read[n:]
	return out, nil
}

// send writes all of data.
func (c *conn) send(data []byte) error {
	for len(data) > 0 {
		if err := c.limit(unix.SO_SNDTIMEO, c.deadline(c.alive, c.slow)); err != nil {
			return err
		}
		n, err := unix.Write(c.fd, data)
		if err != nil && err != unix.EINTR {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}

// limit bounds the next system call of a kind. Error: unix.EAGAIN when the time is over.
func (c *conn) limit(option int, deadline time.Time) error {
	left := time.Until(deadline)
	if left <= 0 {
		return unix.EAGAIN
	}
	tv := unix.NsecToTimeval(max(left, time.Microsecond).Nanoseconds())
	return unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, option, &tv)
}
