package journal_test

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// shout is a rewriting of the summaries that end in a digit given, before an LSN.
func shout(digit string, before int64) journal.RewriteOptions {
	return journal.RewriteOptions{
		Before:    before,
		MayChange: func(line []byte) bool { return strings.Contains(string(line), "summary") },
		Change: func(rec *journal.Record) bool {
			s := rec.Changes[0].Summary
			if !strings.HasSuffix(s.After, digit) || strings.HasPrefix(s.After, "SUMMARY") {
				return false
			}
			rec.Changes[0].Summary = &journal.SummaryChange{After: strings.ToUpper(s.After)}
			return true
		},
	}
}

// texts are the summaries of all operations, as they are read.
func texts(t *testing.T, j *journal.Journal) (out []string) {
	t.Helper()
	next := int64(1)
	for rec, err := range j.Read(1, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.LSN != next {
			t.Fatalf("record %d follows %d", rec.LSN, next-1)
		}
		next = rec.Last() + 1
		out = append(out, rec.Changes[0].Summary.After)
	}
	return out
}

func TestRewrite(t *testing.T) {
	fs := crashfs.New()
	j := open(t, config(fs, nil))
	group(t, j, record(1, 0), record(2, 0))
	group(t, j, record(11, 0))
	dry := shout("1", math.MaxInt64)
	dry.DryRun = true
	found, err := j.Rewrite(t.Context(), dry)
	if diff := cmp.Diff(journal.RewriteCounts{Segments: 1, Records: 2}, found); err != nil || diff != "" {
		t.Errorf("dry run: %v\n%s", err, diff)
	}
	if _, err := j.Rewrite(t.Context(), shout("1", 4)); err == nil {
		t.Error("the segment that is written to was rewritten")
	}
	if err := errors.Join(j.WaitIdle(t.Context()), j.Roll(), j.Roll()); err != nil {
		t.Fatal(err)
	}
	group(t, j, record(21, 0))
	if n := j.Stats().Segments; n != 2 {
		t.Errorf("%d segments: rolling twice must make one", n)
	}
	for i, want := range []journal.RewriteCounts{{Segments: 1, Records: 1}, {}} {
		got, err := j.Rewrite(t.Context(), shout("1", 3))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("time %d: %v\n%s", i+1, err, diff)
		}
	}
	want := []string{"SUMMARY 1", "summary 2", "summary 11", "summary 21"}
	if diff := cmp.Diff(want, texts(t, j)); diff != "" {
		t.Error(diff)
	}
	if damage, err := journal.Check(fs, "", 0); err != nil || damage != nil {
		t.Errorf("check: %v, %v", damage, err)
	}
	again := open(t, config(fs.Crash(crashfs.Lost, nil), nil))
	if diff := cmp.Diff(want, texts(t, again)); diff != "" {
		t.Errorf("after a crash:\n%s", diff)
	}
}

// TestRewriteFails requires that a failure before the rename changes nothing and can be tried again, and that one of
// the rename or behind it ends all writing.
func TestRewriteFails(t *testing.T) {
	for at := 1; ; at++ {
		fs := crashfs.New()
		j := open(t, config(fs, nil))
		group(t, j, record(1, 0))
		if err := errors.Join(j.WaitIdle(t.Context()), j.Roll()); err != nil {
			t.Fatal(err)
		}
		began := fs.Ops()
		fs.FailAt(began+at, syscall.ENOSPC)
		_, err := j.Rewrite(t.Context(), shout("1", 2))
		if fs.Ops() < began+at {
			if at < 5 || err != nil {
				t.Fatalf("it takes %d operations: %v", at-1, err)
			}
			return
		}
		op := fs.Trace()[began+at-1]
		if strings.HasPrefix(op, "rename") || strings.HasPrefix(op, "syncdir") {
			if !errors.Is(err, memory.ErrReadOnly) || j.Err() == nil {
				t.Errorf("%s: %v", op, err)
			}
			continue
		}
		if !errors.Is(err, memory.ErrDiskFull) || j.Err() != nil {
			t.Errorf("%s: %v", op, err)
		}
		if got := texts(t, j); got[0] != "summary 1" {
			t.Errorf("%s: %q", op, got)
		}
		if _, err := j.Rewrite(t.Context(), shout("1", 2)); err != nil || texts(t, j)[0] != "SUMMARY 1" {
			t.Errorf("%s, again: %v", op, err)
		}
	}
}
