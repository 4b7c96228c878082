package redact

import "sort"

// origins leads from a text back to the one that it was made from. Each element says where a stretch of the text
// begins, and where the same bytes began; nil means that the two are the same. Findings are reported in the text that
// was given, however often it was shortened since.
type origins []origin

// origin is the beginning of a stretch: at an offset of the text, and at an offset of its source.
type origin struct{ at, source int }

// source returns the offset in the source of an offset in the text.
func (o origins) source(at int) int {
	i := sort.Search(len(o), func(i int) bool { return o[i].at > at }) - 1
	if i < 0 {
		return at
	}
	return o[i].source + at - o[i].at
}

// finding returns f with the offsets of the source. A part that was removed from within it belongs to it.
func (o origins) finding(f Finding) Finding {
	return Finding{f.Kind, o.source(f.From), o.source(f.To-1) + 1}
}

// join adds, from offset at on, the stretches that cover from to to of a text whose origins are back.
func (o origins) join(at int, back origins, from, to int) origins {
	o = append(o, origin{at, back.source(from)})
	for _, b := range back {
		if b.at > from && b.at < to {
			o = append(o, origin{at + b.at - from, b.source})
		}
	}
	return o
}

// kept is what strip keeps of a text, and where it stood.
type kept struct {
	text []byte
	back origins
}

// add keeps s, which stands at an offset of the source.
func (k *kept) add(s string, source int) {
	if s == "" {
		return
	}
	if n := len(k.text); n == 0 && len(k.back) == 0 || k.back.source(n) != source {
		k.back = append(k.back, origin{n, source})
	}
	k.text = append(k.text, s...)
}

// cut drops what was kept from an offset on.
func (k *kept) cut(at int) {
	k.text = k.text[:at]
	for n := len(k.back); n > 0 && k.back[n-1].at >= at; n-- {
		k.back = k.back[:n-1]
	}
}
