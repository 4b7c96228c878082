package reflector

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Limits of a question in tokens. With the reply it fits into a context of 16,384 tokens.
const (
	transcriptTokens = 5000
	// known memories
	shownTokens = 1800
	// one known memory
	shownTextTokens = 200
	outputTokens    = 4096
)

// replySchema is the JSON schema of a reply; see type reply.
const replySchema = `{"type":"object","properties":{` +
	`"summary":{"type":"string"},` +
	`"history":{"type":"string"},` +
	`"items":{"type":"array","items":{"type":"object","properties":{` +
	`"action":{"type":"string","enum":["ADD","UPDATE","NOOP"]},"target":{"type":"integer"},` +
	`"category":{"type":"string","enum":["preferences","facts","tasks","reflections","general"]},` +
	`"title":{"type":"string"},"content":{"type":"string"},"salience":{"type":"number"},"why":{"type":"string"}},` +
	`"required":["action","target","category","title","content","salience","why"],"additionalProperties":false}},` +
	`"rules":{"type":"array","items":{"type":"object","properties":{` +
	`"failure":{"type":"integer"},"title":{"type":"string"},"content":{"type":"string"},"salience":{"type":"number"},` +
	`"why":{"type":"string"}},` +
	`"required":["failure","title","content","salience","why"],"additionalProperties":false}}},` +
	`"required":["summary","history","items","rules"],"additionalProperties":false}`

// The system prompts, in English and Chinese. The Chinese one is for sessions in Chinese.
var (
	//go:embed prompts/system_en.txt
	systemEnFile string
	//go:embed prompts/system_zh.txt
	systemZhFile string

	systemEn = strings.TrimSpace(systemEnFile)
	systemZh = strings.TrimSpace(systemZhFile)
)

// buildRequest builds the question about a range of messages.
func buildRequest(r *planner, shown []*memory.Memory, failed []*failure,
	check func(json.RawMessage) error) llm.Request {
	last := r.day(r.in.Messages[len(r.in.Messages)-1])
	system, heads := systemEn, []string{"MEMORIES (none may be changed but these):", "FAILURES:",
		"SESSION (a line is a message; [n] stands for n messages that are left out):", "(none)"}
	day := last.Format("2006-01-02 (Monday), MST -07:00")
	if r.chinese {
		system, heads = systemZh, []string{"已有记忆（只有这些可以修改）：", "失败：", "会话（每行一条消息；[n] 表示省略了 n 条）：", "（无）"}
		day = last.Format("2006-01-02") + "（" + weekdayZh(last) + "），时区 " + last.Format("MST -07:00")
	}
	var b strings.Builder
	section := func(title, text string) {
		if text == "" {
			text = heads[3] + "\n"
		}
		b.WriteString(title + "\n" + text + "\n")
	}
	section(heads[0], memoryLines(shown))
	section(heads[1], failureLines(failed, r.in.Failures))
	section(heads[2], transcript(r.in.Messages, r.in.Location, transcriptTokens))
	return llm.Request{
		System: fmt.Sprintf(system, day), User: b.String(), Schema: json.RawMessage(replySchema), Name: "reflection",
		MaxOutputTokens: outputTokens, Check: check,
	}
}

// weekdayZh is the Chinese name of the weekday.
func weekdayZh(t time.Time) string {
	return "星期" + string([]rune("日一二三四五六")[t.Weekday()])
}

// shownMemory is a known memory as the model sees it.
type shownMemory struct {
	Target   int    `json:"target"`
	Category string `json:"category"`
	Title    string `json:"title,omitempty"`
	Content  string `json:"content"`
}

// memoryLines lists memories under ordinals from 1, because models copy long ids incorrectly.
func memoryLines(shown []*memory.Memory) string {
	var b strings.Builder
	for i, m := range shown {
		b.WriteString(memoryLine(i+1, m) + "\n")
	}
	return b.String()
}

// memoryLine encodes a memory, redacted and shortened.
func memoryLine(n int, m *memory.Memory) string {
	content, _ := redact.Text(m.Content)
	title, _ := redact.Text(m.Title)
	return encodeLine(shownMemory{n, m.Category, title, elideTokens(content, shownTextTokens)})
}

// failureLine is a tool failure as the model sees it. Error is the tool's own line as evidence, or the class of the
// failure; Before counts earlier sessions.
type failureLine struct {
	Failure   int    `json:"failure"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"`
	Error     string `json:"error"`
	Count     int64  `json:"count"`
	Before    int64  `json:"before"`
}

// failureLines lists failures under ordinals from 1, one JSON object per line.
func failureLines(failed []*failure, before map[string]int64) string {
	var b strings.Builder
	for i, f := range failed {
		t := f.message.Tool
		line := failureLine{i + 1, truncate(t.Name, 80), elideTokens(lastingArguments(t), 40),
			cmp.Or(quotedError(t), f.class), f.count, before[f.signature]}
		b.WriteString(encodeLine(line) + "\n")
	}
	return b.String()
}
