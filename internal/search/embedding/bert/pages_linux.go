package bert

import (
	"os"
	"syscall"
	"unsafe"
)

// madvPageout is MADV_PAGEOUT of madvise(2), since Linux 5.4.
const madvPageout = 21

// releasePages takes the pages of a string in the program file out of memory; they are read again when they are used.
// Loading a model touches all of it, and using it a part. Unlike MADV_DONTNEED, MADV_PAGEOUT cannot lose the contents
// of memory that is not the program file's, such as that of a packed program. An error changes nothing.
func releasePages(file string) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.StringData(file)))) & (page - 1)
	if whole := (len(file) - skip) / page * page; whole > 0 {
		_ = syscall.Madvise(bytesOf(file[skip:skip+whole]), madvPageout)
	}
}
