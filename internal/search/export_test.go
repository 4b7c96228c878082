package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
	"github.com/memsidecar/memsidecar/internal/search/vector"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// GatherChanges is how long changes wait for others before they are indexed in the background.
const GatherChanges = gatherChanges

// DecodeIndex decodes an index file of any tokenizer, and uses the result.
func DecodeIndex(data []byte) error {
	fingerprint := uint32(0)
	if len(data) >= 12 {
		fingerprint = binary.LittleEndian.Uint32(data[8:])
	}
	x, saved, err := decodeIndex(data, fingerprint)
	if err != nil {
		return err
	}
	x.attachMemories(saved, nil)
	return nil
}

// EncodeIndex returns the index file of a space as Save writes it.
func (e *Engine) EncodeIndex(space string) []byte {
	e.drain()
	s := e.space(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	var file bytes.Buffer
	if err := s.index.encode(&file, e.fingerprint); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// Postings lists the frequency of each term by memory id, which two equal indexes have in common
// whatever the order of their changes was.
func (e *Engine) Postings(space string) map[string]map[string]uint8 {
	e.drain()
	x := e.spaceIndex(space)
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := map[string]map[string]uint8{}
	for id, term := range x.terms.all() {
		out[term] = map[string]uint8{}
		for _, p := range x.postings.of(id) {
			out[term][x.docs[p.doc()].ID] = uint8(p)
		}
	}
	return out
}

// WithChecksum puts the right magic, version and checksum on data.
func WithChecksum(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	out := append([]byte(fileMagic), data[4:]...)
	binary.LittleEndian.PutUint32(out[4:], fileVersion)
	return binary.LittleEndian.AppendUint32(out, crc32c(out))
}

// NumbersDiffer reports whether two texts have different numbers, and their similarity with equal weights.
func NumbersDiffer(one, other string) (differ bool, similar float64) {
	a := newAnalyzer(analysis.NewLexicon())
	var e [2]dedupEntry
	for i, text := range []string{one, other} {
		e[i].setMemory(&memory.Memory{Content: text})
		a.setShingles(&e[i].shingles, text)
	}
	return e[0].numbersDiffer(&e[1]), similarity(&e[0].shingles, &e[1].shingles, func(string) float64 { return 1 })
}

// DuplicateSimilarity is the similarity above which a hit is a near-duplicate of a better one.
const DuplicateSimilarity = duplicateSimilarity

// HoldReadLock holds a space as a running search does, until release is called.
func (e *Engine) HoldReadLock(space string) (release func()) {
	x := e.spaceIndex(space)
	x.mu.RLock()
	return x.mu.RUnlock
}

// DrainAccesses indexes queued accesses as RunIndexing does.
func (e *Engine) DrainAccesses() bool { return e.drainAccesses() }

// IsNameVariant reports whether two lower-case names are variants of one.
func IsNameVariant(a, b string) bool { return isNameVariant(a, b) }

// GradeHits grades candidates of some evidence.
func GradeHits(evidence []float64, minilm bool) (probabilities []float64, strengths []Strength) {
	candidates := make([]candidate, len(evidence))
	for i, e := range evidence {
		candidates[i] = candidate{evidence: e, twoModels: minilm}
	}
	gradeHits(candidates)
	for i := range candidates {
		probabilities, strengths = append(probabilities, candidates[i].probability), append(strengths, candidates[i].strength)
	}
	return probabilities, strengths
}

// EmbeddedText is the text of a memory that is embedded.
func EmbeddedText(m *memory.Memory) string { return embeddedText(m) }

// Names of the texts whose vectors are part of the program.
const (
	TypicalMemoryTexts   = typicalMemoryTexts
	TypicalQuestionTexts = typicalQuestionTexts
)

// ShippedFile is the name of the file with the vectors of such a text by a model.
func ShippedFile(name, model string) string { return shippedFile(name, model) }

// ShippedVectors are those in this program.
func ShippedVectors(name string, m embedding.Model) *vector.File { return shippedVectors(name, m) }

// EmbedTexts embeds every nth of the lines of a text that the model supports: questions as queries, memories as such.
func EmbedTexts(tb testing.TB, name string, m embedding.Model, every int) map[string]vector.Quantized {
	tb.Helper()
	made := map[string]vector.Quantized{}
	for i, line := range shippedTexts(name) {
		if i%every > 0 || !m.Supports(line) {
			continue
		}
		if name == TypicalQuestionTexts {
			q, err := m.EmbedQuery(tb.Context(), line)
			if err != nil {
				tb.Fatalf("%s: %q: %v", m.Name(), line, err)
			}
			made[line] = q.Vector
			continue
		}
		docs, err := m.EmbedDocuments(tb.Context(), []string{line})
		if err != nil {
			tb.Fatalf("%s: %q: %v", m.Name(), line, err)
		}
		made[line] = docs[0].Vector
	}
	return made
}

// EncodeVectors is the file with these vectors.
func EncodeVectors(m embedding.Model, made map[string]vector.Quantized) []byte {
	var rows vector.Rows
	var keys []vector.Key
	for _, line := range slices.Sorted(maps.Keys(made)) {
		rows.Set(len(keys), made[line])
		keys = append(keys, vector.KeyOf(line))
	}
	return vector.Encode(m.Identity(), rows.Dim(), func(yield func(vector.Key, []int8) bool) {
		for i, key := range keys {
			if !yield(key, rows.Codes(i)) {
				return
			}
		}
	})
}

// OpenSpaces counts the spaces with an index in RAM.
func (e *Engine) OpenSpaces() int { return len(e.openNames()) }

// IsOpen reports whether a space has an index in RAM.
func (e *Engine) IsOpen(space string) bool { return e.spaceIndex(space) != nil }

// KnownSpaces counts the spaces of which the engine keeps anything.
func (e *Engine) KnownSpaces() int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return len(e.spaces)
}

// SetMaxOpen makes n in place of MaxOpen the number of open spaces. It must be called before Attach.
func (e *Engine) SetMaxOpen(n int) { e.maxOpen = n }

// PartsOf cuts documents into parts.
func PartsOf(docs, processors int) []int { return partsOf(docs, processors) }

// NeedsMemory is the cosine of a prompt with the direction of prompts that need a memory.
func NeedsMemory(tb testing.TB, e5 embedding.Model, prompt string) float64 {
	tb.Helper()
	q, err := e5.EmbedQuery(tb.Context(), prompt)
	if err != nil {
		tb.Fatal(err)
	}
	direction := loadPromptDirection([]embedding.Model{e5})
	if direction.Dim() == 0 {
		tb.Fatal("the direction is of another model; see prompt_direction.go")
	}
	return direction.Cosine(q.Vector)
}

// PatientModel embeds queries as long as it takes, so that a slow machine does not change what is found.
type PatientModel struct{ embedding.Model }

// EmbedQuery tries again when it took too long.
func (m PatientModel) EmbedQuery(ctx context.Context, text string) (q embedding.Query, err error) {
	for range 100 {
		if q, err = m.Model.EmbedQuery(ctx, text); !errors.Is(err, embedding.ErrTooSlow) {
			break
		}
	}
	return q, err
}

// InsideModels opens the models inside the program, patient ones; it skips the test in a program without them.
func InsideModels(t *testing.T) (models []embedding.Model) {
	t.Helper()
	for _, open := range []func() (*bert.Encoder, error){bert.NewE5, bert.NewMiniLM} {
		m, err := open()
		if errors.Is(err, bert.ErrNoModel) {
			t.Skip("built without the models")
		}
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, PatientModel{m})
	}
	return models
}

