package vector_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

func TestCache(t *testing.T) {
	c := vector.NewCache[int](2)
	one, two, three := vector.KeyOf("one"), vector.KeyOf("two"), vector.KeyOf("three")
	c.Put(one, 1)
	c.Put(two, 2)
	c.Get(one)
	c.Put(one, 1)
	c.Put(three, 3) // evicts two, the least recently used
	for key, want := range map[vector.Key]int{one: 1, two: 0, three: 3} {
		if got, ok := c.Get(key); got != want || ok != (want != 0) {
			t.Errorf("%x: %d, %v, want %d", key, got, ok, want)
		}
	}
	if use := c.Use(); use != (vector.CacheUse{Lookups: 4, Hits: 3}) {
		t.Errorf("%+v", use)
	}
	c.Clear()
	if _, ok := c.Get(one); ok {
		t.Error("cached after Clear")
	}
}
