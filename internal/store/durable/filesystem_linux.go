package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Magic numbers of file systems that golang.org/x/sys/unix lacks.
const (
	lustreMagic = 0x0bd00bd0
	gpfsMagic   = 0x47504653
	vboxMagic   = 0x786f4256
	vmwareMagic = 0xbacbacbc
	prlMagic    = 0x7c7c6673
)

// CheckFilesystem refuses a directory on a network or host-shared file system, where a lock may not exclude another
// machine and a sync may return before the data is anywhere safe. All of FUSE is refused: from here sshfs and a
// well-behaved local file system look alike. dir must exist. Error: memory.ErrUnsupportedFS, naming the kind.
func CheckFilesystem(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("look up file system of %s: %w", dir, err)
	}
	return checkMagic(dir, uint32(st.Type))
}

// checkMagic decides by the file system's magic number. Its width and sign differ between architectures, so it is
// reduced to 32 bits.
func checkMagic(dir string, magic uint32) error {
	kinds := map[uint32]string{
		unix.NFS_SUPER_MAGIC:  "NFS",
		unix.SMB_SUPER_MAGIC:  "SMB",
		unix.SMB2_SUPER_MAGIC: "SMB",
		unix.CIFS_SUPER_MAGIC: "CIFS",
		unix.V9FS_MAGIC:       "9p",
		unix.FUSE_SUPER_MAGIC: "FUSE (sshfs, virtiofs and others)",
		unix.CEPH_SUPER_MAGIC: "Ceph",
		unix.AFS_SUPER_MAGIC:  "AFS",
		unix.AFS_FS_MAGIC:     "AFS",
		unix.CODA_SUPER_MAGIC: "Coda",
		unix.NCP_SUPER_MAGIC:  "NCP",
		lustreMagic:           "Lustre",
		gpfsMagic:             "GPFS",
		vboxMagic:             "a VirtualBox shared folder",
		vmwareMagic:           "a VMware shared folder",
		prlMagic:              "a Parallels shared folder",
	}
	if kind, bad := kinds[magic]; bad {
		return unsupported(dir, kind)
	}
	return nil
}
