package main

import (
	"runtime"
	"runtime/debug"
)

// version is set by the linker in a release: -ldflags "-X main.version=v1.2.3".
var version string

// programVersion is the version of this program: from the linker, else from the module it was built as.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// printVersion prints the version of this program, of the Go toolchain that built it, and the platform.
func (a *app) printVersion() error {
	if a.out.json {
		return a.out.object(object{
			{"version", programVersion()}, {"go", runtime.Version()}, {"os", runtime.GOOS}, {"arch", runtime.GOARCH},
		})
	}
	a.out.printf("memsidecar %s (%s, %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