// EmbedUntil makes vectors until done.
func EmbedUntil(t *testing.T, e *Engine, fsys durable.FS, done func() bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.RunEmbedding(ctx, fsys) }()
	for !done() {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// ReadLines reads a file of one JSON value a line.
func ReadLines[T any](t *testing.T, path string) (all []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// PostingLists are the documents of terms, to be compared with something simple.
type PostingLists struct{ lists postingLists }

// AddTerm adds a term without documents.
func (l *PostingLists) AddTerm() { l.lists.addTerm() }

// Set replaces the documents of a term, ascending.
func (l *PostingLists) Set(term uint32, docs []uint32) {
	var list postingList
	for _, doc := range docs {
		list = append(list, posting(doc<<8|1))
	}
	l.lists.set(term, list)
}

// Of returns the documents of a term.
func (l *PostingLists) Of(term uint32) (docs []uint32) {
	for _, p := range l.lists.of(term) {
		docs = append(docs, p.doc())
	}
	return docs
}

// Lists is how many lists there are room for beside those of one document.
func (l *PostingLists) Lists() int { return len(l.lists.lists) }

// IdleBytes is what the buffers of so many searches at a time of so many documents take once they are idle.
func IdleBytes(searches, docs int) (bytes int) {
	e := New(Config{})
	var all []*scratch
	for range searches {
		s := e.scratches.get()
		s.reset(docs)
		all = append(all, s)
	}
	for _, s := range all {
		e.scratches.put(s)
	}
	for range searches {
		bytes += cap(e.scratches.get().sums) * int(unsafe.Sizeof(accumulator{}))
	}
	return bytes
}
