package memory

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Limits of a skill.
const (
	MinSteps = 2
	MaxSteps = 50
)

// Skill is a workflow that worked: what a procedural memory keeps as the member "skill" of its structured data.
type Skill struct {
	Name  string `json:"name"`           // a line; the title of the memory
	When  string `json:"when,omitempty"` // what it is good for
	Steps []Step `json:"steps"`
}

// Step is one step of a skill.
type Step struct {
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"` // as the tool takes them
	Note      string `json:"note,omitempty"`      // what is done, for people
}

// Text is a skill in words, in English or Chinese.
func (s *Skill) Text(chinese bool) string {
	var b strings.Builder
	b.WriteString(s.Name)
	switch {
	case s.When != "" && chinese:
		b.WriteString("（" + s.When + "）")
	case s.When != "":
		b.WriteString(" (" + s.When + ")")
	}
	if chinese {
		b.WriteString("，可行的步骤：")
	} else {
		b.WriteString(", steps that worked:")
	}
	for i, st := range s.Steps {
		fmt.Fprintf(&b, "\n%d. %s", i+1, st.line())
	}
	return b.String()
}

// line is a step in one line.
func (s *Step) line() string {
	var parts []string
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	if what := strings.TrimSpace(s.Tool + " " + s.Arguments); what != "" {
		parts = append(parts, strings.Join(strings.Fields(what), " "))
	}
	return strings.Join(parts, ": ")
}

// Data is the structured data of a skill. The other members of data stay.
func (s *Skill) Data(data json.RawMessage) (json.RawMessage, error) {
	members := map[string]any{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &members); err != nil {
			return nil, fmt.Errorf("read structured data: %w", err)
		}
	}
	members["skill"] = s
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("encode skill: %w", err)
	}
	return raw, nil
}

// SkillOf reads the skill that a memory keeps, nil when it keeps none.
func SkillOf(m *Memory) *Skill {
	var data struct {
		Skill *Skill `json:"skill"`
	}
	if m.Category != Procedural || len(m.StructuredData()) == 0 || json.Unmarshal(m.StructuredData(), &data) != nil ||
		data.Skill == nil ||
		len(data.Skill.Steps) == 0 {
		return nil
	}
	return data.Skill
}

// Skill checks a skill.
func (c *Check) Skill(prefix string, s *Skill) {
	c.Text(prefix+"name", s.Name, MaxTitle, true)
	if strings.ContainsAny(s.Name, "\r\n") {
		c.Add(prefix+"name", "LINE_BREAK", "must be one line")
	}
	c.Text(prefix+"when", s.When, 1000, false)
	if n := len(s.Steps); n < MinSteps || n > MaxSteps {
		c.Add(prefix+"steps", "OUT_OF_RANGE", "has %d items; it must have %d to %d", n, MinSteps, MaxSteps)
	}
	for i := range s.Steps {
		at, st := fmt.Sprintf("%ssteps[%d].", prefix, i), &s.Steps[i]
		c.Text(at+"tool", st.Tool, MaxTitle, false)
		c.Text(at+"arguments", st.Arguments, 2000, false)
		c.Text(at+"note", st.Note, 1000, false)
		if strings.TrimSpace(st.Tool) == "" && strings.TrimSpace(st.Note) == "" {
			c.Add(at+"tool", "REQUIRED", "a step has a tool, a note or both")
		}
	}
}
