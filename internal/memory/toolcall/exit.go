package toolcall

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// exited matches a line that says only with which code a command ended; group 1 is the code.
var exited = lazyregexp.New(`(?i)^[\[(<]?(?:error:? )?(?:the )?(?:command|process|script|shell|program)? ?` +
	`(?:failed with |exited with |completed with |terminated with |finished with |returned )?` +
	`(?:a )?(?:non-?zero )?(?:exit ?(?:code|status)|return ?code|退出码)[ :：=]*(-?\d{1,10})[\])>]?[.。]?$`)

// ExitFailed reports whether the output of a shell command says, in its first or last line, that it ended with another
// code than 0.
func ExitFailed(tool, output string) bool {
	if Canonical(tool) != Shell {
		return false
	}
	output = strings.TrimSpace(output)
	first, _, _ := strings.Cut(output, "\n")
	for _, line := range []string{first, output[strings.LastIndexByte(output, '\n')+1:]} {
		if line = strings.TrimSpace(line); len(line) > 100 {
			continue
		}
		if m := exited.FindStringSubmatch(line); m != nil && strings.Trim(m[1], "0") != "" {
			return true
		}
	}
	return false
}
