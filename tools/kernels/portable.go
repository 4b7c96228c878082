package main

import (
	"strings"
	"text/template"
)

// portable is the Go file that every machine can run: four rows of weights at a time, of which the last may be the same.
func portable() string {
	var b strings.Builder
	if err := portableFile.Execute(&b, []struct {
		operation
		Sum, Input string // types
	}{
		{dots, "int32", "int8"},
		{products, "int64", "int64"}, // two inputs in each
	}); err != nil {
		panic(err)
	}
	return b.String()
}

// Name is the operation's, for the template.
func (o operation) Name() string { return o.name }

var portableFile = template.Must(template.New("").Parse(generated + `
package kernel

// dotsPortable is Dots for every machine.
func dotsPortable(out []int32, q, rows []int8) {
	k, n := len(q), len(out)
	for r := 0; r < n; r += 4 {
		r1, r2, r3 := min(r+1, n-1), min(r+2, n-1), min(r+3, n-1)
		out[r], out[r1], out[r2], out[r3] = dotsQuad(rows[r*k:][:k], rows[r1*k:][:k], rows[r2*k:][:k], rows[r3*k:][:k], q)
	}
}

// productsPortable is Products for every machine. Two inputs are one number of 64 bits: a product with it is two products, and
// since no sum leaves 32 bits, the two sums can be told apart in the end.
func productsPortable(out []int32, weights []int8, k int, inputs []int16) {
	n, t := len(weights)/k, len(inputs)/k
	var room [MaxProducts]int64
	pairs := room[:k]
	for i := 0; i < t; i += 2 {
		i1 := min(i+1, t-1)
		for j := range pairs {
			pairs[j] = int64(inputs[i*k+j]) + int64(inputs[i1*k+j])<<32
		}
		first, second := out[i*n:][:n], out[i1*n:][:n]
		for r := 0; r < n; r += 4 {
			r1, r2, r3 := min(r+1, n-1), min(r+2, n-1), min(r+3, n-1)
			a, b, c, d := productsQuad(weights[r*k:][:k], weights[r1*k:][:k], weights[r2*k:][:k], weights[r3*k:][:k], pairs)
			first[r], second[r] = apart(a)
			first[r1], second[r1] = apart(b)
			first[r2], second[r2] = apart(c)
			first[r3], second[r3] = apart(d)
		}
	}
}

// apart returns the two sums in one.
func apart(sum int64) (first, second int32) {
	first = int32(sum)
	return first, int32((sum - int64(first)) >> 32)
}
{{range .}}
// {{.Name}}Quad returns the sums of the products of each row with input, which is as long as they are.
func {{.Name}}Quad(row, row1, row2, row3 []int8, input []{{.Input}}) (a, b, c, d {{.Sum}}) {
	row, row1, row2, row3 = row[:len(input)], row1[:len(input)], row2[:len(input)], row3[:len(input)]
	for j, v := range input {
		x := {{.Sum}}(v)
		a += {{.Sum}}(row[j]) * x
		b += {{.Sum}}(row1[j]) * x
		c += {{.Sum}}(row2[j]) * x
		d += {{.Sum}}(row3[j]) * x
	}
	return a, b, c, d
}
{{end}}`))
