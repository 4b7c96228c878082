package jsonstore

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// TidyLog does for a daily log what Tidy does for memories; Complete comes after it.
func TidyLog(f *dailylog.File) (notes []string) { return tidyLog(f) }

// MarkPartial is Mark for a file of a program that drops the fields of the file as a whole that it does not know: those that were there
// before are kept, beside those in fields.
func (p *Publisher) MarkPartial(fsys durable.FS, name string, fields map[string]json.RawMessage) {
	space := memory.DefaultSpace
	if rest, below := strings.CutPrefix(name, "spaces/"); below {
		space, _, _ = strings.Cut(rest, "/")
	}
	p.mu.Lock()
	former, ok := p.extra[space]
	p.mu.Unlock()
	if !ok {
		if data, err := durable.ReadFile(fsys, name+".bak"); err == nil {
			former, _ = decodeExtra(data) // what cannot be read has nothing to keep
		}
	}
	p.Mark(name)
	all := maps.Clone(former)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, fields)
	p.mu.Lock()
	p.extra[space] = all
	p.mu.Unlock()
}
