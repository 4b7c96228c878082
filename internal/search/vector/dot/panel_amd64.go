package dot

// panelColumns is the greatest number of columns of a panel, which then has 16 kB, half of the L1 cache.
const panelColumns = 512

// panelsVNNI copies panelRows rows of weights at a time into a panel and multiplies it with all inputs, as in Goto and
// van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
func panelsVNNI(out []int32, weights []int8, k, n int, inputs []int16) {
	var panel [panelRows * panelColumns]int8
	for row := 0; row < len(weights)/k; row += panelRows {
		for column := 0; column < k; column += panelColumns {
			columns, first := min(panelColumns, k-column), 0
			if column == 0 {
				first = 1
			}
			packPanelVNNI(&panel[0], &weights[row*k+column], k, columns)
			// The next rows come from memory while these are multiplied. The last rows have none.
			next := &weights[min((row+panelRows)*k+column*panelRows, len(weights)-1)]
			for i := 0; i < len(inputs)/k; i += panelInputs {
				panelProductsVNNI(&out[i*n+row], &panel[0], &inputs[i*k+column], next, k, n, columns, first)
			}
		}
	}
}
