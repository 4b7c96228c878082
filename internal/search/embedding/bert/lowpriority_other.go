//go:build !linux

package bert

// runLowPriority calls f. Other systems have no priority for a thread that Go can set.
func runLowPriority(f func()) { f() }
