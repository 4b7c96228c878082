package view

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// maxPasses is how often a directory that changes all the time is looked at.
const maxPasses = 5

// SyncUntilQuiet is Sync, repeated while somebody changes files or memories at the same moment.
func (s *Syncer) SyncUntilQuiet(ctx context.Context, opts Options) (Report, error) {
	all, err := s.Sync(ctx, opts)
	for range maxPasses - 1 {
		if err != nil || all.Again.IsZero() || opts.DryRun {
			break
		}
		select {
		case <-ctx.Done():
			return all, context.Cause(ctx)
		case <-time.After(gather):
		}
		var next Report
		next, err = s.Sync(ctx, opts)
		all = all.merge(next)
	}
	return all, err
}

// merge is the report of two passes: what waits is what waited last.
func (r Report) merge(next Report) Report {
	next.Operations = append(r.Operations, next.Operations...)
	next.Adopted = append(r.Adopted, next.Adopted...)
	next.Removed = append(r.Removed, next.Removed...)
	next.Kept = append(r.Kept, next.Kept...)
	next.Notes = append(r.Notes, next.Notes...)
	written := map[string]bool{}
	for _, name := range next.Written {
		written[name] = true
	}
	for _, name := range r.Written {
		if !written[name] {
			next.Written = append(next.Written, name)
		}
	}
	return next
}

// Quiet reports whether a pass found nothing to do and nothing to say.
func (r Report) Quiet() bool {
	return len(r.Operations)+len(r.Adopted)+len(r.Written)+len(r.Removed)+len(r.Waiting)+len(r.Kept)+len(r.Notes) == 0
}

// Remembered returns the format and the space that a directory is a view of; ok is false for one that is none yet.
func Remembered(fsys durable.FS) (format Format, space string, ok bool, err error) {
	st, _, err := loadState(fsys, "", "")
	var other *OtherViewError
	switch {
	case errors.As(err, &other):
		return other.Format, other.Space, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", "", false, nil
	case err != nil:
		return "", "", false, err
	}
	return st.Format, st.Space, st.Format != "", nil
}
