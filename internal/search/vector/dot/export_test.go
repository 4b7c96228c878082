package dot

// Kernel is one implementation. Its functions do not check their arguments and need a row and an input at least.
type Kernel struct {
	Name     string
	Dots     func(out []int32, q, rows []int8)
	Products func(out []int32, weights []int8, k int, inputs []int16)
	Packed   func(out []int32, q []int8, rows []uint8)
}

// Portable runs on every machine.
var Portable = Kernel{"portable", dotsPortable, productsPortable, packedPortable}

// Kernels are all that this machine can run.
func Kernels() []Kernel { return append([]Kernel{Portable}, tiled()...) }
