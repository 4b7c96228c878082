package recall

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Limits of a recall.
const (
	DefaultTopK = 3    // memories that fit a prompt best
	MaxItems    = 5    // memories of one answer
	MinTokens   = 50   // least budget
	MaxTokens   = 8000 // greatest budget

	promptTokens   = 1500      // budget for a prompt that names none
	promptChars    = 500       // characters of a memory, for a prompt
	explicitTokens = MaxTokens // the same for what an agent asks for
	explicitChars  = 2000
	maxRules       = 2 // rules about tools beside what fits
	maxNames       = 200
	maxText        = 1 << 20 // bytes of a prompt
	maxQuery       = 8000    // characters of a prompt that are looked at
)

// Reasons why nothing is recalled, beside those of search.
const (
	ReasonDisabled = "DISABLED"      // recall for prompts is switched off
	ReasonBudget   = "BUDGET"        // what fits does not fit into the budget
	ReasonShown    = "ALREADY_SHOWN" // what fits was shown to the session before, or its file was read
)

// Request asks for what an agent should be told for a prompt.
type Request struct {
	Text    string   // the prompt, at most 1 MiB; of a long one the beginning and the end count
	Session string   // the host's id of the session; "" remembers nothing
	Spaces  []string // none is the default space
	Tokens  int      // budget of the block, MinTokens to MaxTokens; 0 is 1,500, and 8,000 when explicit
	Items   int      // memories that fit best, at most MaxItems; 0 is the configured number, and MaxItems when explicit
	// Explicit is a question by the agent itself: it gets more text of each memory, and also what it was shown before.
	Explicit     bool
	WorkingTools []string // tools in use, at most 200
	FilesRead    []string // files that the agent has just read, at most 200: memories kept in them or copied from them are left out
}

func (r *Request) validate(topK int) error {
	var c memory.Check
	if len(r.Text) > maxText {
		c.Add("text", "TOO_LONG", "has %d bytes; the limit is %d", len(r.Text), maxText)
	}
	c.Text("text", r.Text, maxText, false)
	if r.Session != "" {
		c.ID("session_id", r.Session)
	}
	if len(r.Spaces) == 0 {
		r.Spaces = []string{memory.DefaultSpace}
	}
	for _, s := range r.Spaces {
		c.Slug("spaces", s)
	}
	if len(r.Spaces) > maxNames || len(r.WorkingTools) > maxNames || len(r.FilesRead) > maxNames {
		c.Add("spaces", "TOO_MANY", "spaces, working_tools and files_read have at most %d items each", maxNames)
	}
	if r.Tokens == 0 {
		r.Tokens = promptTokens
		if r.Explicit {
			r.Tokens = explicitTokens
		}
	}
	if r.Tokens < MinTokens || r.Tokens > MaxTokens {
		c.Add("max_tokens", "OUT_OF_RANGE", "must be %d to %d", MinTokens, MaxTokens)
	}
	if r.Items == 0 {
		r.Items = topK
		if r.Explicit {
			r.Items = MaxItems
		}
	}
	if r.Items < 1 || r.Items > MaxItems {
		c.Add("max_items", "OUT_OF_RANGE", "must be 1 to %d", MaxItems)
	}
	return c.Err()
}

func (r *Request) chars() int {
	if r.Explicit {
		return explicitChars
	}
	return promptChars
}

// Result of a recall.
type Result struct {
	Items    []Item
	Block    string // ready for a prompt, with a line break at its end; "" when there are no items
	Tokens   int    // of the block, estimated; never more than the budget
	Language string // of the words around the memories: "en" or "zh"
	Reason   string // why there are no items: one of the Reason constants, or one of search
}

// Item is a memory that is shown. Memory is shared and must not be changed.
type Item struct {
	Space  string
	Memory *memory.Memory
	Score  float64 // of the search; 0 for a rule about a tool
	Tool   string  // the tool because of which it is shown
	// Selected says that a model chose it for an earlier prompt of the session.
	Selected bool
	Text     string // as it stands in the block
	Clipped  bool   // the text is shorter than the memory's
	Age      string // in words
	Caveat   string // when it is more than a day old
}

// choice is a memory that is to be shown if there is room.
type choice struct {
	space  string
	memory *memory.Memory
	score  float64
	tool   string

	selected bool // by a model
}

func (c *choice) key() [2]string { return [2]string{c.space, c.memory.ID} }

// queryOf is what of a prompt is looked for: without blocks that were injected before and without secrets, the beginning and the
// end of what is long.
func queryOf(text string) string {
	if len(text) > 8*maxQuery { // cheap first: the rest is linear, but this is done while somebody waits
		text = text[:4*maxQuery] + " " + text[len(text)-4*maxQuery:]
	}
	text, _ = redact.Text(strings.ToValidUTF8(text, " "))
	runes := []rune(text)
	if len(runes) > maxQuery {
		return string(runes[:maxQuery/2-1]) + " " + string(runes[len(runes)-maxQuery/2:])
	}
	return text
}

// read reports whether m is kept in one of the files, or says that it was taken from it: the member file or path of its structured
// data. Paths are the same when one ends with the other.
func read(m *memory.Memory, files []string) bool {
	if len(files) == 0 || len(m.StructuredData) == 0 {
		return false
	}
	var from struct{ File, Path string }
	if json.Unmarshal(m.StructuredData, &from) != nil {
		return false
	}
	for _, own := range []string{from.File, from.Path} {
		for _, f := range files {
			if own != "" && f != "" && samePath(path.Clean(own), path.Clean(f)) {
				return true
			}
		}
	}
	return false
}

func samePath(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}
