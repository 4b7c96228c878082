// Package digest writes the rolling summary: a short text of what a space knows, made of its memories and daily logs by rules. It never reads the
// summary that was there before, so nothing that was forgotten or corrected lives on in it, and it never replaces what somebody
// else wrote without being told to.
package digest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// The first line of a summary written here. A summary with another first line is somebody else's.
const (
	HeadEn = "What is known, put together by memsidecar:"
	HeadZh = "memsidecar 整理的已知内容："
)

// ReasonForeign is the reason of a rebuild that left somebody else's summary alone.
const ReasonForeign = "SUMMARY_IS_YOURS"

const (
	maxLine = 160 // characters of a memory
	maxPast = 240 // characters of what a session was about
	recent  = 7   // newest daily logs that are looked at
)

// part is one paragraph of a summary.
type part struct {
	category string
	en, zh   string
	most     int
}

var parts = []part{
	{memory.Preferences, "Preferences", "偏好", 6},
	{memory.Facts, "Facts", "事实", 8},
	{memory.Tasks, "Open tasks", "待办", 5},
	{memory.Procedural, "How to work", "做事方法", 5},
	{memory.Reflections, "Lessons", "经验", 3},
}

// maxSessions is how many sessions are told of.
const maxSessions = 3

// Ours reports whether a summary was written here, or is empty: it may be replaced.
func Ours(summary string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(summary), "\n")
	first = strings.TrimSpace(first)
	return first == "" || first == HeadEn || first == HeadZh
}

// Build writes the summary of memories and of what the sessions of entries were about, "" when there is nothing to say. The same input gives the same
// text, in the language of most of it.
func Build(memories []*memory.Memory, entries []*memory.Entry, now time.Time) string {
	var lines []string
	zh := mostlyChinese(memories)
	for _, p := range parts {
		if list := pick(memories, p, now); len(list) > 0 {
			lines = append(lines, title(p.en, p.zh, zh)+join(list, zh))
		}
	}
	if past := sessions(entries); len(past) > 0 {
		lines = append(lines, title("Lately", "近况", zh)+join(past, zh))
	}
	if len(lines) == 0 {
		return ""
	}
	head := HeadEn
	if zh {
		head = HeadZh
	}
	return head + "\n" + strings.Join(lines, "\n")
}

func title(en, zh string, chinese bool) string {
	if chinese {
		return zh + "："
	}
	return en + ": "
}

func join(list []string, chinese bool) string {
	if chinese {
		return strings.Join(list, "；")
	}
	return strings.Join(list, "; ")
}

// pick chooses the weightiest memories of a category.
func pick(memories []*memory.Memory, p part, now time.Time) (out []string) {
	var of []*memory.Memory
	for _, m := range memories {
		if m.Category == p.category && m.IsActive() && !m.Expired(now) {
			of = append(of, m)
		}
	}
	slices.SortStableFunc(of, func(a, b *memory.Memory) int {
		return cmp.Or(first(b.Pinned)-first(a.Pinned), cmp.Compare(b.Salience, a.Salience), b.UpdatedAt.Compare(a.UpdatedAt), strings.Compare(a.ID, b.ID))
	})
	for _, m := range of[:min(len(of), p.most)] {
		out = append(out, short(m.Content, maxLine))
	}
	return out
}

func first(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// sessions tells what the newest sessions were about, newest first.
func sessions(entries []*memory.Entry) (out []string) {
	of := slices.DeleteFunc(slices.Clone(entries), func(e *memory.Entry) bool { return e.Type != memory.EntrySessionSummary })
	slices.SortStableFunc(of, func(a, b *memory.Entry) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID)) })
	for _, e := range of {
		text := short(e.Content, maxPast)
		if len(out) == maxSessions || slices.Contains(out, text) {
			continue
		}
		out = append(out, text)
	}
	return out
}

