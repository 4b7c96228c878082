package importers

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
)

// How much is looked at to find out what something is.
const (
	sniffBytes = 256 << 10
	sniffFiles = 200
)

// detect returns the format of the files, "" when it cannot tell.
func (t *tree) detect() string {
	var data []file
	for _, f := range t.find(isJSON) {
		if looksLikeExport(f) || len(t.files) == 1 {
			data = append([]file{f}, data...)
		} else {
			data = append(data, f)
		}
	}
	for _, f := range data[:min(len(data), sniffFiles)] {
		if looksLikeExport(f) || len(t.files) == 1 {
			if format := formatOfJSON(t.head(f, sniffBytes)); format != "" {
				return format
			}
		}
	}
	if format := t.detectText(); format != "" {
		return format
	}
	for _, f := range data[:min(len(data), sniffFiles)] {
		if format := formatOfJSON(t.head(f, sniffBytes)); format != "" {
			return format
		}
	}
	return ""
}

// looksLikeExport reports whether a file has a name that exports use, so that it decides before anything else.
func looksLikeExport(f file) bool {
	base := strings.ToLower(f.base())
	return strings.HasPrefix(base, "conversations") || base == "memories.json" || base == "projects.json" ||
		f.ext() == ".af"
}

// detectText tells the layouts of Markdown files.
func (t *tree) detectText() string {
	pages := t.markdown()
	typed, noted, dated := 0, 0, 0
	for _, f := range pages[:min(len(pages), sniffFiles)] {
		if _, ok := markdownv1.DateOf(f.base(), nil); ok {
			dated++
		}
		p := splitFrontMatter(string(t.head(f, sniffBytes)))
		kind := p.get("type", "metadata.type")
		switch {
		case p.get("permalink") != "" || hasObservation(p.body):
			noted++
		case p.get("metadata.node_type") == "memory", kind != "" &&
			p.get("name") != "", isKind(kind), categoryFromName(f.base()) != "" && len(p.front) > 0:
			typed++
		}
	}
	index := t.named(indexName)
	switch {
	case len(t.named(historyName)) > 0 && len(index) > 0, len(pages) == 1 && len(t.named(historyName)) == 1:
		return Nanobot
	case typed > 0 && typed >= noted:
		return Claude
	case noted > 0 && len(index) == 0:
		return BasicMemory
	case len(index) > 0 && t.points(index[0]):
		return Claude
	case len(index) > 0 || dated > 0:
		return OpenClaw
	}
	return ""
}

// isKind reports whether kind is a type that entry files of memory folders use.
func isKind(kind string) bool {
	return slices.Contains(folderKinds, kind)
}

// points reports whether an index points to files.
func (t *tree) points(f file) bool {
	for line := range strings.Lines(string(t.head(f, sniffBytes))) {
		if _, _, _, ok := indexLine(line); ok {
			return true
		}
	}
	return false
}

// hasObservation reports whether a text has an observation or a relation as basic-memory writes them.
func hasObservation(body string) bool {
	for line := range strings.Lines(body) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			if _, ok := observation(item); ok {
				return true
			}
			if _, _, _, ok := relation(item); ok {
				return true
			}
		}
	}
	return false
}

// formatOfJSON tells the formats of JSON by the names of members in the first object and those in it.
func formatOfJSON(head []byte) string {
	names := [2]map[string]bool{{}, {}}
	first := ""
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	objects, depth := 0, 0
	var stack []byte
	expectName := false
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		if d, ok := token.(json.Delim); ok {
			switch d {
			case '{':
				stack, objects, expectName = append(stack, '{'), objects+1, true
			case '[':
				stack, expectName = append(stack, '['), false
			default:
				if d == '}' {
					objects--
				}
				stack = stack[:len(stack)-1]
				expectName = len(stack) > 0 && stack[len(stack)-1] == '{'
			}
			if depth = len(stack); depth == 0 {
				break // one value is enough
			}
			continue
		}
		inObject := len(stack) > 0 && stack[len(stack)-1] == '{'
		if inObject && expectName {
			name, _ := token.(string)
			if objects >= 1 && objects <= 2 {
				names[objects-1][name] = true
			}
			if objects == 1 && first == "" {
				first = name
			}
			expectName = false
			continue
		}
		expectName = inObject
	}
	return formatOf(names[0], names[1], first)
}

// formatOf decides by the names of the outer object and those of the objects in it.
func formatOf(outer, inner map[string]bool, first string) string {
	switch {
	case first == "memsidecar", outer["memories"] && outer["version"] && inner["content"] && !inner["memory"]:
		return "" // ours
	case outer["mapping"]:
		return ChatGPT
	case outer["chat_messages"], outer["conversations_memory"], outer["project_memories"], outer["prompt_template"] &&
		outer["uuid"]:
		return ClaudeExport
	case outer["type"] && (outer["entityType"] || outer["relationType"]), outer["entities"] &&
		(outer["relations"] || inner["entityType"]):
		return Graph
	case outer["observations"] && (outer["sessions"] || outer["prompts"]):
		return Engram
	case outer["agents"] && outer["blocks"], outer["core_memory"], outer["agent_type"] && outer["memory_blocks"]:
		return Letta
	case outer["memory"] && (outer["id"] || outer["hash"] || outer["user_id"]),
		(outer["results"] || outer["memories"]) && inner["memory"]:
		return Mem0
	}
	return ""
}
