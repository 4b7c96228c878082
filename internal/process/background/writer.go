package background

import "io"

// Writer returns a writer to w that calls step between pieces of so many bytes, and fails with its error.
func Writer(w io.Writer, piece int, step func() error) io.Writer { return &writer{w, piece, step, 0} }

type writer struct {
	w       io.Writer
	piece   int
	step    func() error
	written int // since the last step
}

func (w *writer) Write(p []byte) (n int, err error) {
	if w.written >= w.piece {
		w.written = 0
		if err := w.step(); err != nil {
			return 0, err
		}
	}
	n, err = w.w.Write(p)
	w.written += n
	return n, err
}