// short is a text on one line, without its end mark, of at most limit characters.
func short(s string, limit int) string {
	s = strings.TrimRight(strings.Join(strings.Fields(s), " "), ".。;；")
	if r := []rune(s); len(r) > limit {
		return strings.TrimSpace(string(r[:limit-1])) + "…"
	}
	return s
}

// mostlyChinese: a third of the letters of the memories are Chinese.
func mostlyChinese(memories []*memory.Memory) bool {
	han, letters := 0, 0
	for _, m := range memories {
		if !m.IsActive() {
			continue
		}
		for _, c := range m.Content {
			switch {
			case unicode.Is(unicode.Han, c):
				han++
			case unicode.IsLetter(c):
				letters++
			}
		}
	}
	return 3*han > han+letters
}

// Service rebuilds the summaries of a store. It is safe for concurrent use.
type Service struct {
	store *store.Store
	now   func() time.Time
}

// New makes a Service.
func New(st *store.Store, now func() time.Time) *Service { return &Service{st, now} }

// Options of a rebuild.
type Options struct {
	Replace bool // also what somebody else wrote
	DryRun  bool
	Key     string // idempotency key, "" for none
}

const attempts = 3

var (
	errMoved  = errors.New("a memory changed meanwhile")
	errDryRun = errors.New("dry run")
)

// Rebuild replaces the summary of a space by what Build makes of its state, as one operation that can be undone. Somebody else's summary is left
// alone, with the outcome ReasonForeign, unless it is to be replaced. Durable on return.
func (s *Service) Rebuild(ctx context.Context, space string, opts Options) (res store.Result, text string, err error) {
	for range attempts {
		res, text, err = s.once(ctx, space, opts)
		if !errors.Is(err, errMoved) {
			return res, text, err
		}
	}
	return store.Result{}, "", fmt.Errorf("the memories keep changing: %w", memory.ErrBusy)
}

func (s *Service) once(ctx context.Context, space string, opts Options) (store.Result, string, error) {
	purged, view := s.store.LastPurge(), s.store.Space(space)
	entries, err := entriesOf(view)
	if err != nil {
		return store.Result{}, "", err
	}
	text := Build(view.Memories(), entries, s.now())
	meta := store.Meta{Space: space, Actor: journal.ActorDaemon, Reason: "rolling summary from memories and logs"}
	if opts.Key != "" {
		meta.Key, meta.Request = opts.Key, fmt.Appendf(nil, "summary\x00%t", opts.Replace)
	}
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		if s.store.LastPurge() != purged {
			return errMoved // the text may hold what was erased
		}
		outcome := journal.Outcome{Status: journal.Applied}
		switch {
		case opts.DryRun:
			return errDryRun
		case !Ours(tx.Summary()) && !opts.Replace:
			outcome = journal.Outcome{Status: journal.Rejected, Reason: ReasonForeign}
		case tx.Summary() == text:
			outcome = journal.Outcome{Status: journal.Duplicate}
		default:
			tx.SetSummary(text)
		}
		tx.Report(outcome)
		return nil
	})
	if errors.Is(err, errDryRun) {
		return store.Result{}, text, nil
	}
	return res, text, err
}

// Refresh rebuilds the summaries that were written here, in all spaces, and returns how many changed. A space without one stays without.
func (s *Service) Refresh(ctx context.Context) (changed int, err error) {
	var errs []error
	for _, space := range s.store.Spaces() {
		if text := s.store.Space(space).Summary(); text == "" || !Ours(text) {
			continue
		}
		res, _, err := s.Rebuild(ctx, space, Options{})
		if res.Op > 0 {
			changed++
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("rebuild the rolling summary of space %s: %w", space, err))
		}
	}
	return changed, errors.Join(errs...)
}

// entriesOf reads the newest daily logs.
func entriesOf(view *store.Space) (out []*memory.Entry, err error) {
	days := view.Days()
	for _, d := range days[max(0, len(days)-recent):] {
		_, entries, err := view.Log(d.Date)
		if errors.Is(err, memory.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", d.Date, err)
		}
		out = append(out, entries...)
	}
	return out, nil
}
