package memorysvc

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// skillSalience is what a skill begins with.
const skillSalience = 0.7

// RecordSkill keeps a workflow that worked as a procedural memory, in one operation. A skill with the same steps is
// counted once more, one of the same name gets the new steps; what it said before is in its history. Secrets are
// taken out.
//
// Durable on return. Error: *memory.InvalidError.
func (s *Service) RecordSkill(ctx context.Context, meta store.Meta, skill memory.Skill) (store.Result, error) {
	var check memory.Check
	checkMeta(&check, &meta)
	check.Skill("skill.", &skill)
	var taken redact.Cleaner
	redactSkill(&taken, &skill)
	if strings.TrimSpace(skill.Name) == "" {
		check.Add("skill.name", "NOTHING_LEFT", "holds nothing but what must not be stored")
	}
	data, err := skill.Data(nil)
	if err != nil {
		return store.Result{}, err
	}
	m := &memory.Memory{
		ID: store.NewID(), Category: memory.Procedural, Title: skill.Name,
		Content:  skill.Text(strings.ContainsFunc(skill.Name+skill.When, isHan)),
		Salience: skillSalience, Confidence: 1, Status: memory.Active, Source: memory.SourceSkill,
		More: &memory.More{StructuredData: data,
			Context: &memory.Context{Signature: reflector.StepsSignature(skill.Steps), Occurrences: 1}},
	}
	if meta.Session != "" {
		m.Context().LearnedFrom = "session_" + meta.Session
		m.SetEvidence([]memory.Evidence{{Session: meta.Session}})
	}
	check.Memory("skill.", m)
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		after := m
		if known := knownSkill(s.store.Space(meta.Space).Memories(), tx, m); known != nil {
			after = again(known, m)
		}
		tx.Unforget(after.Content) // an explicit save brings back what was forgotten
		if err := tx.Put(after); err != nil {
			return err
		}
		tx.Report(withRedactions(journal.Outcome{ID: after.ID, Status: journal.Applied}, &taken))
		return nil
	})
}

// isHan reports whether r is a Chinese character.
func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// redactSkill cleans every text of a skill.
func redactSkill(c *redact.Cleaner, s *memory.Skill) {
	s.Name, s.When = c.Text("name", s.Name), c.Text("when", s.When)
	for i := range s.Steps {
		step, field := &s.Steps[i], fmt.Sprintf("steps[%d].", i)
		step.Tool, step.Arguments = c.Text(field+"tool", step.Tool), c.Text(field+"arguments", step.Arguments)
		step.Note = c.Text(field+"note", step.Note)
	}
}

// knownSkill is the newest state of an active skill with the same steps, else of one with the same name; nil when
// there is none.
func knownSkill(durable []*memory.Memory, tx *store.Tx, m *memory.Memory) *memory.Memory {
	var named *memory.Memory
	for _, one := range durable {
		if one.Category != memory.Procedural {
			continue
		}
		now := tx.Memory(one.ID)
		if now == nil || !now.IsActive() || memory.SkillOf(now) == nil {
			continue
		}
		if x := now.Context(); x != nil && x.Signature != "" && x.Signature == m.Context().Signature {
			return now
		}
		if memory.Normalize(now.Title) == memory.Normalize(m.Title) {
			named = now
		}
	}
	if named == nil { // recorded a moment ago, and not durable yet
		named = tx.Equal(m.Category, m.Content)
	}
	return named
}

// again is a known skill that was recorded once more.
func again(known, m *memory.Memory) *memory.Memory {
	c := known.Clone()
	c.Title, c.Content = m.Title, m.Content
	c.SetStructuredData(m.StructuredData())
	c.Salience = max(c.Salience, m.Salience)
	if c.Context() == nil {
		c.SetContext(&memory.Context{})
	}
	c.Context().Signature = m.Context().Signature
	c.Context().Occurrences++
	for _, e := range m.Evidence() {
		if len(c.Evidence()) < memory.MaxLinks {
			c.SetEvidence(append(c.Evidence(), e))
		}
	}
	return c
}
