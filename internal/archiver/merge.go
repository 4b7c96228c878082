package archiver

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	// alike is the share of common words from which memories are merged.
	alike = 0.5
	// leastGroup is the size from which a group is worth it.
	leastGroup = 3
	// maxParts bounds what a group becomes.
	maxParts = 3
)

// member is a memory with what comparison needs of it.
type member struct {
	*memory.Memory
	text      text
	sentences []text
}

// groups finds the memories of one kind that are alike: each of a group is like the first one, which matters most, and contradicts none of it.
// Those with the oldest memories come first.
func groups(kind []*memory.Memory) [][]*memory.Memory {
	index := newSimilar(nil)
	all := make([]member, len(kind))
	for i, m := range kind {
		index.add(m.Content, nil)
		all[i] = member{Memory: m, text: index.texts[i]}
		for _, s := range sentences(m.Content) {
			all[i].sentences = append(all[i].sentences, textOf(s))
		}
	}
	leaders := make([]int32, len(all))
	for i := range leaders {
		leaders[i] = int32(i)
	}
	slices.SortStableFunc(leaders, func(a, b int32) int {
		x, y := all[a], all[b]
		return cmp.Or(cmp.Compare(y.Salience, x.Salience), cmp.Compare(y.AccessCount, x.AccessCount), y.CreatedAt.Compare(x.CreatedAt))
	})
	taken := make([]bool, len(all))
	var out [][]*memory.Memory
	for _, leader := range leaders {
		if taken[leader] {
			continue
		}
		group := gather(all, index, taken, leader)
		if members := fit(group, all); len(members) >= leastGroup {
			for _, i := range group[:len(members)] {
				taken[i] = true
			}
			out = append(out, members)
		}
	}
	slices.SortStableFunc(out, func(a, b []*memory.Memory) int { return oldest(a).CreatedAt.Compare(oldest(b).CreatedAt) })
	return out
}

func oldest(group []*memory.Memory) *memory.Memory {
	return slices.MinFunc(group, func(a, b *memory.Memory) int { return a.CreatedAt.Compare(b.CreatedAt) })
}

// gather lists the memories that may join a leader, itself first, the others from the oldest on.
func gather(all []member, index *similar, taken []bool, leader int32) []int32 {
	group := []int32{leader}
	for _, i := range index.near(all[leader].text, alike) {
		if i != leader && !taken[i] && !slices.ContainsFunc(group, func(j int32) bool { return contradict(&all[i], &all[j]) }) {
			group = append(group, i)
		}
	}
	return group
}

// contradict reports whether two memories say much the same with another number or negation.
func contradict(a, b *member) bool {
	for _, x := range a.sentences {
		for _, y := range b.sentences {
			if x.strict != y.strict && x.overlap(y) >= alike {
				return true
			}
		}
	}
	return false
}

// fit cuts a group to what fits the parts it may become; nil when it would not become fewer.
func fit(group []int32, all []member) []*memory.Memory {
	members := make([]*memory.Memory, len(group))
	for n, i := range group {
		members[n] = all[i].Memory
	}
	parts, n := join(members)
	if len(parts) >= n {
		return nil
	}
	return members[:n]
}

// part is one memory that a group becomes, and the members that it takes the place of.
type part struct {
	members []*memory.Memory
	merged  *memory.Memory
	said    map[string]bool // sentences, without what does not matter
}

// join makes of memories as few as can hold all of what they say. The first text of each part is kept as it stands; of the others, the sentences
// that were not said before. It stops where more than maxParts would be needed, and says how many memories are in the parts.
func join(members []*memory.Memory) (parts []*part, n int) {
	for n, m := range members {
		if len(parts) > 0 && parts[len(parts)-1].add(m) {
			continue
		}
		if len(parts) == maxParts {
			return parts, n
		}
		p := &part{members: []*memory.Memory{m}, said: map[string]bool{}, merged: m.Clone()}
		p.merged.ID, p.merged.Source = store.NewID(), memory.SourceConsolidation
		p.merged.Supersedes, p.merged.SupersededBy, p.merged.Revision = []string{m.ID}, "", 0
		p.merged.UpdatedAt = time.Time{} // the store sets it: what was merged is left alone until it is old again
		for _, s := range sentences(m.Content) {
			p.said[saying(s)] = true
		}
		parts = append(parts, p)
	}
	return parts, len(members)
}

// add joins a memory to the part; false when it does not fit, and then nothing has changed.
func (p *part) add(m *memory.Memory) bool {
	var news []string
	for _, s := range sentences(m.Content) {
		if !p.said[saying(s)] {
			news = append(news, s)
		}
	}
	next := p.merged.Clone()
	if len(news) > 0 {
		next.Content += "\n" + strings.Join(news, " ")
	}
	next.Supersedes = append(next.Supersedes, m.ID)
	next.Tags = union(next.Tags, m.Tags)
	next.Relations = union(next.Relations, m.Relations)
	next.Evidence = union(next.Evidence, m.Evidence)
	if utf8.RuneCountInString(next.Content) > memory.MaxContent || len(next.Tags) > memory.MaxTags ||
		max(len(next.Supersedes), len(next.Relations), len(next.Evidence)) > memory.MaxLinks {
		return false
	}
	next.Salience = max(next.Salience, m.Salience)
	next.Confidence = min(next.Confidence, m.Confidence)
	next.AccessCount += m.AccessCount
	if m.CreatedAt.Before(next.CreatedAt) {
		next.CreatedAt = m.CreatedAt
	}
	if m.LastAccessed.After(next.LastAccessed) {
		next.LastAccessed = m.LastAccessed
	}
	if next.Context != nil && m.Context != nil {
		next.Context.Occurrences += m.Context.Occurrences
	}
	for _, s := range news {
		p.said[saying(s)] = true
	}
	p.merged, p.members = next, append(p.members, m)
	return true
}

func union[T comparable](a, b []T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// sentences cuts a text at the ends of its sentences. A text of several lines is one piece: its lines may depend on each other.
func sentences(s string) []string {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "\n") {
		return []string{s}
	}
	var out []string
	start := 0
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		cut := strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?", r) && strings.HasPrefix(s[end:], " ")
		if piece := strings.TrimSpace(s[start:end]); cut && piece != "" {
			out = append(out, piece)
			start = end
		}
	}
	if piece := strings.TrimSpace(s[start:]); piece != "" {
		out = append(out, piece)
	}
	return out
}

// saying is what two sentences that say the same have in common: their words in their order. Letter case, articles and punctuation around words
// do not count.
func saying(s string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		w = strings.TrimLeft(strings.TrimRight(w, `.,;:!?"'“”‘’)。，；：！？）」`), `"'“‘(（「`)
		if w != "" && w != "the" && w != "a" && w != "an" {
			b.WriteString(w + " ")
		}
	}
	return b.String()
}
