package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// maxPath is the maximum length of a path in bytes, PATH_MAX of Linux.
const maxPath = 4096

// workingNote is one update of a working memory, stored as the content of a message with memory.RoleWorking.
type workingNote struct {
	Dir       string   `json:"dir,omitempty"`
	Summary   *string  `json:"summary,omitempty"`
	Compacted bool     `json:"compacted,omitempty"`
	Files     []string `json:"files,omitempty"`
	Tools     []string `json:"tools,omitempty"`
}

// WorkingUpdate is a change of a working memory.
type WorkingUpdate struct {
	Space     string
	ID        string   // an unknown one is a new session
	Dir       string   // new run directory, absolute; "" leaves it
	Summary   *string  // nil leaves it, "" removes it
	Compacted bool     // the context of the agent was compacted, or is about to be
	Files     []string // read, relative to the run directory or absolute
	Tools     []string // used, once for each use
	Key       string   // idempotency key, "" for none
}

// validate bounds every list and text: working memory is repeated in each prompt of the session.
func (r *WorkingUpdate) validate() error {
	var c memory.Check
	checkSession(&c, &r.Space, r.ID, true)
	if c.Text("run_directory", r.Dir, memory.MaxContent, false); r.Dir != "" && !filepath.IsAbs(r.Dir) {
		c.Add("run_directory", "NOT_ABSOLUTE", "must be an absolute path")
	}
	if r.Summary != nil {
		c.Text("summary", *r.Summary, memory.MaxContent, false)
	}
	if r.Key != "" {
		c.ID("idempotency_key", r.Key)
	}
	for field, list := range map[string][]string{"files_read": r.Files, "tools_used": r.Tools} {
		if len(list) > memory.MaxWorkingFiles {
			c.Add(field, "TOO_MANY", "has %d items; the limit is %d", len(list), memory.MaxWorkingFiles)
			continue
		}
		for i, s := range list {
			c.Text(fmt.Sprintf("%s[%d]", field, i), s, memory.MaxContent, true)
		}
	}
	return c.Err()
}

// encodeNote encodes an update as a redacted workingNote.
func (r *WorkingUpdate) encodeNote(dir string) (string, error) {
	n := workingNote{Compacted: r.Compacted}
	n.Dir, _ = redact.Text(r.Dir)
	if r.Summary != nil {
		text, _ := redact.Text(*r.Summary)
		n.Summary = &text
	}
	for _, f := range r.Files {
		clean, _ := redact.Text(absolute(dir, f))
		n.Files = append(n.Files, clean)
	}
	for _, tool := range r.Tools {
		clean, _ := redact.Text(tool)
		n.Tools = append(n.Tools, clean)
	}
	raw, err := json.Marshal(n)
	return string(raw), err
}

// makeDir makes the run directory when it is not there, for its owner only. Paths of the session are below it, so tools
// may write there at once.
func (r *WorkingUpdate) makeDir() error {
	if r.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		var c memory.Check
		c.Add("run_directory", "CANNOT_CREATE", "cannot be made: %v", err)
		return c.Err()
	}
	return nil
}

// UpdateWorking adds an update to the working memory of a session, and returns the result and the operation. A run
// directory that is not there is made. Durable on return.
//
// Errors: *memory.InvalidError, memory.ErrPaused, and those of the store.
func (s *Service) UpdateWorking(ctx context.Context, req WorkingUpdate) (*memory.Working, store.Result, error) {
	if err := req.validate(); err != nil {
		return nil, store.Result{}, err
	}
	if s.paused() {
		return nil, store.Result{}, memory.ErrPaused
	}
	if err := req.makeDir(); err != nil {
		return nil, store.Result{}, err
	}
	request, err := json.Marshal(req)
	if err != nil {
		return nil, store.Result{}, fmt.Errorf("encode the request: %w", err)
	}
	meta := s.meta(req.Space, req.ID, "update working memory")
	meta.Key, meta.Request = req.Key, request
	var header *memory.Session
	var m *memory.Message
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		tx.Report(journal.Outcome{ID: req.ID, Status: journal.Applied})
		known := tx.Session(req.ID)
		if known == nil {
			known = openHeader(nil, req.ID, tx.Now())
		}
		next := *known
		if next.LastAt = tx.Now(); req.Dir != "" {
			next.Cwd, _ = redact.Text(req.Dir)
		}
		// Notes are numbered apart from messages: a host repeats messages by number and knows nothing of notes.
		next.Notes++
		text, err := req.encodeNote(next.Cwd)
		if err != nil {
			return err
		}
		header, m = &next, &memory.Message{At: tx.Now(), Role: memory.RoleWorking, Content: text}
		tx.PutSession(header)
		return tx.AppendMessage(req.ID, m)
	})
	if err != nil {
		return nil, store.Result{}, fmt.Errorf("update working memory: %w", err)
	}
	if !res.Replayed {
		s.workingCache.extend(key{req.Space, req.ID}, header, []*memory.Message{m})
	}
	w, err := s.Working(req.Space, req.ID)
	return w, res, err
}

