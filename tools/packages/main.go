// Command packages makes what package managers install out of the release archives that .ci/release wrote: deb and
// rpm, an OCI image, wheels and npm packages that carry the program, a Homebrew formula, an installer script and the
// description for the MCP registry. It compiles nothing and uses no network. The same archives make the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	dist := flags.String("dist", "dist", "directory of the release archives; the packages are written there")
	version := flags.String("version", "", "version of the release, such as v0.1.0")
	epoch := flags.Int64("time", 0, "time of the release, in seconds since 1970")
	wheel := flags.String("wheel", "", "wheel of the Python client, which the wheels with the program extend")
	npm := flags.String("npm", "", "npm package (.tgz) of the TypeScript client, which finds the program")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *wheel == "" || *npm == "" {
		return errors.New("-version, -wheel and -npm are needed")
	}
	scratch, err := os.MkdirTemp("", "packages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := release{
		version: strings.TrimPrefix(*version, "v"),
		time:    time.Unix(*epoch, 0).UTC(),
		dist:    *dist,
		scratch: scratch,
	}
	if err := r.unpack(); err != nil {
		return err
	}
	steps := []struct {
		name string
		make func() error
	}{
		{"deb and rpm", r.writeSystemPackages},
		{"image", r.writeImage},
		{"wheels", func() error { return r.writeWheels(*wheel) }},
		{"npm packages", func() error { return r.writeNPM(*npm) }},
		{"formula", r.writeFormula},
		{"installer", r.writeInstaller},
		{"server.json", r.writeServerJSON},
	}
	for _, step := range steps {
		if err := step.make(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// write puts one result into dist and prints its size.
func (r release) write(name string, data []byte, mode os.FileMode) error {
	if err := os.WriteFile(filepath.Join(r.dist, name), data, mode); err != nil {
		return err
	}
	return r.report(name)
}

// report prints the name and size of a result.
func (r release) report(name string) error {
	info, err := os.Stat(filepath.Join(r.dist, name))
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", name, info.Size())
	return nil
}
