package encoder

// products multiplies n rows of weights with t rows of inputs, both of k numbers: out[t'·n+n'] is the sum of the products of input t' and
// weight n'. No sum can overflow while inputs are at most largest and k at most 2048.
func products(out []int32, weights []int8, k int, inputs []int16) {
	n := len(weights) / k
	for i := range n {
		w := weights[i*k : (i+1)*k]
		for t := 0; t*k < len(inputs); t++ {
			x := inputs[t*k : t*k+len(w)]
			var a, b, c, d int32
			for j := 0; j+3 < len(w) && j+3 < len(x); j += 4 {
				a += int32(w[j]) * int32(x[j])
				b += int32(w[j+1]) * int32(x[j+1])
				c += int32(w[j+2]) * int32(x[j+2])
				d += int32(w[j+3]) * int32(x[j+3])
			}
			out[t*n+i] = a + b + c + d
		}
	}
}