// Working returns the working memory of a session. On a cache miss it reads all messages of the session. Error:
// memory.ErrNotFound.
func (s *Service) Working(space, id string) (*memory.Working, error) {
	if space == "" {
		space = memory.DefaultSpace
	}
	k := key{space, id}
	header, err := s.Get(space, id)
	if err != nil {
		return nil, err
	}
	w, ok := s.workingCache.get(k, header)
	if ok {
		return w, nil
	}
	all, err := s.store.Space(space).Messages(id, 0)
	if err != nil {
		return nil, fmt.Errorf("read the messages of the session: %w", err)
	}
	one := &workingBuilder{}
	for _, m := range all {
		one.add(header.Cwd, m)
	}
	one.header = header
	return s.workingCache.put(k, one), nil
}

// ClearWorkingCache empties the cache of working memories after a purge, because it may contain purged text.
func (s *Service) ClearWorkingCache() { s.workingCache.clear() }

// workingBuilder builds a working memory from messages and notes, oldest first.
type workingBuilder struct {
	header      *memory.Session // header after the newest message
	tools       map[string]*memory.ToolUse
	uses        []string // names of the newest tool uses, newest last
	files       []string // newest last
	summary     string
	summaryAt   time.Time
	compactions int // number of compactions of the context
}

const (
	maxUses     = 20  // newest uses that determine Working.Recent
	maxToolName = 200 // bytes
)

// add processes the next message.
func (w *workingBuilder) add(dir string, m *memory.Message) {
	switch {
	case m.Role == memory.RoleWorking && m.Seq == 0:
		w.addNote(dir, m)
	case m.Role == memory.RoleSummary && m.Seq == 0: // the host hands one in when it compacts the context
		if parts := memory.SplitContent(m.Content); len(parts) > 0 {
			w.summary, w.summaryAt = parts[0], m.At
		}
		w.compactions++
	case m.Tool != nil && m.Seq > 0:
		w.countTool(m.Tool.Name, m.Tool.Failed || m.Tool.Error != "")
		if file := fileRead(m.Tool); file != "" {
			w.addFile(absolute(dir, file))
		}
	}
}

// addNote processes an update by the host.
func (w *workingBuilder) addNote(dir string, m *memory.Message) {
	var n workingNote
	if json.Unmarshal([]byte(m.Content), &n) != nil {
		return // the note was purged
	}
	if n.Summary != nil {
		w.summary, w.summaryAt = *n.Summary, m.At
	}
	if n.Compacted {
		w.compactions++
	}
	for _, f := range n.Files {
		w.addFile(absolute(dir, f))
	}
	for _, name := range n.Tools {
		w.countTool(name, false)
	}
}

// countTool counts a use of a tool.
func (w *workingBuilder) countTool(name string, failed bool) {
	if name == "" || len(name) > maxToolName {
		return
	}
	one := w.tools[name]
	if one == nil {
		if len(w.tools) >= memory.MaxWorkingTools {
			return
		}
		if w.tools == nil {
			w.tools = map[string]*memory.ToolUse{}
		}
		one = &memory.ToolUse{Name: name}
		w.tools[name] = one
	}
	one.Count++
	if failed {
		one.Failures++
	}
	if w.uses = append(w.uses, name); len(w.uses) > maxUses {
		w.uses = slices.Delete(w.uses, 0, 1)
	}
}

// addFile moves a file to the end of the list of read files.
func (w *workingBuilder) addFile(file string) {
	if file == "" || len(file) > maxPath {
		return
	}
	if i := slices.Index(w.files, file); i >= 0 {
		w.files = slices.Delete(w.files, i, i+1)
	}
	if w.files = append(w.files, file); len(w.files) > memory.MaxWorkingFiles {
		w.files = slices.Delete(w.files, 0, 1)
	}
}

// build returns the working memory. It shares nothing with the builder.
func (w *workingBuilder) build() *memory.Working {
	out := &memory.Working{Dir: w.header.Cwd, Summary: w.summary, Compactions: w.compactions,
		Files: slices.Clone(w.files)}
	if out.Summary != "" {
		out.SummaryAt = w.summaryAt
	}
	slices.Reverse(out.Files)
	for _, t := range w.tools {
		out.Tools = append(out.Tools, *t)
	}
	slices.SortFunc(out.Tools, func(a, b memory.ToolUse) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, name := range slices.Backward(w.uses) {
		if len(out.Recent) < memory.MaxRecentTools && !slices.Contains(out.Recent, name) {
			out.Recent = append(out.Recent, name)
		}
	}
	return out
}

// fileRead returns the path of the file that a tool call read, "" for other calls. It is recognised by the tool's
// name and its arguments.
func fileRead(t *memory.ToolCall) string {
	if t.Failed || t.Error != "" {
		return ""
	}
	name := strings.ToLower(t.Name[strings.LastIndex(t.Name, "__")+1:]) // mcp__server__tool
	if !strings.Contains(name, "read") && !strings.Contains(name, "view") && name != "cat" &&
		!strings.Contains(name, "open_file") {
		return ""
	}
	var args map[string]any
	if json.Unmarshal([]byte(t.Arguments), &args) != nil {
		return ""
	}
	path := toolcall.FilePath(args)
	if !utf8.ValidString(path) || strings.ContainsAny(path, "\x00\n") {
		return ""
	}
	return path
}

// absolute makes a path absolute below dir, if dir is known.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
