package memory

import "time"

// SessionState is where a session stands between Start and its one reflection.
type SessionState string

// The states of a session, in the order they are passed.
const (
	SessionOpen      SessionState = "open"
	SessionEnded     SessionState = "ended"     // waits for its reflection
	SessionReflected SessionState = "reflected" // everything up to ReflectedSeq was reflected
)

// Session is the durable header of an agent's session. Values in the store are immutable.
type Session struct {
	ID           string       `json:"id"`
	State        SessionState `json:"state"`
	Host         string       `json:"host,omitempty"` // agent or host program, as it names itself
	Cwd          string       `json:"cwd,omitempty"`
	StartedAt    time.Time    `json:"started_at"`
	LastAt       time.Time    `json:"last_at"` // of the newest message, else StartedAt
	EndedAt      time.Time    `json:"ended_at,omitzero"`
	EndReason    string       `json:"end_reason,omitempty"` // reflect, idle, host_exit, or what End was told
	Messages     int64        `json:"messages"`             // messages kept
	NextSeq      int64        `json:"next_seq"`             // the client's next number; lower ones are known
	ReflectedSeq int64        `json:"reflected_seq"`        // lower client numbers were reflected
	ReflectedOp  int64        `json:"reflected_op,omitempty"`
	Summary      string       `json:"summary,omitempty"`
	HasContext   bool         `json:"has_context,omitempty"` // a context is kept with the messages
	Notes        int64        `json:"notes,omitempty"`       // notes of the working memory kept with the messages

	Summaries          int64 `json:"summaries,omitempty"`           // summaries of the context that the host handed in
	ReflectedSummaries int64 `json:"reflected_summaries,omitempty"` // of them, those that were reflected

	HostPID     int       `json:"host_pid,omitempty"`       // process of the host; 0 is not known
	HostStarted time.Time `json:"host_started_at,omitzero"` // when that process was started
}

// HostKey is the name of the gRPC metadata in which an agent or host program gives its name with any call, escaped like
// a path of a URL where it is not ASCII. So a call without a session can be refused while the host is paused.
const HostKey = "memsidecar-host"

// RoleSummary marks what the host made of the context when it compacted it. It is kept beside the messages, with
// number 0, and is none; the newest counts.
const RoleSummary = "summary"

// RoleContext marks the text that an agent was given at the start of a session. It is kept beside the messages,
// with number 0, and is none.
const RoleContext = "context"

// Message is one turn or tool event of a session, redacted before it gets here.
type Message struct {
	Seq     int64     `json:"seq"` // the client's number, from 1, without gaps
	At      time.Time `json:"at"`
	Role    string    `json:"role"` // user, assistant, system, tool
	Content string    `json:"content,omitempty"`
	Tool    *ToolCall `json:"tool,omitempty"`
}

// ToolCall is what a tool was asked and how it ended.
type ToolCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"` // as the host sent them, usually JSON
	Result    string `json:"result,omitempty"`
	Error     string `json:"error,omitempty"`
	Failed    bool   `json:"failed,omitempty"`
}
