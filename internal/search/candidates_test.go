package search

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

var (
	candidateSets = flag.String("candidates", "", "directory of evaluation sets, to measure the recall of the first stage")
	distractorDir = flag.String("distractors", "", "directory of Go files, whose comments become memories beside the sets")
	distractorMax = flag.Int("distractors-max", 100_000, "how many memories of comments")
)

// candidateLimits are how many candidates of the first stage are counted: those compared by tokens, in dialogues too,
// and all of them.
var candidateLimits = [...]int{tokenPool, 2 * tokenPool, evidencePool}

// TestCandidates prints how many of the relevant memories are candidates of the first stage, in a store that holds one
// person alone, and in one store of everything.
func TestCandidates(t *testing.T) {
	if *candidateSets == "" {
		t.Skip("no -candidates DIR given")
	}
	f := newCandidateFit(t)
	t.Log("set, questions, recall among the first", candidateLimits, "candidates, and share with a right one among three hits")
	for _, set := range f.sets {
		alone, three := f.measure(t, set.queries, func(q *fitQuery) string { return q.Conv })
		t.Logf("%-17s %4d  alone            %.3f  %.3f", set.name, len(set.queries), alone, three)
		together, three := f.measure(t, set.queries, func(*fitQuery) string { return allSpace })
		t.Logf("%-17s %4d  among %9d  %.3f  %.3f", set.name, len(set.queries), f.size, together, three)
	}
}

// measure is the mean recall of the candidates, for each limit, and the share of the questions that have a right memory
// among the first three hits, in the space of each question.
func (f *candidateFit) measure(t *testing.T, queries []fitQuery, space func(*fitQuery) string) (
	recall [len(candidateLimits)]float64, three float64,
) {
	t.Helper()
	n := float64(len(queries))
	for i := range queries {
		q := &queries[i]
		for j, share := range f.found(t, q, space(q)) {
			recall[j] += share / n
		}
		resp, err := f.engine.Search(t.Context(), Request{Spaces: []string{space(q)}, Query: q.Text, K: 3, Arm: Fusion})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(resp.Hits, func(h Hit) bool { return f.isRelevant(q, h.Memory.Content) }) {
			three += 1 / n
		}
	}
	return recall, three
}

// isRelevant reports whether a text answers a question.
func (f *candidateFit) isRelevant(q *fitQuery, text string) bool {
	return slices.ContainsFunc(q.Relevant, func(id string) bool { return f.texts[id] == text })
}

// allSpace is the space of everything.
const allSpace = "everything"

type candidateFit struct {
	engine *Engine
	sets   []candidateSet
	texts  map[string]string // of the memories of the sets, by id
	size   int               // of allSpace
}

type candidateSet struct {
	name    string
	queries []fitQuery
}

// newCandidateFit loads the sets that have questions, each conversation as a space and all of them as one, and waits for
// the vectors.
func newCandidateFit(t *testing.T) *candidateFit {
	t.Helper()
	f := &candidateFit{engine: New(Config{Models: InsideModels(t)}), texts: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(*candidateSets, "*", "corpus.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sets in %s (%v)", *candidateSets, err)
	}
	spaces, seen := map[string][]*memory.Memory{}, map[string]bool{}
	for _, file := range files {
		dir := filepath.Dir(file)
		byConv := candidateMemories(t, dir)
		for _, conv := range slices.Sorted(maps.Keys(byConv)) {
			spaces[conv] = append(spaces[conv], byConv[conv]...)
			for _, m := range byConv[conv] {
				f.texts[m.ID] = m.Content
				if !seen[m.Content] { // two sets ask for the same memories
					seen[m.Content] = true
					spaces[allSpace] = append(spaces[allSpace], m)
				}
			}
		}
		queries := slices.DeleteFunc(ReadLines[fitQuery](t, filepath.Join(dir, "queries.jsonl")),
			func(q fitQuery) bool { return len(q.Relevant) == 0 || q.Text == "" })
		f.sets = append(f.sets, candidateSet{filepath.Base(dir), queries})
	}
	for i, text := range commentSentences(t, *distractorDir, *distractorMax) {
		spaces[allSpace] = append(spaces[allSpace], &memory.Memory{
			ID: "comment/" + strconv.Itoa(i), Content: text, Salience: 0.5, Source: memory.SourceUser, Confidence: 1,
			Status: memory.Active, CreatedAt: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC),
		})
	}
	f.size = len(spaces[allSpace])
	fsys := crashfs.New()
	for space, list := range spaces {
		if err := f.engine.Load(space, list, fsys); err != nil {
			t.Fatal(err)
		}
	}
	EmbedUntil(t, f.engine, fsys, func() bool {
		waits := func(space string) bool { return f.engine.EmbeddingCoverage(space).Waiting > 0 }
		return !slices.ContainsFunc(slices.Collect(maps.Keys(spaces)), waits)
	})
	return f
}

