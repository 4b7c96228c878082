package crashfs_test

import (
	"os"
	"testing"
)

// Who has a file open for writing can be told on Linux alone.
func TestConformanceBeingWritten(t *testing.T) {
	both(t, func(n *notes) {
		look := func(name string) {
			writing, err := n.BeingWritten(name)
			n.note("%s is being written: %v", name, writing)
			n.err("being written", err)
		}
		look("f")
		f := n.open("f", os.O_WRONLY|os.O_CREATE)
		look("f")
		n.err("link", n.Link("f", "g"))
		look("g")
		r := n.open("f", os.O_RDONLY)
		second := n.open("g", os.O_RDWR)
		n.err("close", f.Close())
		look("f")
		n.err("close", second.Close())
		look("f")
		n.err("close", r.Close())
		look("f")
		n.write(n.open("f", os.O_WRONLY), "a lease that was given back is in nobody's way")
		look("f")
		n.err("rename", n.Rename("f", "h"))
		look("h")
		n.err("mkdir", n.MkdirAll("d"))
		look("d")
		look("../f")
	})
}

// Whether anybody could see a file change can be told on Linux alone.
func TestConformanceUnshared(t *testing.T) {
	both(t, func(n *notes) {
		look := func(name string) {
			alone, err := n.Unshared(name)
			n.note("%s is unshared: %v", name, alone)
			n.err("unshared", err)
		}
		look("f")
		f := n.open("f", os.O_RDWR|os.O_CREATE)
		look("f")
		n.err("close", f.Close())
		look("f")
		r := n.open("f", os.O_RDONLY)
		look("f")
		n.err("close", r.Close())
		look("f")
		n.err("link", n.Link("f", "g"))
		look("f")
		look("g")
		n.err("remove", n.Remove("g"))
		look("f")
		n.err("mkdir", n.MkdirAll("d"))
		look("d")
	})
}
