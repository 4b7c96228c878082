package kernel

// Kernel is one way to do what the package does. Its arguments are not checked, and hold a row and an input at least.
type Kernel struct {
	Name     string
	Dots     func(out []int32, q, rows []int8)
	Products func(out []int32, weights []int8, k int, inputs []int16)
}

// Portable runs on every machine.
var Portable = Kernel{"portable", dotsPortable, productsPortable}

// Kernels are all that this machine can run.
func Kernels() []Kernel { return append([]Kernel{Portable}, tiled()...) }
