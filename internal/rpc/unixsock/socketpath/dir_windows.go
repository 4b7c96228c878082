package socketpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// fallbackDir is the directory of the socket without a runtime directory: below the user's profile, which other users
// cannot enter.
func fallbackDir(getenv func(string) string) string {
	local := getenv("LocalAppData")
	if !filepath.IsAbs(local) {
		local = os.TempDir() // of the user, too
	}
	return filepath.Join(local, "memsidecar", "run")
}

// MakeDir makes a directory for sockets to which only the user has access, and those above it. One that exists stays as
// it is.
func MakeDir(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	self, err := ownSID()
	if err != nil {
		return err
	}
	// Full access for the user, inherited by what is in the directory; nothing is inherited from above.
	sd, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;" + self.String() + ")")
	if err != nil {
		return err
	}
	dacl, _, err := sd.DACL()
	if err != nil {
		return err
	}
	return windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
}

// mayChange are the rights by which somebody could put another socket in the place of ours.
const mayChange = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | fileDeleteChild | windows.DELETE | windows.WRITE_DAC |
	windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL

// fileDeleteChild is FILE_DELETE_CHILD, which golang.org/x/sys lacks.
const fileDeleteChild = 0x40

// checkPrivate accepts a directory that is missing, or to which only the user and the system have access.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at socket directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%w: %q is not a directory", ErrUnsafeDir, dir)
	}
	return checkAccess(dir, ^windows.ACCESS_MASK(0))
}

// CheckDir refuses a directory in which somebody else could put another socket in the place of ours.
func CheckDir(dir string) error { return checkAccess(dir, mayChange) }

// checkAccess refuses a directory that is not the user's or the system's, or to which others have one of the forbidden
// rights.
func checkAccess(dir string, forbidden windows.ACCESS_MASK) error {
	sd, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("look at socket directory: %w", err)
	}
	self, err := ownSID()
	if err != nil {
		return fmt.Errorf("look at socket directory: %w", err)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return fmt.Errorf("look at socket directory: %w", err)
	}
	if !trusted(owner, self) {
		return fmt.Errorf("%w: %q belongs to %s", ErrUnsafeDir, dir, owner)
	}
	dacl, _, err := sd.DACL()
	if err != nil || dacl == nil { // without a list everybody has every right
		return fmt.Errorf("%w: %q has no list of who may access it", ErrUnsafeDir, dir)
	}
	for i := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(dacl, i, &ace); err != nil {
			return fmt.Errorf("look at socket directory: %w", err)
		}
		switch ace.Header.AceType {
		case windows.ACCESS_DENIED_ACE_TYPE:
		case windows.ACCESS_ALLOWED_ACE_TYPE:
			sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
			if ace.Mask&forbidden != 0 && !trusted(sid, self) {
				return fmt.Errorf("%w: %s has access to %q", ErrUnsafeDir, sid, dir)
			}
		default: // it may allow something, to somebody
			return fmt.Errorf("%w: %q has an entry of type %d in the list of who may access it", ErrUnsafeDir, dir, ace.Header.AceType)
		}
	}
	return nil
}

// trusted are the user, and who has access to everything on the machine anyway.
func trusted(sid, self *windows.SID) bool {
	return sid.Equals(self) || sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) ||
		sid.IsWellKnown(windows.WinCreatorOwnerSid)
}

// ownSID identifies the user of this process.
func ownSID() (*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	return user.User.Sid, nil
}
