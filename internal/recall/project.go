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

	"github.com/memsidecar/memsidecar/internal/pattern"
	"github.com/memsidecar/memsidecar/internal/redact"
)

const (
	maxFiles       = 16       // of a project in one context
	maxFileBytes   = 64 << 10 // of one of them; what is behind is left out
	maxImportDepth = 5
)

var (
	instructionFiles = []string{"AGENTS.md", "CLAUDE.md"}
	bootstrapFiles   = []string{"SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md"}
)

// ProjectOf returns the root of the project that a directory belongs to: the nearest one above it that holds .git, else the directory
// itself. The space is named after it, the same for every directory of the project. Both are "" for a path that is not absolute.
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

// spaceOf makes a slug of a path: its last part for people, and a digest of the whole so that no two are the same.
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

// projectFiles reads files of a project, and what CLAUDE.md imports, line by line. What cannot be read is left out: an agent must be able
// to start. Nothing outside the root is read, however it is named and whatever links lead there.
func projectFiles(root string, names []string, wanted bool) []entry {
	if !wanted || root == "" {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	r := reader{root: dir, names: map[string]bool{}, texts: map[string]bool{}}
	for _, name := range names {
		r.read(name, 0)
	}
	return r.out
}

type reader struct {
	root  *os.Root
	names map[string]bool // looked at
	texts map[string]bool // often one file is a link to another
	out   []entry
}

func (r *reader) read(name string, depth int) {
	if r.names[name] || len(r.names) == maxNames || len(r.texts) == maxFiles || depth > maxImportDepth {
		return
	}
	r.names[name] = true
	text, ok := r.text(name)
	if text = strings.TrimSpace(text); !ok || text == "" || r.texts[text] {
		return
	}
	r.texts[text] = true
	rank := len(r.texts)
	heading := "## " + strings.Join(strings.Fields(clean(name)), " ")
	for line := range strings.SplitSeq(clean(text), "\n") {
		r.out = append(r.out, entry{rank, heading, "  " + line})
	}
	if !strings.EqualFold(path.Base(name), "CLAUDE.md") && depth == 0 {
		return
	}
	for _, to := range imports(text) {
		if to = path.Join(path.Dir(name), to); filepath.IsLocal(to) {
			r.read(to, depth+1)
		}
	}
}

// text reads the beginning of a regular file, without secrets.
func (r *reader) text(name string) (string, bool) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not make anybody wait
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

var importMark = pattern.New(`(?:^|\s)@([^\s@~/][^\s@]*)`)

// imports lists the files that a text imports as @path, code left aside. Absolute ones and those below the home directory are no part of
// the project.
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