// candidateMemories reads a set, by conversation.
func candidateMemories(t *testing.T, dir string) map[string][]*memory.Memory {
	t.Helper()
	all := map[string][]*memory.Memory{}
	type line struct {
		ID, Conv, Time, Text string
		Session              any
	}
	for i, d := range ReadLines[line](t, filepath.Join(dir, "corpus.jsonl")) {
		m := &memory.Memory{
			ID: d.ID, Content: d.Text, Salience: 0.5, Source: memory.SourceUser, Confidence: 1, Status: memory.Active,
			CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, i, time.UTC),
		}
		if at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(d.Time, "Z")); err == nil {
			m.CreatedAt = at.Add(time.Duration(i) * time.Microsecond)
		}
		if n, ok := d.Session.(float64); ok {
			m.SetContext(&memory.Context{LearnedFrom: "session_" + d.Conv + strconv.Itoa(int(n))})
		}
		all[d.Conv] = append(all[d.Conv], m)
	}
	return all
}

// found is the share of the relevant memories that are among the first candidates of a space, for each limit.
func (f *candidateFit) found(t *testing.T, q *fitQuery, space string) (shares [len(candidateLimits)]float64) {
	t.Helper()
	e := f.engine
	req := Request{Spaces: []string{space}, Query: q.Text, K: 10, Arm: Fusion}
	if err := req.validate(e.now); err != nil {
		t.Fatal(err)
	}
	in, err := e.use(t.Context(), req.Spaces)
	if err != nil {
		t.Fatal(err)
	}
	defer in.release()
	a, scratch := e.analyzers.get(), e.scratches.get()
	defer e.scratches.put(scratch)
	r := newRanking(&req, a.parseQuery(&req), e, scratch, sourceIndexes(&req, in))
	r.embedQueries = e.queryEmbedder(t.Context(), &req)
	if !r.useEvidence() {
		t.Fatalf("%q is not ranked by evidence", q.Text)
	}
	src := req.sources()[0]
	pool := r.firstStage(r.indexOf(src), src, scratch)
	for j, limit := range candidateLimits {
		best := pool[:min(limit, len(pool))]
		for _, id := range q.Relevant {
			if slices.Contains(best, f.texts[id]) {
				shares[j] += 1 / float64(len(q.Relevant))
			}
		}
	}
	return shares
}

// firstStage returns the texts of the candidates, the best first.
func (r *ranking) firstStage(x *invertedIndex, src source, s *scratch) (texts []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := &evidenceCollector{ranking: r, index: x, source: src, total: float64(x.weighTerms(r.q.terms)), byDoc: map[uint32]int{}}
	s.terms = matchedTerms(s.terms, r.q.terms, 0)
	x.accumulate(s, s.terms)
	c.selectFirst()
	for i := range c.pool {
		texts = append(texts, x.docs[c.pool[i].doc].Content)
	}
	return texts
}

// commentSentences are sentences of 40 to 200 bytes out of the comments of Go files.
func commentSentences(t *testing.T, dir string, most int) (sentences []string) {
	t.Helper()
	if dir == "" {
		return nil
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || len(sentences) >= most || filepath.Ext(path) != ".go" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for text := range strings.SplitSeq(commentText(data), ". ") {
			text = strings.TrimSpace(text)
			if len(text) >= 40 && len(text) <= 200 && !seen[text] && len(sentences) < most {
				seen[text] = true
				sentences = append(sentences, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sentences
}

// commentText joins the lines of comments.
func commentText(file []byte) string {
	var text bytes.Buffer
	for line := range bytes.Lines(file) {
		if words, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("// ")); ok {
			text.Write(words)
			text.WriteByte(' ')
		} else if text.Len() > 0 {
			text.WriteString(". ")
		}
	}
	return text.String()
}
