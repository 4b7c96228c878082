package recall

import (
	"hash/maphash"
	"sync"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// maxCleanTexts bounds cleanTexts, which then takes about half a megabyte.
const maxCleanTexts = 1 << 14

// cleanTexts remembers the texts in which redact found nothing, so that a memory is examined once and not with every
// recall. It holds hashes, no text: the seed is drawn at the start, so nobody can write a text with the hash of another
// one. The zero value is not ready for use; it is safe for concurrent use.
type cleanTexts struct {
	seed maphash.Seed

	mu     sync.Mutex
	hashes map[uint64]struct{}
}

func newCleanTexts() *cleanTexts {
	return &cleanTexts{seed: maphash.MakeSeed(), hashes: map[uint64]struct{}{}}
}

// sanitize is the function of that name for a text that is stored and shown again.
func (c *cleanTexts) sanitize(s string) string {
	if s = removeInvisible(s); !c.known(s) {
		clean, _ := redact.Text(s)
		if clean == s {
			c.remember(s)
		}
		s = clean
	}
	return tidy(s)
}

// known reports whether redact found nothing in s before.
func (c *cleanTexts) known(s string) bool {
	hash := maphash.String(c.seed, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.hashes[hash]
	return ok
}

// remember records that redact found nothing in s. A full set begins anew.
func (c *cleanTexts) remember(s string) {
	hash := maphash.String(c.seed, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hashes) == maxCleanTexts {
		clear(c.hashes)
	}
	c.hashes[hash] = struct{}{}
}
