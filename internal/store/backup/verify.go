package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Verify restores an archive into a temporary directory below dir ("" is the system's), opens the store there, and
// compares its state with the one that was backed up. It removes the directory again. Errors: those of Restore;
// *DamagedError when the states differ.
func Verify(ctx context.Context, archive io.Reader, layout Layout, dir string, now func() time.Time) (info Info,
	err error) {
	temp, err := os.MkdirTemp(dir, "memsidecar-verify-")
	if err != nil {
		return Info{}, fmt.Errorf("verify: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	root, err := os.OpenRoot(temp)
	if err != nil {
		return Info{}, fmt.Errorf("verify: %w", err)
	}
	defer root.Close()
	fsys := durable.Dir(root)
	if info, err = Restore(ctx, fsys, archive,
		Options{Published: layout, EpochSuffix: "verify", Now: now(),
			Remedy: "delete it: it was made to verify a backup"}); err != nil {
		return Info{}, err
	}
	if err := CheckState(fsys, info); err != nil {
		return Info{}, err
	}
	return info, open(ctx, fsys, info, now)
}

// CheckState checks every line of a restored directory and compares its state with the one that was backed up.
func CheckState(fsys durable.FS, info Info) error {
	report, err := store.Check(fsys)
	if err != nil {
		return fmt.Errorf("check what was restored: %w", err)
	}
	for _, f := range report.Findings {
		return &DamagedError{Detail: fmt.Sprintf("%s line %d: %s", f.File, f.Line, f.Detail)}
	}
	return sameState(report.LSN, report.Digest, info)
}

// open opens the restored store, as a daemon would, and compares its state.
func open(ctx context.Context, fsys durable.FS, info Info, now func() time.Time) (err error) {
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("open what was restored: %w", err)
	}
	defer func() { err = errors.Join(err, st.Close(ctx)) }()
	digest, err := st.Digest()
	if err != nil {
		return fmt.Errorf("read what was restored: %w", err)
	}
	return sameState(st.LSN(), digest, info)
}

// sameState compares the restored state with the one that the manifest names.
func sameState(lsn int64, digest string, info Info) error {
	if lsn != info.LSN || digest != info.Digest {
		return &DamagedError{Detail: fmt.Sprintf("it holds another state, of operation %d, than its manifest says, "+
			"of %d", lsn, info.LSN)}
	}
	return nil
}
