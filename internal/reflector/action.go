package reflector

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Action identifies what a tool call asks for, at three levels of detail, so that later calls can be compared with
// it. The zero value matches nothing.
type Action struct {
	tool string // canonical, so that an action is the same in every host
	// hash of tool and arguments without white space, long ids and temporary directories
	digest string
	// as in a Signature: also without numbers, directories and URL queries
	normal string
	// common part of similar calls: "npm install *", "https://example.com/*"; "" if there is none
	shape string
}

// ActionOf returns the action of a call. The result of the call, secrets in its arguments, and the names that its host
// has for the tool and the arguments do not matter.
func ActionOf(tc *memory.ToolCall) Action {
	tool := truncate(toolcall.Canonical(tc.Name), 60)
	args, _ := redact.Text(tc.Arguments)
	named, plain := toolcall.Arguments(tc.Name, args)
	sum := sha256.Sum256([]byte(tool + "\x00" + exactArguments(named, plain)))
	return Action{
		tool: tool, digest: hex.EncodeToString(sum[:6]),
		normal: tool + "(" + truncateHashed(normalArguments(named, plain), 100) + ")", shape: shapeOf(named, plain),
	}
}

// temporary is a directory whose name differs from run to run.
var temporary = lazyregexp.New(`(?:/private)?/(?:tmp|var/folders)/[^\s"'/]+`)

// exactArguments normalises arguments only where they differ between identical runs.
func exactArguments(named map[string]any, plain string) string {
	if named == nil {
		return exactValue(plain)
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(named)) {
		b.WriteString(k + "=" + exactValue(flattenValue(named[k])) + "\x00")
	}
	return b.String()
}

// exactValue normalises white space, temporary directories and long ids.
func exactValue(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = temporary.ReplaceAllStringFunc(s, func(string) string { return "TMP" })
	return hexID.ReplaceAllStringFunc(s, func(id string) string {
		if len(id) < 32 { // a shorter one may be a commit or a number that matters
			return id
		}
		return "ID"
	})
}

