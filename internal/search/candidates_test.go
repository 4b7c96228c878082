package search

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
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
	t.Log("set, questions, and recall among the first", candidateLimits)
	for _, set := range f.sets {
		var alone, together [len(candidateLimits)]float64
		for i := range set.queries {
			q := &set.queries[i]
			for j, n := range f.found(t, q, q.Conv) {
				alone[j] += n / float64(len(set.queries))
			}
			for j, n := range f.found(t, q, allSpace) {
				together[j] += n / float64(len(set.queries))
			}
		}
		t.Logf("%-17s %4d  alone %.3f  among %d %.3f", set.name, len(set.queries), alone, f.size, together)
	}
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
		for conv, list := range candidateMemories(t, dir) {
			spaces[conv] = append(spaces[conv], list...)
			for _, m := range list {
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
	f.embed(t, fsys, spaces)
	return f
}

// embed returns once all memories have their vectors.
func (f *candidateFit) embed(t *testing.T, fsys *crashfs.FS, spaces map[string][]*memory.Memory) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.engine.RunEmbedding(ctx, fsys) }()
	for space := range spaces {
		for f.engine.EmbeddingCoverage(space).Waiting > 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
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
			m.Context = &memory.Context{LearnedFrom: "session_" + d.Conv + strconv.Itoa(int(n))}
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
