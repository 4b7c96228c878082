package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// otherWords are what people call commands elsewhere.
var otherWords = map[string][]string{
	"add":     {"remember", "save", "store", "new", "create"},
	"get":     {"show", "cat", "read"},
	"list":    {"ls", "all"},
	"search":  {"find", "query", "grep"},
	"forget":  {"delete", "rm", "remove", "retire"},
	"update":  {"edit", "change", "set"},
	"ops":     {"operations", "changes"},
	"undo":    {"revert", "rollback"},
	"ui":      {"panel", "web"},
	"install": {"setup", "connect", "init"},
}

// closest returns those of the words that are nearest to a wrong one: that begin with it, or differ in at most two
// letters. Nearest first; none is nil.
func closest(wrong string, words []string) (out []string) {
	wrong = strings.ToLower(wrong)
	const most = 2
	distances := map[string]int{}
	for _, w := range words {
		d := editDistance(wrong, w)
		if len(wrong) > 1 && strings.HasPrefix(w, wrong) {
			d = 0
		}
		if distances[w] = d; d <= most && d < len(wrong) {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return distances[a] - distances[b] })
	return out
}

// editDistance counts the letters that are added, left out, replaced or swapped with the next between two words
// (optimal string alignment).
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for k := range rows[0] {
		rows[0][k] = k
	}
	for i := 1; i <= len(a); i++ {
		for k := 1; k <= len(b); k++ {
			cost := 1
			if a[i-1] == b[k-1] {
				cost = 0
			}
			rows[i][k] = min(rows[i-1][k]+1, rows[i][k-1]+1, rows[i-1][k-1]+cost)
			if i > 1 && k > 1 && a[i-1] == b[k-2] && a[i-2] == b[k-1] {
				rows[i][k] = min(rows[i][k], rows[i-2][k-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// unknownCommand is the error for a subcommand that does not exist, with the nearest that do.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names, meant []string
	for _, c := range cmd.Commands() {
		if c.Hidden {
			continue
		}
		names = append(names, c.Name())
		for _, other := range otherWords[c.Name()] {
			if other == name {
				meant = append(meant, c.Name())
			}
		}
	}
	e := &cliError{what: "unknown command " + quote(name) + " for " + quote(cmd.CommandPath()), code: exitUsage}
	if meant = append(meant, closest(name, names)...); len(meant) > 0 {
		e.hint = didYouMean(cmd.CommandPath()+" ", meant)
		return e
	}
	return usageErrorOf(cmd, e)
}

// didYouMean is the hint with what was probably meant.
func didYouMean(prefix string, words []string) string {
	const most = 3
	var lines strings.Builder
	lines.WriteString("Did you mean this?")
	for _, w := range words[:min(len(words), most)] {
		lines.WriteString("\n  " + prefix + w)
	}
	return lines.String()
}
