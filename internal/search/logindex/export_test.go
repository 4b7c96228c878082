package logindex

// Limits are the bounds of what is indexed; zero leaves the default.
type Limits struct{ Entries, Bytes, Summaries, Texts int }

// SetLimits sets the limits.
func (x *Index) SetLimits(l Limits) {
	if l != (Limits{}) {
		x.limits = limits{l.Entries, l.Bytes, l.Summaries, l.Texts}
	}
}

// IndexedTexts is the number of texts indexed of a space.
func (x *Index) IndexedTexts(space string) int {
	if space == "" {
		space = "default"
	}
	return x.cache(space).size()
}

// CachedSpaces is the number of spaces with a cache.
func (x *Index) CachedSpaces() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.caches)
}

// ReleaseIdle frees idle logs now.
func (x *Index) ReleaseIdle() { x.releaseIdle(x.cfg.Now()) }
