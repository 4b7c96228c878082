package recall

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/search"
)

// Limits of a recall.
const (
	DefaultTopK = 3    // relevant memories per prompt
	MaxItems    = 5    // memories per response
	MinTokens   = 50   // smallest budget, in estimated tokens
	MaxTokens   = 8000 // largest budget

	promptTokens   = 1500      // default budget for a prompt
	promptChars    = 500       // characters per memory, for a prompt
	explicitTokens = MaxTokens // default budget for an explicit request
	explicitChars  = 2000      // characters per memory, for an explicit request
	maxRules       = 2         // rules about tools beside the relevant memories
	maxNames       = 200       // spaces, tools or files per request
	maxText        = 1 << 20   // bytes of a prompt
	maxQuery       = 8000      // characters of a prompt that are searched for
	maxToolName    = 200       // bytes of the name of a tool that failed
)

// Reasons why nothing is recalled, in addition to the reasons of package search.
const (
	ReasonDisabled = "DISABLED"      // recall for prompts is switched off by the configuration
	ReasonBudget   = "BUDGET"        // no relevant memory fits into the token budget
	ReasonShown    = "ALREADY_SHOWN" // the session has seen every relevant memory, or has read its file
)

// Request describes a recall.
type Request struct {
	Text    string   // the prompt, at most 1 MiB; of a long one the beginning and the end are used
	Session string   // the host's session id; "" tracks nothing
	Spaces  []string // empty is the default space
	Tokens  int      // budget of the block, MinTokens to MaxTokens; 0 is 1,500, and 8,000 when explicit
	Items   int      // relevant memories, 1 to MaxItems; 0 is Config.TopK, or MaxItems when explicit
	// Explicit marks a question of the agent itself: it gets more text per memory, and memories that it has seen.
	Explicit     bool
	WorkingTools []string // tools in use, at most 200
	// FilesRead lists files that the agent has read, at most 200: memories stored in or copied from them are omitted.
	FilesRead []string
	// FailedTool is a tool call that failed: its tool and the line that says why are searched for, too; nil for none.
	FailedTool *memory.ToolCall
}

// validate fills in defaults and reports all violations at once.
func (r *Request) validate(topK int) error {
	var c memory.Check
	if len(r.Text) > maxText {
		c.Add("text", "TOO_LONG", "has %d bytes; the limit is %d", len(r.Text), maxText)
	}
	c.Text("text", r.Text, maxText, false)
	if r.Session != "" {
		c.ID("session_id", r.Session)
	}
	if t := r.FailedTool; t != nil {
		c.Text("failed_tool.name", t.Name, maxToolName, true)
		c.Text("failed_tool.error", t.Error, maxText, false)
		c.Text("failed_tool.result", t.Result, maxText, false)
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
	// Below MinTokens not even the fence and one line would fit.
	if r.Tokens < MinTokens || r.Tokens > MaxTokens {
		c.Add("token_budget", "OUT_OF_RANGE", "must be %d to %d", MinTokens, MaxTokens)
	}
	if r.Items == 0 {
		r.Items = topK
		if r.Explicit {
			r.Items = MaxItems
		}
	}
	if r.Items < 1 || r.Items > MaxItems {
		c.Add("limit", "OUT_OF_RANGE", "must be 1 to %d", MaxItems)
	}
	return c.Err()
}

// maxCharsPerMemory is the limit of a memory's text, in characters.
func (r *Request) maxCharsPerMemory() int {
	if r.Explicit {
		return explicitChars
	}
	return promptChars
}

// Result of a recall.
type Result struct {
	Items    []Item
	Block    string // the fenced text for a prompt, with a final newline; "" without items
	Tokens   int    // estimated tokens of Block, within the budget
	Language string // language of the text around the memories: English or Chinese
	Reason   string // why there are no items: a Reason constant of this package or of search
}

// Item is one shown memory. Memory is shared and must not be modified.
type Item struct {
	Space  string
	Memory *memory.Memory
	Score  float64 // the search score; 0 for a rule about a tool
	// Strength of the search hit; "" for a rule about a tool and when words alone decided.
	Strength search.Strength
	Tool     string // the tool that the rule is about; "" for other memories
	// Selected reports that a model selected it for an earlier prompt of the session.
	Selected bool
	Text     string // the text in Block
	Clipped  bool   // Text is shorter than the memory's text
	Age      string // age in words
	Caveat   string // warning for a memory of more than a day; "" otherwise
}

// candidate is a memory that is shown if the budget allows.
type candidate struct {
	space  string
	memory *memory.Memory
	score  float64
	tool   string

	strength search.Strength
	selected bool // selected by a model
}

// key identifies the memory across spaces.
func (c *candidate) key() [2]string { return [2]string{c.space, c.memory.ID} }

// query returns what is searched for: the prompt and the failure.
func (r *Request) query() string {
	t := r.FailedTool
	if t == nil {
		return searchText(r.Text)
	}
	// Redacted before the line is cut: half a secret would not be known any more.
	why := toolcall.ErrorLine(searchText(cmp.Or(t.Error, t.Result)))
	return searchText(strings.TrimSpace(r.Text + "\n" + t.Name + " " + why))
}

// searchText returns the query for a prompt: redacted, without injected blocks, and with only the beginning and the end
// of a long prompt.
func searchText(text string) string {
	if len(text) > 8*maxQuery { // cut before the linear work below, because the caller waits
		text = text[:4*maxQuery] + " " + text[len(text)-4*maxQuery:]
	}
	text, _ = redact.Text(strings.ToValidUTF8(text, " "))
	runes := []rune(text)
	if len(runes) > maxQuery {
		return string(runes[:maxQuery/2-1]) + " " + string(runes[len(runes)-maxQuery/2:])
	}
	return text
}

// fromReadFile reports whether m is stored in, or was taken from, one of files: the member "file" or "path" of its
// structured data. Two paths are equal if one is a suffix of the other.
func fromReadFile(m *memory.Memory, files []string) bool {
	if len(files) == 0 || len(m.StructuredData()) == 0 {
		return false
	}
	var from struct{ File, Path string }
	if json.Unmarshal(m.StructuredData(), &from) != nil {
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

// samePath reports whether a and b name the same file: one is the other's last elements.
func samePath(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}
