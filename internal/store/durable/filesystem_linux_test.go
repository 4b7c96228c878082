package durable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

func TestCheckMagic(t *testing.T) {
	tests := []struct {
		name  string
		magic uint32
		kind  string // "" is accepted
	}{
		{"ext4", 0xef53, ""},
		{"xfs", 0x58465342, ""},
		{"btrfs", 0x9123683e, ""},
		{"overlayfs", 0x794c7630, ""},
		{"tmpfs", 0x01021994, ""},
		{"nfs", 0x6969, "NFS"},
		{"smb", 0x517b, "SMB"},
		{"smb2", 0xfe534d42, "SMB"},
		{"cifs", 0xff534d42, "CIFS"},
		{"9p", 0x01021997, "9p"},
		{"fuse", 0x65735546, "FUSE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := durable.CheckMagic("/data", tt.magic)
			if tt.kind == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if !errors.Is(err, memory.ErrUnsupportedFS) {
				t.Fatalf("got %v, want ErrUnsupportedFS", err)
			}
			for _, want := range []string{"/data", tt.kind, "local disk"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestCheckFilesystemMissing(t *testing.T) {
	if err := durable.CheckFilesystem(t.TempDir() + "/missing"); err == nil || errors.Is(err, memory.ErrUnsupportedFS) {
		t.Errorf("got %v, want an error that says the directory is missing", err)
	}
}
