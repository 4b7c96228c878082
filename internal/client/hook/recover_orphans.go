package hook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	sweepMost = 8                   // sessions looked after at a time
	forgetAt  = 30 * 24 * time.Hour // since the last event of a session
)

// RecoverOrphans reads what the transcripts of other sessions show beyond what was read of them: those whose host was
// killed before it could say that its turn was over. Their end the daemon finds out by itself. States of long ago are
// removed.
func (r *Runner) RecoverOrphans(ctx context.Context, except string) error {
	files, err := os.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	type found struct {
		session string
		at      time.Time
	}
	var sessions []found
	for _, f := range files {
		session, ok := strings.CutSuffix(f.Name(), ".json")
		info, err := f.Info()
		if !ok || err != nil || session == except {
			continue
		}
		if r.Now().Sub(info.ModTime()) > forgetAt {
			_ = os.Remove(filepath.Join(r.Dir, f.Name())) // the next start tries again
			continue
		}
		sessions = append(sessions, found{session, info.ModTime()})
	}
	slices.SortFunc(sessions, func(a, b found) int { return b.at.Compare(a.at) })
	var errs []error
	for _, s := range sessions[:min(len(sessions), sweepMost)] {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, r.recoverOrphan(ctx, s.session))
	}
	return errors.Join(errs...)
}

// recoverOrphan appends the unread rest of a killed host's transcript. A session whose state is locked is alive and
// is skipped.
func (r *Runner) recoverOrphan(ctx context.Context, session string) error {
	s, err := openState(ctx.Done(), r.Dir, session)
	if err != nil {
		if errors.Is(err, errBusy) {
			return nil // it lives
		}
		return err
	}
	defer s.close()
	host := ByName(s.Host)
	if host == nil || host.parse == nil || s.fresh || s.Paused || fileSize(s.Transcript) <= s.Offset {
		return nil
	}
	other := *r
	other.Host = host
	err = other.capture(ctx, s, Event{Kind: Stop, Session: session}, readMost)
	if errors.Is(err, ErrPaused) { // another host than the one that begins a session
		s.Paused, err = true, nil
	}
	return errors.Join(err, s.save())
}
