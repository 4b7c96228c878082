package reflector

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Action is what a tool is asked, in the ways in which it can be the same as what it was asked before. The zero value is no action.
type Action struct {
	tool   string
	digest string // of all but white space, ids and temporary directories
	normal string // as in a Signature: numbers, directories and the queries of URLs do not count either
	shape  string // what it has in common with its kind: "npm install *", "https://example.com/*"; "" when that says nothing
}

// ActionOf reads a call. How it ended does not count. Secrets in its arguments do not either.
func ActionOf(tc *memory.ToolCall) Action {
	tool := head(strings.TrimSpace(tc.Name), 60)
	args, _ := redact.Text(tc.Arguments)
	sum := sha256.Sum256([]byte(tool + "\x00" + exactArguments(args)))
	return Action{
		tool: tool, digest: hex.EncodeToString(sum[:6]), normal: tool + "(" + cutHashed(normalArguments(args), 100) + ")", shape: shapeOf(args),
	}
}

var temporary = pattern.New(`(?:/private)?/(?:tmp|var/folders)/[^\s"'/]+`)

// exactArguments is arguments in full, but for what differs from run to run whatever is done.
func exactArguments(args string) string {
	var object map[string]any
	if json.Unmarshal([]byte(args), &object) != nil {
		return exactValue(args)
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(object)) {
		b.WriteString(k + "=" + exactValue(flat(object[k])) + "\x00")
	}
	return b.String()
}

func exactValue(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = temporary.ReplaceAllStringFunc(s, func(string) string { return "TMP" })
	return hexID.ReplaceAllStringFunc(s, func(id string) string {
		if len(id) < 32 { // what is shorter may be a commit or a number, and matter
			return id
		}
		return "ID"
	})
}

// cutHashed cuts s to about n characters without making it the same as another one that begins alike.
func cutHashed(s string, n int) string {
	if len(s) <= n || len([]rune(s)) <= n {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return head(s, n-9) + "#" + hex.EncodeToString(sum[:4])
}

var (
	oneCommand = pattern.New(`^[a-z][\w.+-]*$`)
	subcommand = pattern.New(`^[a-z][a-z-]+$`)
	compound   = pattern.New("[|;&<>`$\n(]")
)

// shapeOf is the program with its subcommand, or the server that is asked.
func shapeOf(args string) string {
	what := args
	var object map[string]any
	if json.Unmarshal([]byte(args), &object) == nil {
		what = ""
		for _, k := range telling {
			if v, ok := object[k].(string); ok && v != "" {
				what = v
				break
			}
		}
	}
	if what = strings.TrimSpace(what); what == "" || len(what) > 2000 {
		return ""
	}
	if strings.HasPrefix(what, "http://") || strings.HasPrefix(what, "https://") {
		u, err := url.Parse(what)
		if err != nil || u.Host == "" || u.User != nil {
			return ""
		}
		return u.Scheme + "://" + u.Host + "/*"
	}
	words := strings.Fields(what)
	if compound.MatchString(what) || len(words) < 3 || !oneCommand.MatchString(words[0]) || !subcommand.MatchString(words[1]) {
		return ""
	}
	return words[0] + " " + words[1] + " *"
}

// ofKind are the classes of failures that hit everything of a shape alike. The others depend on what exactly was asked.
var ofKind = map[string]bool{
	classDynamic: true, classEmpty: true, "command_not_found": true, "missing_dependency": true, "rate_limit": true, "auth": true, "timeout": true,
	"connection": true, "server_error": true,
}

// kindKey names a failure of a kind; "" when such a failure says nothing of others.
func kindKey(a Action, class string) string {
	if a.shape == "" || !ofKind[class] {
		return ""
	}
	return a.tool + "(" + a.shape + ")*" + class
}

// Knowledge is what a rule keeps of the failures that it is about, as the member "failure" of its structured data.
type Knowledge struct {
	Seen    []string `json:"seen,omitempty"`    // digests of the actions that failed, the newest last, at most 8
	Shape   string   `json:"shape,omitempty"`   // what they have in common
	General bool     `json:"general,omitempty"` // it was seen for several of that shape, and holds for all
	Worked  string   `json:"worked,omitempty"`  // what worked instead
	Failed  int      `json:"failed,omitempty"`  // hints after which the same failed again, or that were wrong
	Helped  int      `json:"helped,omitempty"`  // hints after which something else worked
}

const maxDigests = 8

// KnowledgeOf reads what a rule keeps; the zero value when it keeps nothing.
func KnowledgeOf(m *memory.Memory) Knowledge {
	var data struct {
		Failure Knowledge `json:"failure"`
	}
	if len(m.StructuredData) == 0 || json.Unmarshal(m.StructuredData, &data) != nil {
		return Knowledge{} // edited by hand
	}
	return data.Failure
}

// with adds k to structured data, whose other members stay.
func (k Knowledge) with(data json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	if len(data) > 0 && json.Unmarshal(data, &members) != nil {
		return data
	}
	members["failure"] = quote(k)
	return quote(members)
}

func (k *Knowledge) saw(a Action) {
	if slices.Contains(k.Seen, a.digest) {
		return
	}
	k.Seen = append(slices.Clone(k.Seen), a.digest)
	k.Seen = k.Seen[max(0, len(k.Seen)-maxDigests):]
}

// Matches reports whether a rule is about exactly this action: one that failed before in every detail; one that differs in numbers, directories or
// a query only, where at least two such have failed and the class of the failure does not depend on them; or one of a shape of which several failed so.
func (a Action) Matches(rule *memory.Memory) bool {
	if rule.Context == nil || a.digest == "" {
		return false
	}
	end := strings.LastIndex(rule.Context.Signature, ")!")
	if end < 0 {
		return false
	}
	action, class := rule.Context.Signature[:end], rule.Context.Signature[end+len(")!"):]
	if !strings.HasPrefix(action, a.tool+"(") {
		return false
	}
	k := KnowledgeOf(rule)
	switch action += ")"; {
	case slices.Contains(k.Seen, a.digest):
		return true
	case action == a.normal && len(k.Seen) == 0:
		return !strings.ContainsAny(action, "N#") && !strings.Contains(action, "ID") && !strings.Contains(action, "PATH/") // nothing was left out
	case action == a.normal:
		return len(k.Seen) > 1 && ofKind[class]
	}
	return k.General && a.shape != "" && a.shape == k.Shape && ofKind[class]
}
