package memory

import "time"

// RoleWorking marks a note about what an agent has at hand. Like RoleContext it is kept beside a session's
// messages, with number 0, and is none.
const RoleWorking = "working"

// Limits of a working memory.
const (
	MaxWorkingFiles = 200 // files read that are remembered
	MaxWorkingTools = 200 // tools that are counted
	MaxRecentTools  = 5   // tools that count as in use
)

// Working is what an agent has at hand during one session. Values are immutable.
type Working struct {
	Dir         string    // relative paths are below it; "" when not known
	Tools       []ToolUse // most used first
	Recent      []string  // tools in use, the last first
	Files       []string  // read, the last first
	Summary     string    // what the agent wrote down for itself
	SummaryAt   time.Time // when it did
	Compactions int       // of its context
}

// ToolUse counts the uses of a tool.
type ToolUse struct {
	Name            string
	Count, Failures int64
}
