package chronicle

// Limits are the bounds of what is kept; zero leaves the default.
type Limits struct{ Entries, Bytes, Summaries, Kept int }

// Limit sets bounds.
func (f *Finder) Limit(l Limits) {
	if l != (Limits{}) {
		f.limits = limits{l.Entries, l.Bytes, l.Summaries, l.Kept}
	}
}

// Kept is the number of texts kept of a space.
func (f *Finder) Kept(space string) int {
	if space == "" {
		space = "default"
	}
	return f.shelf(space).size()
}

// Shelves is the number of spaces that were searched.
func (f *Finder) Shelves() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.shelves)
}

// Release gives back what is idle now.
func (f *Finder) Release() { f.release(f.cfg.Now()) }
