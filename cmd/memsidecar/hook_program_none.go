//go:build !withhook

package main

// hookProgram is empty in a program that "go build" made: hosts call this program itself.
const hookProgram = ""
