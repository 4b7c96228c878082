// Package process asks about other processes of the machine, and has a child outlive this one. What systems do alike,
// os and os/exec do.
package process
