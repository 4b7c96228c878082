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
	// mergeOverlap is the word overlap from which memories are merged.
	mergeOverlap = 0.5
	// minClusterSize is the minimum size of a merged cluster.
	minClusterSize = 3
	// maxParts is the maximum number of memories that a cluster becomes.
	maxParts = 3
)

// member is a memory prepared for comparison.
type member struct {
	*memory.Memory
	text      wordSet
	sentences []wordSet
}

// findClusters clusters similar memories greedily around leaders, in the order of importance (leader clustering):
// each member is similar to its leader and contradicts no other member. Clusters with the oldest memories come first.
func findClusters(kind []*memory.Memory) [][]*memory.Memory {
	index := newTextIndex(nil)
	all := make([]member, len(kind))
	for i, m := range kind {
		index.add(m.Content, nil)
		all[i] = member{Memory: m, text: index.texts[i]}
		for _, s := range sentences(m.Content) {
			all[i].sentences = append(all[i].sentences, wordSetOf(s))
		}
	}
	// The most important memories lead, so that others gather around what is worth most.
	leaders := make([]int32, len(all))
	for i := range leaders {
		leaders[i] = int32(i)
	}
	slices.SortStableFunc(leaders, func(a, b int32) int {
		x, y := all[a], all[b]
		return cmp.Or(cmp.Compare(y.Salience, x.Salience), cmp.Compare(y.AccessCount(), x.AccessCount()),
			y.CreatedAt.Compare(x.CreatedAt))
	})
	taken := make([]bool, len(all))
	var out [][]*memory.Memory
	for _, leader := range leaders {
		if taken[leader] {
			continue
		}
		group := gatherCluster(all, index, taken, leader)
		if members := trimToFit(group, all); len(members) >= minClusterSize {
			for _, i := range group[:len(members)] {
				taken[i] = true
			}
			out = append(out, members)
		}
	}
	slices.SortStableFunc(out, func(a, b []*memory.Memory) int {
		return oldest(a).CreatedAt.Compare(oldest(b).CreatedAt)
	})
	return out
}

// oldest returns the memory that was created first.
func oldest(group []*memory.Memory) *memory.Memory {
	return slices.MinFunc(group, func(a, b *memory.Memory) int { return a.CreatedAt.Compare(b.CreatedAt) })
}

// gatherCluster returns the ordinals of a leader and the unclustered memories similar to it, oldest first.
func gatherCluster(all []member, index *textIndex, taken []bool, leader int32) []int32 {
	group := []int32{leader}
	for _, i := range index.similarTo(all[leader].text, mergeOverlap) {
		if i != leader && !taken[i] && !slices.ContainsFunc(group, func(j int32) bool {
			return contradict(&all[i], &all[j])
		}) {
			group = append(group, i)
		}
	}
	return group
}

// contradict reports whether two memories have similar sentences with another number or negation.
func contradict(a, b *member) bool {
	for _, x := range a.sentences {
		for _, y := range b.sentences {
			if x.exactTokens != y.exactTokens && x.overlap(y) >= mergeOverlap {
				return true
			}
		}
	}
	return false
}

// trimToFit cuts a cluster to the members that fit into maxParts; nil if the merge would not reduce their number.
func trimToFit(group []int32, all []member) []*memory.Memory {
	members := make([]*memory.Memory, len(group))
	for n, i := range group {
		members[n] = all[i].Memory
	}
	parts, n := joinMemories(members)
	if len(parts) >= n {
		return nil
	}
	return members[:n]
}

// mergedPart is a merged memory and the members that it replaces.
type mergedPart struct {
	members      []*memory.Memory
	merged       *memory.Memory
	sentenceKeys map[string]bool // by sentenceKey
}

// joinMemories merges memories into as few parts as the size limits allow. The text of a part's first member is kept
// literally; other members add their new sentences. It stops when more than maxParts would be needed; n is the number
// of merged memories.
func joinMemories(members []*memory.Memory) (parts []*mergedPart, n int) {
	for n, m := range members {
		if len(parts) > 0 && parts[len(parts)-1].add(m) {
			continue
		}
		if len(parts) == maxParts {
			return parts, n
		}
		p := &mergedPart{members: []*memory.Memory{m}, sentenceKeys: map[string]bool{}, merged: m.Clone()}
		p.merged.ID, p.merged.Source = store.NewID(), memory.SourceCompression
		p.merged.Revision = 0
		p.merged.SetSupersedes([]string{m.ID})
		p.merged.SetSupersededBy("")
		p.merged.UpdatedAt = time.Time{} // the store sets it, so a merged memory must age again before the next merge
		for _, s := range sentences(m.Content) {
			p.sentenceKeys[sentenceKey(s)] = true
		}
		parts = append(parts, p)
	}
	return parts, len(members)
}

// add adds a member to the part. It returns false and changes nothing if the limits of a memory would be exceeded.
func (p *mergedPart) add(m *memory.Memory) bool {
	var news []string
	for _, s := range sentences(m.Content) {
		if !p.sentenceKeys[sentenceKey(s)] {
			news = append(news, s)
		}
	}
	next := p.merged.Clone()
	if len(news) > 0 {
		next.Content += "\n" + strings.Join(news, " ")
	}
	next.SetSupersedes(append(next.Supersedes(), m.ID))
	next.Tags = union(next.Tags, m.Tags)
	next.SetRelations(union(next.Relations(), m.Relations()))
	next.SetEvidence(union(next.Evidence(), m.Evidence()))
	if utf8.RuneCountInString(next.Content) > memory.MaxContent || len(next.Tags) > memory.MaxTags ||
		max(len(next.Supersedes()), len(next.Relations()), len(next.Evidence())) > memory.MaxLinks {
		return false
	}
	// The merged memory is as important as the most important original, and as sure as the least sure.
	next.Salience = max(next.Salience, m.Salience)
	next.Confidence = min(next.Confidence, m.Confidence)
	if m.KnownAt().After(next.KnownAt()) {
		next.SetContentAt(m.KnownAt()) // the knowledge is as old as its newest part
	} else {
		next.SetContentAt(next.KnownAt())
	}
	if m.CreatedAt.Before(next.CreatedAt) {
		next.CreatedAt = m.CreatedAt
	}
	last := next.LastAccessed()
	if m.LastAccessed().After(last) {
		last = m.LastAccessed()
	}
	next.SetAccesses(next.AccessCount()+m.AccessCount(), last)
	if next.Context() != nil && m.Context() != nil {
		next.Context().Occurrences += m.Context().Occurrences
	}
	for _, s := range news {
		p.sentenceKeys[sentenceKey(s)] = true
	}
	p.merged, p.members = next, append(p.members, m)
	return true
}

// union appends the elements of b that a lacks.
func union[T comparable](a, b []T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// sentences splits a text into sentences. A text of several lines stays whole, because its lines may depend on each
// other.
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

// sentenceKey is equal for sentences with the same words in the same order, ignoring case, articles and punctuation.
func sentenceKey(s string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		w = strings.TrimLeft(strings.TrimRight(w, `.,;:!?"'“”‘’)。，；：！？）」`), `"'“‘(（「`)
		if w != "" && w != "the" && w != "a" && w != "an" {
			b.WriteString(w + " ")
		}
	}
	return b.String()
}
