package install

import "strings"

// context is how many lines of a file are shown around a change.
const context = 2

// Diff shows a change line by line: lines that go begin with "-", lines that come with "+", and "@@" stands for what
// is left out.
func (c *Change) Diff() []string {
	a, b := linesOf(c.Before), linesOf(c.After)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return nil
	}
	all := make([]string, 0, len(a)+len(b))
	for _, l := range a[:head] {
		all = append(all, " "+l)
	}
	all = append(all, diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		all = append(all, " "+l)
	}
	return withContext(all)
}

// linesOf splits a text into lines, without a last empty one.
func linesOf(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// maxTable bounds the work of finding the longest common sequence.
const maxTable = 4 << 20

// diffMiddle compares the lines between the common beginning and end by longest common subsequence. Texts too large
// for the table are shown as one replacement.
func diffMiddle(a, b []string) (out []string) {
	if len(a)*len(b) > maxTable {
		for _, l := range a {
			out = append(out, "-"+l)
		}
		for _, l := range b {
			out = append(out, "+"+l)
		}
		return out
	}
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if common[i][k] = max(common[i+1][k], common[i][k+1]); a[i] == b[k] {
				common[i][k] = common[i+1][k+1] + 1
			}
		}
	}
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		switch {
		case i < len(a) && k < len(b) && a[i] == b[k]:
			out = append(out, " "+a[i])
			i, k = i+1, k+1
		case i < len(a) && (k == len(b) || common[i+1][k] >= common[i][k+1]):
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[k])
			k++
		}
	}
	return out
}

// withContext leaves out the lines that are far from any change.
func withContext(all []string) (out []string) {
	gap := false
	for i := range all {
		near := false
		for k := max(0, i-context); k <= min(len(all)-1, i+context); k++ {
			near = near || all[k][0] != ' '
		}
		if near {
			out, gap = append(out, all[i]), false
		} else if !gap {
			out, gap = append(out, "@@"), true
		}
	}
	return out
}
