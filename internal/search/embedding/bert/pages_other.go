//go:build !linux

package bert

// releasePages does nothing: the system takes pages of the program file out of memory when it needs to.
func releasePages(string) {}
