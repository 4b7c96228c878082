package main

import (
	"strings"
	"text/template"
)

// portable is the Go file that every machine can run. It takes four rows of weights at a time; at the end some of
// them are the same row.
func portable() string {
	var b strings.Builder
	if err := portableFile.Execute(&b, []struct {
		operation
		Sum, Input string // types
	}{
		{dots, "int32", "int8"},
		{products, "int64", "int64"}, // two inputs in each number
	}); err != nil {
		panic(err)
	}
	return b.String()
}

// Name of the operation, for the template.
func (o operation) Name() string { return o.name }

var portableFile = template.Must(template.New("").Parse(generated + `
package dot

// dotsPortable is Dots for every machine.
func dotsPortable(out []int32, q, rows []int8) {
	k, n := len(q), len(out)
	for r := 0; r < n; r += 4 {
		r1, r2, r3 := min(r+1, n-1), min(r+2, n-1), min(r+3, n-1)
		out[r], out[r1], out[r2], out[r3] = dotsQuad(rows[r*k:][:k], rows[r1*k:][:k], rows[r2*k:][:k], rows[r3*k:][:k], q)
	}
}

// productsPortable is Products for every machine. Two inputs share one 64-bit number, so one multiplication yields
// two products. No sum overflows 32 bits, so the two sums can be separated at the end.
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
			first[r], second[r] = splitSums(a)
			first[r1], second[r1] = splitSums(b)
			first[r2], second[r2] = splitSums(c)
			first[r3], second[r3] = splitSums(d)
		}
	}
}

// splitSums separates the two sums that one number holds.
func splitSums(sum int64) (first, second int32) {
	first = int32(sum)
	return first, int32((sum - int64(first)) >> 32)
}
// packedPortable sums products of q and the codes, 0 to 3, of each row, for every machine. Four codes share a byte.
func packedPortable(out []int32, q []int8, rows []uint8) {
	for i := range out {
		row, sum := rows[i*len(q)/4:][:len(q)/4], int32(0)
		for block := 0; block < len(q); block += PackedStep {
			codes, q := row[block/4:][:PackedStep/4], q[block:][:PackedStep]
			for j, c := range codes {
				sum += int32(c&3)*int32(q[j]) + int32(c>>2&3)*int32(q[32+j]) + int32(c>>4&3)*int32(q[64+j]) + int32(c>>6)*int32(q[96+j])
			}
		}
		out[i] = sum
	}
}
{{range .}}
// {{.Name}}Quad returns the dot products of four rows with input; all of them have the same length.
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
