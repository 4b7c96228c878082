package vector

// The kernel in use, and the one it must equal.
var (
	Dots         = dots
	DotsPortable = dotsPortable
)
