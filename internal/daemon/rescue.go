package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// rescue writes everything that readers see to a new file, as an export, after the journal was deleted or moved away.
// It returns the files that it wrote, whose modes are 0600. They are in the data directory, or in the directory for
// temporary files when present is not the directory at data any more. Durable on return.
//
// Logs and sessions whose bodies were only in deleted snapshot files cannot be exported. Then each space that has none
// of those is a file, and of the others the memories are, in the format of memory.json.
func rescue(ctx context.Context, from *transfer.Service, spaces []string, data string, present os.FileInfo,
	now time.Time) (files []string, err error) {
	dir, prefix := data, "rescue-"
	// Another directory may lie at this path by now; it is not ours to write to.
	if info, err := os.Stat(data); err != nil || !os.SameFile(info, present) {
		dir, prefix = os.TempDir(), "memsidecar-rescue-"
	}
	base := filepath.Join(dir, prefix+now.UTC().Format("20060102T150405Z"))
	save := func(name string, export func(io.Writer) error) error {
		err := writeNew(name, export)
		if err == nil {
			files = append(files, name)
		}
		return err
	}
	err = save(base+".jsonl", func(w io.Writer) error { return from.Export(ctx, w, nil) })
	if err == nil || len(spaces) == 0 {
		return files, err
	}
	errs := []error{err}
	for _, space := range spaces {
		err := save(base+"-"+space+".jsonl", func(w io.Writer) error { return from.Export(ctx, w, []string{space}) })
		if err != nil {
			errs = append(errs, save(base+"-"+space+".json",
				func(w io.Writer) error { return from.ExportFile(ctx, w, space) }))
		}
	}
	return files, errors.Join(errs...)
}

// writeNew writes a file that must not exist, and removes it when write fails. Durable on return, with its name.
func writeNew(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write rescue file: %w", err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write rescue file: %w", err), os.Remove(name))
	}
	if err := durable.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("write rescue file: %w", err)
	}
	return nil
}

// rescueDetached writes the rescue file and logs where it is.
func (d *daemon) rescueDetached(ctx context.Context) {
	present, err := d.fs.Lstat(".")
	if err != nil {
		d.log.Error("cannot write a rescue file", "err", err)
		return
	}
	export := transfer.New(d.store, d.fs, d.engine, d.local)
	files, err := rescue(ctx, export, d.store.Spaces(), d.cfg.Data, present, d.now())
	if err != nil {
		d.log.Error("not everything could be written to rescue files", "err", err)
	}
	if len(files) > 0 {
		d.log.Error("the journal was taken away; what it held is in rescue files: stop the daemon, run `memsidecar "+
			"daemon repair`, then `memsidecar import FILE`", "files", files)
	}
}
