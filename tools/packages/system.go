package main

import (
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// writeSystemPackages writes a deb and an rpm for each Linux target. They install the program, its manual pages,
// completions and licence, and start nothing: a user's first command starts a daemon of that user.
func (r release) writeSystemPackages() error {
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		contents, err := r.systemContents(t)
		if err != nil {
			return err
		}
		for _, packager := range []nfpm.Packager{deb.Default, rpm.DefaultRPM} {
			if err := r.writeSystemPackage(t, packager, contents); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r release) writeSystemPackage(t target, packager nfpm.Packager, contents files.Contents) error {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name:            "memsidecar",
		Arch:            t.arch,
		Platform:        "linux",
		Version:         r.version,
		Release:         "1",
		Section:         "utils",
		Priority:        "optional",
		Maintainer:      "The memsidecar authors <" + homepage + ">",
		Description:     summary,
		Homepage:        homepage,
		License:         license,
		DisableGlobbing: true,
		MTime:           r.time,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{BuildHost: "memsidecar"},
		},
	})
	name := packager.ConventionalFileName(info)
	out, err := os.Create(filepath.Join(r.dist, name))
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return r.report(name)
}

// systemContents says where the files of an archive go on a Linux system.
func (r release) systemContents(t target) (files.Contents, error) {
	tree := r.tree(t)
	contents := files.Contents{
		r.content(r.program(t), "/usr/bin/memsidecar", 0o755),
		r.content(filepath.Join(tree, "LICENSE"), "/usr/share/doc/memsidecar/copyright", 0o644),
		r.content(filepath.Join(tree, "NOTICE"), "/usr/share/doc/memsidecar/NOTICE", 0o644),
		r.content(filepath.Join(tree, "completions/memsidecar.bash"),
			"/usr/share/bash-completion/completions/memsidecar", 0o644),
		r.content(filepath.Join(tree, "completions/memsidecar.zsh"),
			"/usr/share/zsh/vendor-completions/_memsidecar", 0o644),
		r.content(filepath.Join(tree, "completions/memsidecar.fish"),
			"/usr/share/fish/vendor_completions.d/memsidecar.fish", 0o644),
	}
	pages, err := filepath.Glob(filepath.Join(tree, "man", "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		contents = append(contents, r.content(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644))
	}
	return contents, nil
}

func (r release) content(source, destination string, mode os.FileMode) *files.Content {
	return &files.Content{Source: source, Destination: destination,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}}
}
