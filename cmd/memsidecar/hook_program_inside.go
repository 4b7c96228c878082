//go:build withhook

package main

import _ "embed"

// hookProgram is memsidecar-hook; .ci/build builds it and puts it here.
//
//go:embed memsidecar-hook
var hookProgram string
