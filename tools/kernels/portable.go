package main

import (
	"fmt"
	"strings"
)

// unrolled is how many columns the portable code takes at a time.
const unrolled = 4

// portable is the Go file that every machine can run.
func portable(ops []operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\npackage kernel\n", generated)
	for _, o := range ops {
		fmt.Fprintf(&b, `
// %[1]sPortable sets out[i*n+r] to the product of input i and row r of weights. It is what the tiles must equal.
func %[1]sPortable(out []int32, weights []int8, k int, inputs []int%[2]d) {
	n := len(weights) / k
	for ; len(inputs) >= k; inputs, out = inputs[k:], out[n:] {
		for r := range n {
			out[r] = %[1]sSum(weights[r*k:r*k+k], inputs[:k])
		}
	}
}

func %[1]sSum(row []int8, input []int%[2]d) int32 {
	var a, b int32
	for len(row) >= %[3]d && len(input) >= %[3]d {
`, o.name, o.bits, unrolled)
		for c := range unrolled {
			fmt.Fprintf(&b, "\t\t%c += int32(row[%d]) * int32(input[%[2]d])\n", 'a'+rune(c%2), c)
		}
		fmt.Fprintf(&b, "\t\trow, input = row[%d:], input[%[1]d:]\n\t}\n\treturn a + b\n}\n", unrolled)
	}
	return b.String()
}
