package rpc

import (
	"fmt"
	"regexp"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// Level says how bad a finding is.
type Level string

// The levels of findings.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	Name   string // a slug
	Level  Level
	Detail []Text
	Remedy []Text // nil when there is nothing to do
}

// Text is an English sentence whose form clients can translate: Form has {} where an argument stands.
type Text struct {
	Form string
	Args []string
}

// verb is a verb of fmt.
var verb = regexp.MustCompile(`%[0-9]*[a-z]`)

// FormOf is the form of a format of fmt: with {} for each verb.
func FormOf(format string) string { return verb.ReplaceAllString(format, "{}") }

// Say is one text: fmt.Sprintf that keeps what it puts together.
func Say(format string, args ...any) []Text {
	t := Text{Form: FormOf(format)}
	for i, v := range verb.FindAllString(format, -1) {
		t.Args = append(t.Args, fmt.Sprintf(v, args[i]))
	}
	return []Text{t}
}

// String is the sentence.
func (t Text) String() string {
	var b strings.Builder
	for i, piece := range strings.Split(t.Form, "{}") {
		if i > 0 {
			b.WriteString(t.Args[i-1])
		}
		b.WriteString(piece)
	}
	return b.String()
}

// joined is several texts as one.
func joined(texts []Text) string {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = t.String()
	}
	return strings.Join(parts, "; ")
}

// textsToProto converts texts to messages.
func textsToProto(texts []Text) (out []*pb.FindingText) {
	for _, t := range texts {
		out = append(out, &pb.FindingText{Form: t.Form, Args: t.Args})
	}
	return out
}

// findingLevels names the levels of findings in messages.
var findingLevels = map[Level]pb.FindingLevel{
	LevelOK:   pb.FindingLevel_FINDING_LEVEL_OK,
	LevelWarn: pb.FindingLevel_FINDING_LEVEL_WARN,
	LevelFail: pb.FindingLevel_FINDING_LEVEL_FAIL,
}

// findingToProto converts a finding.
func findingToProto(f Finding) *pb.Finding {
	return &pb.Finding{
		Name: f.Name, Level: findingLevels[f.Level], Detail: joined(f.Detail), Remedy: joined(f.Remedy),
		DetailTexts: textsToProto(f.Detail), RemedyTexts: textsToProto(f.Remedy),
	}
}
