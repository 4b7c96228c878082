package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// maxProblems bounds what a check lists.
const maxProblems = 50 // each is looked for in the text

// Problem is one reason why an edit would not be adopted.
type Problem struct {
	Line, Column int    // from 1; 0 for the file as a whole
	Path         string // of the value, "memories[3].salience"; may be empty
	Message      string // for people; holds no text of a memory
	Refused      bool   // the file would be refused; else it would wait for a decision
}

// Check says what would become of data as the memory.json of a space, or as its daily log when date is set: no
// problems mean that it would be adopted. It reads the present state and changes nothing. Error:
// *memory.InvalidError for a space or date that cannot be.
func (s *Service) Check(ctx context.Context, space, date string, data []byte) ([]Problem, error) {
	space = cmp.Or(space, memory.DefaultSpace)
	t := target{name: jsonstore.Path(space), space: space, date: date}
	if date != "" {
		t.name = dailylog.Path(space, date)
	}
	if known, ok := parsePath(t.name); !ok || known != t {
		var check memory.Check
		check.Add("date", "INVALID", "with this space, does not name a file")
		return nil, check.Err()
	}
	var err error
	if date == "" {
		_, err = s.readMemories(data, space)
	} else {
		_, err = s.readLog(data, space, date)
	}
	if err != nil {
		return []Problem{unreadable(err)}, nil
	}
	// A pass must not adopt the same file while its fate is foretold.
	s.passMu.Lock()
	p, err := s.makePlan(ctx, t, data, false)
	s.passMu.Unlock()
	if err != nil {
		return nil, err
	}
	return p.problems(data), nil
}

// unreadable is the problem of a text that is no file of its kind.
func unreadable(err error) Problem {
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return Problem{Line: e.Line, Column: e.Column, Path: e.Path, Message: e.Msg, Refused: true}
	}
	return Problem{Message: err.Error(), Refused: true}
}

// problems lists what is wrong with the plan, in the order of the text.
func (p *plan) problems(data []byte) (out []Problem) {
	for _, v := range p.violations {
		if len(out) == maxProblems {
			break
		}
		line, column := strictjson.Locate(data, v.Field)
		out = append(out, Problem{Line: line, Column: column, Path: v.Field, Message: v.Detail, Refused: true})
	}
	if len(p.violations) == 0 && p.kind != "" {
		for _, why := range p.details {
			out = append(out, Problem{Message: why, Refused: p.kind == publish.Refused})
		}
	}
	slices.SortStableFunc(
		out,
		func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) },
	)
	return out
}
