//go:build !amd64

package dot

// hasPanels is false: there are no kernels for panels.
func hasPanels() bool { return false }

func panelProducts([]int32, []int8, int, []int16) { panic("dot: no kernels for panels") }
