package consolidator

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
)

// Model answers questions. *llm.Client implements it.
type Model interface {
	Do(ctx context.Context, req llm.Request) (llm.Reply, error)
}

// Values of Decision.DecidedBy.
const (
	ByModel = "model"
	ByRules = "rules"
)

const (
	// an agent waits for the decision; after this time the rules decide
	modelTimeout = 20 * time.Second
	// below this score a memory is unrelated
	minSimilar = 0.15
	maxShown   = 8
	// maximum length of a memory in a question; a truncated one could not be merged
	shownRunes       = 2000
	outputTokens     = 2048
	maxCachedReplies = 256 // cached replies
)

// replySchema is the JSON schema of a reply; see type reply.
const replySchema = `{"type":"object","properties":{"action":{"type":"string","enum":["ADD","UPDATE","DELETE","NOOP","REPLACE","MERGE","KEEP_BOTH"]},"target":{"type":"integer"},` +
	`"content":{"type":"string"},"why":{"type":"string"}},"required":["action","target","content","why"],` +
	`"additionalProperties":false}`

// reply is the model's decision; replySchema describes it.
type reply struct {
	Action  string `json:"action"`
	Target  int    `json:"target"`
	Content string `json:"content"`
	Why     string `json:"why"`
}

// The system prompts, in English and Chinese. The Chinese one is for candidates in Chinese.
var (
	//go:embed prompts/system_en.txt
	systemEnFile string
	//go:embed prompts/system_zh.txt
	systemZhFile string

	systemEn = strings.TrimSpace(systemEnFile)
	systemZh = strings.TrimSpace(systemZhFile)
)

// replyCache caches replies by question, first in, first out. The zero value is ready to use. It is safe for
// concurrent use.
type replyCache struct {
	mu      sync.Mutex
	replies map[[32]byte]reply // guarded by mu
	// oldest first; guarded by mu
	order [][32]byte
	// newest purge before the replies; guarded by mu
	purge int64
}

// invalidate drops replies from before a purge, because they may contain purged text.
func (a *replyCache) invalidate(purge int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.purge != purge {
		clear(a.replies)
		a.order, a.purge = nil, purge
	}
}

// get returns the cached reply to a question.
func (a *replyCache) get(key [32]byte) (reply, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.replies[key]
	return r, ok
}

// put caches a reply, unless a purge happened since the question.
func (a *replyCache) put(key [32]byte, r reply, purge int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.replies[key]; ok || a.purge != purge {
		return
	}
	if a.replies == nil {
		a.replies = map[[32]byte]reply{}
	}
	if len(a.order) == maxCachedReplies {
		delete(a.replies, a.order[0])
		a.order = append(a.order[:0], a.order[1:]...)
	}
	a.replies[key] = r
	a.order = append(a.order, key)
}

// question is what the model is asked about a candidate.
type question struct {
	shown []shownMemory
	key   [32]byte
}

// questionOf returns what to ask the model; ok is false if nothing similar, but not equal, is known.
func questionOf(req Request, hits []search.Hit, byRules guard.Item) (q question, ok bool) {
	if byRules.Action == guard.Noop && byRules.Reason == guard.ReasonExactDuplicate {
		return q, false
	}
	for _, h := range hits {
		if h.Score >= minSimilar && len(q.shown) < maxShown && len([]rune(h.Memory.Content)) <= shownRunes {
			q.shown = append(q.shown, shownMemory{h.Memory, h.Score >= nearIdentical})
		}
	}
	q.key = questionKey(req, q.shown)
	return q, len(q.shown) > 0
}

// consultModel returns the model's decision, from the cache or by asking. It returns byRules if the model gives no
// usable reply; note is the reason. purged is the newest purge before anything was read. The error is that of ctx.
func (s *Service) consultModel(ctx context.Context, req Request, q question, candidate, byRules guard.Item,
	purged int64) (item guard.Item, note string, err error) {
	r, ok := s.replies.get(q.key)
	if !ok {
		timed, cancel := context.WithTimeout(ctx, modelTimeout)
		defer cancel()
		_, err := s.model.Do(timed, buildRequest(req, q.shown, &r))
		if ctx.Err() != nil {
			return guard.Item{}, "", fmt.Errorf("ask the model about a memory: %w", ctx.Err())
		}
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return byRules, e.Error(), nil
		}
		if err != nil {
			return byRules, fmt.Sprintf("the model did not answer within %s", modelTimeout), nil
		}
		s.replies.put(q.key, r, purged)
	}
	if item, note = itemFromReply(candidate, r, q.shown); note != "" {
		return byRules, note, nil
	}
	return item, "", nil
}

