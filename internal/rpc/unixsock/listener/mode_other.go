//go:build !linux

package listener

// restrictUnbound does nothing: this system has no mode for a socket without a name. Listen sets it right after, and
// meanwhile the directory and the check of every connection's user keep others out.
func restrictUnbound(uintptr) error { return nil }