// truncateHashed cuts s to about n characters and appends a hash, so that texts with the same start stay different.
func truncateHashed(s string, n int) string {
	if len(s) <= n || len([]rune(s)) <= n {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return truncate(s, n-9) + "#" + hex.EncodeToString(sum[:4])
}

var (
	// The name of a program.
	oneCommand = lazyregexp.New(`^[a-z][\w.+-]*$`)
	// The extension of a file, no version.
	fileExtension = lazyregexp.New(`^\.[a-z][a-z0-9]{0,4}$`)
	// The extension of files that are not plain text.
	binaryFile = lazyregexp.New(`^\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|epub|png|jpe?g|gif|webp|bmp|tiff?|heic` +
		`|avif|heif|psd|svgz|mp[34]|wav|mov|opus|ogg|flac|aac|m4a|webm|mkv|avi|zip|t?gz|tar|7z|rar|parquet|feather|avro|orc|npy|npz|pkl|pickle` +
		`|sqlite|db|exe|dll|so|bin|wasm|class|jar)$`)
	// The name of a subcommand.
	subcommand = lazyregexp.New(`^[a-z][a-z-]+$`)
	// Shell syntax that makes more than one simple command.
	compound = lazyregexp.New("[|;&<>`$\n(]")
)

// shapeOf returns the program with its subcommand, or the server of a URL and the extension of what it names there; ""
// for compound commands and anything else.
func shapeOf(named map[string]any, plain string) string {
	what := plain
	if named != nil {
		what = informative(named)
	}
	if what = strings.TrimSpace(what); what == "" || len(what) > 2000 {
		return fileShape(named)
	}
	if strings.HasPrefix(what, "http://") || strings.HasPrefix(what, "https://") {
		u, err := url.Parse(what)
		if err != nil || u.Host == "" || u.User != nil {
			return ""
		}
		return u.Scheme + "://" + u.Host + "/*" + documentExtension(u.Path)
	}
	words := strings.Fields(what)
	if compound.MatchString(what) || len(words) < 3 || !oneCommand.MatchString(words[0]) ||
		!subcommand.MatchString(words[1]) {
		return ""
	}
	return words[0] + " " + words[1] + " *"
}

// fileShape is the extension of the file that a call names, "*.pdf", if no file of that kind is plain text; else "".
// Of texts each is its own.
func fileShape(named map[string]any) string {
	ext := strings.ToLower(path.Ext(toolcall.FilePath(named)))
	for _, k := range slices.Sorted(maps.Keys(named)) { // a converter calls it input or source
		if v, ok := named[k].(string); ok && ext == "" && !strings.ContainsAny(v, " \n") {
			ext = strings.ToLower(path.Ext(v))
		}
	}
	if !binaryFile.MatchString(ext) {
		return ""
	}
	return "*" + ext
}

// documentExtension is the extension in the path of an address, in lower case, if it names something other than a page:
// ".pdf", else "".
func documentExtension(p string) string {
	switch ext := strings.ToLower(path.Ext(p)); {
	case !fileExtension.MatchString(ext):
		return ""
	case ext == ".html", ext == ".htm", ext == ".php", ext == ".asp", ext == ".aspx", ext == ".jsp":
		return ""
	default:
		return ext
	}
}

// kindWideClasses are the error classes that affect all calls of a shape. Other errors depend on the exact arguments.
var kindWideClasses = map[string]bool{
	classDynamic: true, classEmpty: true, classBinary: true, "command_not_found": true,
	"missing_dependency": true, "rate_limit": true, "auth": true, "timeout": true, "connection": true, "server_error": true,
}

// kindKey identifies a kind of failure; "" if a failure of this class tells nothing about similar calls.
func kindKey(a Action, class string) string {
	// a directory may be closed for what it is, a server is closed to its caller
	wide := kindWideClasses[class] || class == "permission" && strings.Contains(a.shape, "://")
	if a.shape == "" || !wide {
		return ""
	}
	return a.tool + "(" + a.shape + ")*" + class
}

// Knowledge is what a rule records about its failures, as the member "failure" of its structured data.
type Knowledge struct {
	// digests of failed actions, newest last, at most maxDigests
	Seen []string `json:"seen,omitempty"`
	// their common shape
	Shape string `json:"shape,omitempty"`
	// several actions of the shape failed, so the rule holds for all
	General bool `json:"general,omitempty"`
	// what worked instead
	Worked string `json:"worked,omitempty"`
	// sessions in a row in which the same action worked, since it failed last
	Passed int `json:"passed,omitempty"`
	// hints after which the same action failed again, or that were wrong
	Failed int `json:"failed,omitempty"`
	// hints after which another action worked
	Helped int `json:"helped,omitempty"`
}

// maxDigests limits Knowledge.Seen.
const maxDigests = 8

// KnowledgeOf decodes the knowledge of a rule; the zero value if it has none.
func KnowledgeOf(m *memory.Memory) Knowledge {
	var data struct {
		Failure Knowledge `json:"failure"`
	}
	if len(m.StructuredData()) == 0 || json.Unmarshal(m.StructuredData(), &data) != nil {
		return Knowledge{} // edited by hand
	}
	return data.Failure
}

// mergeInto returns data with k as its member "failure"; other members stay.
func (k Knowledge) mergeInto(data json.RawMessage) json.RawMessage {
	members := map[string]json.RawMessage{}
	if len(data) > 0 && json.Unmarshal(data, &members) != nil {
		return data
	}
	members["failure"] = mustMarshal(k)
	return mustMarshal(members)
}

// recordAction adds the digest of a failed action.
func (k *Knowledge) recordAction(a Action) {
	if slices.Contains(k.Seen, a.digest) {
		return
	}
	k.Seen = append(slices.Clone(k.Seen), a.digest)
	k.Seen = k.Seen[max(0, len(k.Seen)-maxDigests):]
}

// Matches reports whether a rule applies to this action. It does if the same action failed before; if it differs only
// in numbers, directories or a query, at least two such actions failed, and the error class does not depend on them;
// or if the rule is general and the shape is the same.
func (a Action) Matches(rule *memory.Memory) bool {
	if rule.Context() == nil || a.digest == "" {
		return false
	}
	end := strings.LastIndex(rule.Context().Signature, ")!")
	if end < 0 {
		return false
	}
	action, class := rule.Context().Signature[:end], rule.Context().Signature[end+len(")!"):]
	if !strings.HasPrefix(action, a.tool+"(") {
		return false
	}
	k := KnowledgeOf(rule)
	switch action += ")"; {
	case slices.Contains(k.Seen, a.digest):
		return true
	case action == a.normal && len(k.Seen) == 0:
		// an older rule without digests: the signature must be exact
		return !strings.ContainsAny(action, "N#") && !strings.Contains(action, "ID") &&
			!strings.Contains(action, "PATH/")
	case action == a.normal:
		return len(k.Seen) > 1 && kindWideClasses[class]
	}
	return k.General && a.shape != "" && a.shape == k.Shape && kindWideClasses[class]
}
