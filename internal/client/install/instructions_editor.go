package install

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/memsidecar/memsidecar/internal/client/hook"
)

// instructionsEditor is a file of our own that tells an agent when to search and when to save. Most hosts read it as
// a skill; others want another head in front of the same text.
type instructionsEditor struct{ head string }

//go:embed skill.md
var skillText string

// instructionsMark is in each of these files. One without it is not ours.
const instructionsMark = `<!-- Written by "memsidecar install";`

// The heads of rules that are always read: a short text is worth its place in every request.
var (
	skill      = instructionsEditor{}
	cursorRule = instructionsEditor{"---\ndescription: Long-term memory\nalwaysApply: true\n---\n"}
	vscodeRule = instructionsEditor{"---\napplyTo: \"**\"\n---\n"}
)

// text is the whole file. A user's is a skill in every host.
func (e instructionsEditor) text(t *Target) []byte {
	if e.head == "" || t.Scope == User {
		return []byte(skillText)
	}
	return []byte(e.head + skillText[strings.Index(skillText, instructionsMark):])
}

// add writes the file. Error: ErrForeign for a file that is not ours.
func (e instructionsEditor) add(t *Target, before []byte) ([]byte, error) {
	if before != nil && !bytes.Contains(before, []byte(instructionsMark)) {
		return nil, fmt.Errorf("%w: it was not written by memsidecar", ErrForeign)
	}
	return e.text(t), nil
}

// remove deletes the file if it is ours.
func (instructionsEditor) remove(_ *Target, before []byte) ([]byte, error) {
	if !bytes.Contains(before, []byte(instructionsMark)) {
		return before, nil
	}
	return nil, nil
}

// commands returns no command, under no event, when the file is there.
func (instructionsEditor) commands(_ *Target, text []byte) (map[hook.Kind][]string, error) {
	if !bytes.Contains(text, []byte(instructionsMark)) {
		return nil, nil
	}
	return map[hook.Kind][]string{"": {""}}, nil
}
