package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/memsidecar/memsidecar/internal/memtest/postgres/cluster"
)

// onPostgres measures something on a PostgreSQL that it starts, with its default durability, and passes its address. It
// measures nothing, and says so, where PostgreSQL is not installed. Vectors are left out: they are made in the background,
// and are not sent.
func (b *bench) onPostgres(ctx context.Context, what string, measure func(url string) error) (err error) {
	bin := cluster.Find()
	if bin == "" {
		fmt.Fprintf(b.log, "%s: left out, because PostgreSQL (initdb, postgres) is not installed\n", what)
		return nil
	}
	fmt.Fprintln(b.log, what)
	defer func(words bool) { b.words = words }(b.words)
	b.words = true
	// The directory of the run is this user's alone, and the server may be another one.
	pg, err := cluster.Start(ctx, bin, filepath.Dir(b.dir))
	if err != nil {
		return err
	}
	return errors.Join(measure(pg.URL("postgres")), pg.Remove())
}
