package recall

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/redact"
)

const (
	maxFiles       = 16       // project files per context
	maxFileBytes   = 64 << 10 // bytes read of each file
	maxImportDepth = 5        // nesting of imports in CLAUDE.md
)

var (
	instructionFiles = []string{"AGENTS.md", "CLAUDE.md"}
	bootstrapFiles   = []string{"SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md"}
)

// ProjectOf returns the root of the project that contains dir, and the name of its space. The root is the nearest
// directory upwards that holds .git, else dir itself; symbolic links are resolved. Both are "" for a relative path.
func ProjectOf(dir string) (root, space string) {
	if !filepath.IsAbs(dir) {
		return "", ""
	}
	dir = filepath.Clean(dir)
	root = dir
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			root = at
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return root, spaceOf(root)
}

// spaceOf derives a space name from a path: its last element for people, and a hash of the whole for uniqueness.
func spaceOf(root string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, filepath.Base(root))
	sum := sha256.Sum256([]byte(root))
	return "project-" + strings.Trim(name[:min(len(name), 40)], "-._") + "-" + hex.EncodeToString(sum[:4])
}

// projectFiles returns the lines of project files and of the files that CLAUDE.md imports: of each list of names the
// first file that holds something, since AGENTS.md and CLAUDE.md of one directory say the same to two hosts. Unreadable
// files are skipped, because an agent must be able to start. Nothing outside root is read, through names or links.
func projectFiles(root string, lists [][]string, wanted bool) []entry {
	if !wanted || root == "" {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	r := reader{root: dir, names: map[string]bool{}, texts: map[string]bool{}}
	for _, names := range lists {
		for _, name := range names {
			if r.read(name, 0) {
				break
			}
		}
	}
	return r.out
}

// reader reads project files once each.
type reader struct {
	root  *os.Root
	names map[string]bool // paths tried
	texts map[string]bool // contents read: one file is often a link to another
	out   []entry
}

// read appends the lines of one file, and of its imports if it is a CLAUDE.md or an import itself. It reports whether
// the file holds something.
func (r *reader) read(name string, depth int) bool {
	if r.names[name] || len(r.names) == maxNames || len(r.texts) == maxFiles || depth > maxImportDepth {
		return false
	}
	r.names[name] = true
	text, ok := r.text(name)
	if text = strings.TrimSpace(text); !ok || text == "" || r.texts[text] {
		return text != ""
	}
	r.texts[text] = true
	rank := len(r.texts)
	heading := "## " + strings.Join(strings.Fields(sanitize(name)), " ")
	for line := range strings.SplitSeq(sanitize(text), "\n") {
		r.out = append(r.out, entry{rank, heading, "  " + line})
	}
	if !strings.EqualFold(path.Base(name), "CLAUDE.md") && depth == 0 {
		return true
	}
	for _, to := range imports(text) {
		if to = path.Join(path.Dir(name), to); filepath.IsLocal(to) {
			r.read(to, depth+1)
		}
	}
	return true
}

// text returns the redacted beginning of a regular file, up to a whole line.
func (r *reader) text(name string) (string, bool) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return "", false
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	if len(raw) == maxFileBytes {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	text, _ = redact.Text(text)
	return text, true
}

var importMark = lazyregexp.New(`(?:^|\s)@([^\s@~/][^\s@]*)`)

// imports returns the paths that a text imports as @path, outside code. Absolute paths and paths below the home
// directory do not belong to the project and are skipped.
func imports(text string) (out []string) {
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") || strings.HasPrefix(strings.TrimSpace(line), "~~~") {
			code = !code
			continue
		}
		if code {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue
			}
			for _, m := range importMark.FindAllStringSubmatch(part, -1) {
				out = append(out, strings.TrimRight(m[1], ".,;:!?)"))
			}
		}
	}
	return out
}
