package crashfs

import "math/rand/v2"

// pageSize is the unit in which the simulated kernel writes; sectorSize is the unit that a disk writes atomically.
const (
	pageSize   = 4096
	sectorSize = 512
)

// page is immutable once it is part of a content; nil stands for zeros.
type page [pageSize]byte

// content is the bytes of a file. Bytes of the last page beyond size are zero.
type content struct {
	pages []*page
	size  int64
}

// page returns page i, nil for zeros.
func (c *content) page(i int) *page {
	if i < len(c.pages) {
		return c.pages[i]
	}
	return nil
}

// set replaces page i.
func (c *content) set(i int, p *page) {
	for len(c.pages) <= i {
		c.pages = append(c.pages, nil)
	}
	c.pages[i] = p
}

// clone copies the list of pages. The pages are shared.
func (c *content) clone() content {
	return content{pages: append([]*page(nil), c.pages...), size: c.size}
}

// readAt copies what there is from offset off on, and returns how many bytes.
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

// truncate sets the size, also to a larger one, and returns the numbers of the pages that a smaller size changed.
func (c *content) truncate(size int64) []int {
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

// normalise clears what is beyond the size, after pages and size of different moments were combined.
func (c *content) normalise() {
	size := c.size
	c.size = int64(len(c.pages)) * pageSize
	if size < c.size {
		c.truncate(size)
	}
	c.size = size
}

// unsynced is what happened to a file since it was last durable.
type unsynced struct {
	pages map[int][]*page // versions of a page, oldest first
	sizes []int64         // oldest first
}

// add adds a version of page i.
func (u *unsynced) add(i int, p *page) {
	if u.pages == nil {
		u.pages = map[int][]*page{}
	}
	u.pages[i] = append(u.pages[i], p)
}

// join appends what happened later.
func (u *unsynced) join(later unsynced) {
	for i, versions := range later.pages {
		for _, p := range versions {
			u.add(i, p)
		}
	}
	u.sizes = append(u.sizes, later.sizes...)
}

// clone returns an independent copy.
func (u *unsynced) clone() unsynced {
	var c unsynced
	c.join(*u)
	return c
}

// tear returns what a crash may leave of a page: its durable version, one of the later ones, or sectors of two
// successive ones.
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
	// A disk writes a sector whole or not at all, and the sectors of a page in any order.
	for at := 0; at < pageSize; at += sectorSize {
		if rng.IntN(2) == 0 {
			copy(torn[at:at+sectorSize], next[at:])
		}
	}
	return torn
}

// pickSize returns one of the sizes that a file went through, most often the oldest or the newest.
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
