package crashfs

import "math/rand/v2"

const (
	pageSize   = 4096
	sectorSize = 512 // what a disk writes whole
)

// page is never changed once it is part of a content; nil stands for zeros.
type page [pageSize]byte

// content is the bytes of a file. Beyond size its last page is zero.
type content struct {
	pages []*page
	size  int64
}

func (c *content) page(i int) *page {
	if i < len(c.pages) {
		return c.pages[i]
	}
	return nil
}

func (c *content) set(i int, p *page) {
	for len(c.pages) <= i {
		c.pages = append(c.pages, nil)
	}
	c.pages[i] = p
}

func (c *content) clone() content {
	return content{pages: append([]*page(nil), c.pages...), size: c.size}
}

// readAt copies what there is from offset off and returns how much.
func (c *content) readAt(p []byte, off int64) int {
	total := 0
	for len(p) > 0 && off < c.size {
		in := int(off % pageSize)
		n := int(min(int64(min(pageSize-in, len(p))), c.size-off))
		if pg := c.page(int(off / pageSize)); pg != nil {
			copy(p[:n], pg[in:])
		} else {
			clear(p[:n])
		}
		p, off, total = p[n:], off+int64(n), total+n
	}
	return total
}

// cut sets the size and returns the numbers of the pages that a smaller size changed.
func (c *content) cut(size int64) []int {
	var changed []int
	if size < c.size {
		full := int(size / pageSize)
		for i := full; i < len(c.pages); i++ {
			if c.pages[i] == nil {
				continue
			}
			var rest *page
			if in := size % pageSize; i == full && in > 0 {
				rest = new(page)
				copy(rest[:in], c.pages[i][:in])
			}
			c.pages[i] = rest
			changed = append(changed, i)
		}
	}
	c.size = size
	return changed
}

// normalise drops what is beyond the size, whatever pages came together.
func (c *content) normalise() {
	size := c.size
	c.size = int64(len(c.pages)) * pageSize
	if size < c.size {
		c.cut(size)
	}
	c.size = size
}

// unsynced is what a file went through since it was last on disk.
type unsynced struct {
	pages map[int][]*page // versions of a page, oldest first
	sizes []int64         // oldest first
}

func (u *unsynced) add(i int, p *page) {
	if u.pages == nil {
		u.pages = map[int][]*page{}
	}
	u.pages[i] = append(u.pages[i], p)
}

// join is u followed by later.
func (u *unsynced) join(later unsynced) {
	for i, versions := range later.pages {
		for _, p := range versions {
			u.add(i, p)
		}
	}
	u.sizes = append(u.sizes, later.sizes...)
}

func (u *unsynced) clone() unsynced {
	var c unsynced
	c.join(*u)
	return c
}

// tear returns what a crash may leave of a page that had a version on disk and others after it: one of them, or sectors
// of two that follow each other.
func tear(disk *page, versions []*page, rng *rand.Rand) *page {
	k := rng.IntN(len(versions) + 1)
	base := disk
	if k > 0 {
		base = versions[k-1]
	}
	if k == len(versions) || rng.IntN(2) == 0 {
		return base
	}
	torn, next := new(page), versions[k]
	if base != nil {
		*torn = *base
	}
	if next == nil {
		next = new(page)
	}
	for at := 0; at < pageSize; at += sectorSize {
		if rng.IntN(2) == 0 {
			copy(torn[at:at+sectorSize], next[at:])
		}
	}
	return torn
}

// pickSize returns one of the sizes a file went through, most often the oldest or the newest.
func pickSize(sizes []int64, rng *rand.Rand) int64 {
	switch rng.IntN(3) {
	case 0:
		return sizes[0]
	case 1:
		return sizes[len(sizes)-1]
	default:
		return sizes[rng.IntN(len(sizes))]
	}
}
