package dot

// panelInputs is how many inputs pass by a panel together, at most.
const panelInputs = 13

// panelKernels are those for each number of inputs, from 1 on.
var panelKernels = [panelInputs]func(out *int32, weights *int8, inputs *int16, rows, k, n int){
	panel1VNNI, panel2VNNI, panel3VNNI, panel4VNNI, panel5VNNI, panel6VNNI, panel7VNNI, panel8VNNI, panel9VNNI,
	panel10VNNI, panel11VNNI, panel12VNNI, panel13VNNI,
}

// hasPanels reports whether this machine has kernels for panels.
func hasPanels() bool { return hasTilesVNNI() }

// panelProducts needs a panel and an input at least. As many inputs as possible share the widening of the weights; more
// of them pass by one panel after the other, which stays in the cache meanwhile.
func panelProducts(out []int32, panels []int8, k int, inputs []int16) {
	n, count := len(panels)/k, len(inputs)/k
	if count <= panelInputs {
		panelKernels[count-1](&out[0], &panels[0], &inputs[0], n, k, n)
		return
	}
	parts := (count + panelInputs - 1) / panelInputs
	for row := 0; row < n; row += panelRows {
		for part := range parts { // of nearly the same size
			from, to := count*part/parts, count*(part+1)/parts
			panelKernels[to-from-1](&out[from*n+row], &panels[row*k], &inputs[from*k], panelRows, k, n)
		}
	}
}
