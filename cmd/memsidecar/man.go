package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const manLong = `Print the manual page of this program or of one command, or write all pages into a directory. They
contain the text of --help.

  memsidecar man | man -l -
  memsidecar man search
  memsidecar man --dir ~/.local/share/man/man1`

// manCommand is "man".
func (a *app) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "man [COMMAND]…",
		Hidden: true,
		Short:  "Print or write manual pages",
		Long:   manLong,
		Args:   cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if dir == "" {
				page, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 {
					return usagef("there is no command %s", quote(strings.Join(args, " ")))
				}
				return manPage(a.stdout, page)
			}
			if len(args) > 0 {
				return usagef("--dir writes the pages of all commands; omit %s", quote(strings.Join(args, " ")))
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			n, err := writePages(dir, root)
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.object(object{{"dir", dir}, {"pages", n}})
			}
			a.out.printf("Wrote %s to %s.\n", plural(int64(n), "manual page", "manual pages"), dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write the pages of all commands into this directory")
	return cmd
}

// writePages writes a page for a command and each below it, and counts them.
func writePages(dir string, cmd *cobra.Command) (n int, err error) {
	var page strings.Builder
	if err := manPage(&page, cmd); err != nil {
		return 0, err
	}
	name := filepath.Join(dir, pageName(cmd)+".1")
	if err := os.WriteFile(name, []byte(page.String()), 0o644); err != nil {
		return 0, fmt.Errorf("write manual pages: %w", err)
	}
	n = 1
	for _, c := range listed(cmd) {
		more, err := writePages(dir, c)
		n += more
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// listed are the commands below cmd that have a manual page. Two of them are hidden in --help: hosts call hook, and
// packagers call man.
func listed(cmd *cobra.Command) (out []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "hook" || c.Name() == "mcp" || c.Name() == "man" {
			out = append(out, c)
		}
	}
	return out
}

// pageName is the name of a manual page, such as memsidecar-ops-show.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes the page of one command with the man macros of roff. It has no date, so that builds are reproducible.
func manPage(w io.Writer, cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	p := &page{}
	p.line(".TH %s 1 \"\" \"memsidecar %s\" \"memsidecar\"", strings.ToUpper(roff(pageName(cmd))),
		roff(programVersion()))
	p.section("NAME")
	p.line("%s \\- %s", roff(pageName(cmd)), roff(cmd.Short))
	p.section("SYNOPSIS")
	p.line("\\fB%s\\fR", roff(cmd.UseLine()))
	p.section("DESCRIPTION")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	p.text(long)
	if subs := listed(cmd); len(subs) > 0 {
		p.section("COMMANDS")
		for _, c := range subs {
			p.line(".TP\n\\fB%s\\fR(1)", roff(pageName(c)))
			p.line("%s", roff(c.Short))
		}
	}
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.line(".nf")
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			p.line("%s", roffLine(line))
		}
		p.line(".fi")
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", cmd.InheritedFlags())
	p.section("EXIT STATUS")
	p.line("0 success, 1 error, %d usage error, %d no daemon is running, %d another daemon uses the data, %d the "+
		"data is damaged, %d interrupted.",
		exitUsage, exitUnreachable, exitLocked, exitCorrupt, exitInterrupted)
	if cmd.HasParent() {
		p.section("SEE ALSO")
		p.line("\\fB%s\\fR(1)", roff(pageName(cmd.Parent())))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// page is a page being written.
type page struct{ strings.Builder }

// line writes one line.
func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// section starts a section.
func (p *page) section(title string) { p.line(".SH %s", title) }

// text writes paragraphs; indented lines are preformatted.
func (p *page) text(s string) {
	plain := true
	for line := range strings.SplitSeq(s, "\n") {
		switch verbatim := strings.HasPrefix(line, " "); {
		case line == "":
			p.line(".PP")
		case verbatim && plain:
			plain = false
			p.line(".nf\n%s", roffLine(line))
		case !verbatim && !plain:
			plain = true
			p.line(".fi\n%s", roffLine(line))
		default:
			p.line("%s", roffLine(line))
		}
	}
	if !plain {
		p.line(".fi")
	}
}

// flags writes a section with the flags of a set, if it has any.
func (p *page) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	p.section(title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		text := "\\fB\\-\\-" + roff(f.Name) + "\\fR"
		if f.Shorthand != "" {
			text = "\\fB\\-" + roff(f.Shorthand) + "\\fR, " + text
		}
		if name != "" {
			text += " \\fI" + roff(name) + "\\fR"
		}
		p.line(".TP\n%s", text)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" &&
			!strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		p.line("%s", roffLine(usage))
	})
}

// roff escapes a text, as ASCII.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\n':
			b.WriteByte(' ')
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

// roffLine escapes a line, also a leading control character.
func roffLine(s string) string {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		return `\&` + roff(s)
	}
	return roff(s)
}
