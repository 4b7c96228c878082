package idmap

// Room is how many entries there are, used or not.
func (t *Table) Room() (entries int) {
	entries = len(t.entries)
	if t.parts != nil {
		for i := range t.parts {
			entries += t.parts[i].Room()
		}
	}
	return entries
}

// Clone returns a copy.
func (t *Table) Clone() *Table { return t.clone() }
