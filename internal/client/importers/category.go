package importers

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// categoryNames says which category a name of another system means. Names that are missing stay as they are when they
// can: user, feedback, project and reference are categories of their own, and so is any other lower-case word.
var categoryNames = map[string]string{
	"preference": memory.Preferences, "prefs": memory.Preferences, "user_preference": memory.Preferences,
	"user_preferences": memory.Preferences, "偏好": memory.Preferences, "用户偏好": memory.Preferences,
	"fact": memory.Facts, "事实": memory.Facts, "知识": memory.Facts,
	"task": memory.Tasks, "todo": memory.Tasks, "todos": memory.Tasks, "任务": memory.Tasks, "待办": memory.Tasks,
	"reflection": memory.Reflections, "pattern": "patterns",
	"lesson": memory.Reflections, "learning": memory.Reflections,
	"反思": memory.Reflections, "教训": memory.Reflections, "经验": memory.Reflections,
	"skill": memory.Procedural, "skills": memory.Procedural, "procedure": memory.Procedural,
	"procedures": memory.Procedural, "workflow": memory.Procedural, "how-to": memory.Procedural,
	"howto": memory.Procedural, "technique": memory.Procedural, "method": memory.Procedural, "技能": memory.Procedural,
	"流程": memory.Procedural, "方法": memory.Procedural, "技巧": memory.Procedural,
	"note": memory.General, "notes": memory.General, "misc": memory.General, "other": memory.General,
	"笔记":        memory.General,
	"decisions": "decision", "决定": "decision", "决策": "decision",
}

// categoryOf returns the category for a name, or the other one when the name says nothing that can be one.
func categoryOf(name, fallback string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if c := categoryNames[name]; c != "" {
		return c
	}
	s := slug(name)
	if c := categoryNames[s]; c != "" {
		return c
	}
	if s == "" {
		return fallback
	}
	return s
}

// slug makes a lower-case name of s, "" when there is nothing to make it of.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(s)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && (r == '_' || r == '-' || r == '.'):
			b.WriteRune(r)
		case b.Len() > 0 && (r == ' ' || r == '/'):
			b.WriteByte('_')
		case r > 0x7f:
			return "" // another script: half of the name would be another name
		}
	}
	out := strings.TrimRight(b.String(), "_-.")
	if len(out) > memory.MaxSlug {
		return ""
	}
	return out
}