// questionKey is a hash of everything that determines the question. Lengths are included, so that different fields
// cannot produce the same input.
func questionKey(req Request, shown []shownMemory) [32]byte {
	h := sha256.New()
	text := func(s string) {
		_ = binary.Write(h, binary.BigEndian, int64(len(s)))
		h.Write([]byte(s))
	}
	for _, s := range []string{req.Space, req.Category, req.Content} {
		text(s)
	}
	for _, m := range shown {
		text(m.ID)
		_ = binary.Write(h, binary.BigEndian, m.Revision)
	}
	return [32]byte(h.Sum(nil))
}

// buildRequest builds the question: the candidate and the shown memories, redacted, one JSON object per line.
func buildRequest(req Request, shown []shownMemory, dst *reply) llm.Request {
	type line struct {
		Target   int    `json:"target,omitempty"`
		Near     bool   `json:"near_identical,omitempty"`
		Category string `json:"category"`
		Content  string `json:"content"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	put := func(l line) {
		l.Content, _ = redact.Text(l.Content)
		_ = e.Encode(l) // cannot fail for strings and numbers
	}
	system, heads := systemEn, []string{"NEW:\n", "\nKNOWN (none may be changed but these):\n"}
	if mostlyChinese(req.Content) {
		system, heads = systemZh, []string{"新记忆：\n", "\n已有记忆（只有这些可以修改）：\n"}
	}
	b.WriteString(heads[0])
	put(line{Category: req.Category, Content: req.Content})
	b.WriteString(heads[1])
	for i, m := range shown {
		put(line{i + 1, m.nearIdentical, m.Category, m.Content})
	}
	return llm.Request{System: system, User: b.String(), Schema: json.RawMessage(replySchema), Name: "decision",
		MaxOutputTokens: outputTokens, Check: llm.Into(dst)}
}

// mostlyChinese reports whether at least a fifth of the letters are Chinese.
func mostlyChinese(s string) bool {
	han, letters := 0, 0
	for _, c := range s {
		if unicode.Is(unicode.Han, c) {
			han++
		} else if unicode.IsLetter(c) {
			letters++
		}
	}
	return han > 0 && 5*han >= han+letters
}

// itemFromReply converts a reply to an item, or says why it is not usable: it names no shown memory, or would lose a
// part of the candidate.
func itemFromReply(candidate guard.Item, r reply, shown []shownMemory) (guard.Item, string) {
	item := candidate
	item.Target, item.TargetRevision, item.Replaces = "", 0, nil
	item.Reason, item.Model, item.Said = guard.ReasonModel, true, candidate.Memory.Content
	if why, ok := choiceReasons[r.Action]; ok {
		item.Reason = why
	}
	if r.Action == string(guard.Add) || r.Action == keepBoth {
		item.Action = guard.Add
		return item, ""
	}
	if r.Target < 1 || r.Target > len(shown) {
		return item, "the model chose a memory that it was not shown"
	}
	target := shown[r.Target-1]
	item.Target, item.TargetRevision = target.ID, target.Revision
	said := candidate.Memory.Content
	switch r.Action {
	case string(guard.Noop):
		item.Action = guard.Noop
		if !guard.Covers(target.Content, said) {
			return item, "the model would have left out something new"
		}
	case replace:
		item = updateItem(item, target, said)
	case string(guard.Update), merge:
		if strings.TrimSpace(r.Content) == "" || !guard.Covers(r.Content, said) {
			return item, "the model would have left out something new"
		}
		if item = updateItem(item, target, r.Content); r.Action == merge || target.nearIdentical {
			item.Memory.Confidence = average(target.Confidence, item.Memory.Confidence)
		}
	case string(guard.Delete):
		item.Action = guard.Delete // the candidate supersedes the target
	default:
		return item, "the model chose an unknown action"
	}
	return item, ""
}

// updateItem makes item an UPDATE of target to text.
func updateItem(item guard.Item, target shownMemory, text string) guard.Item {
	item.Action = guard.Update
	item.Memory.Content, item.Memory.Category = text, "" // an update does not move the memory to another category
	item.Memory.Salience = max(item.Memory.Salience, target.Salience)
	return item
}
