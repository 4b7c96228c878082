//go:build unix

package main

import "encoding/binary"

// The fields of CommandServiceRunRequest and CommandServiceRunResponse; see
// proto/memsidecar/v1alpha1/command_service.proto. A test compares them with the generated code.
const (
	fieldArguments   = 1
	fieldEnvironment = 2
	fieldDirectory   = 3
	fieldParentPID   = 4
	fieldInput       = 5

	fieldOutput = 1
)

// Wire types of protobuf.
const (
	wireVarint = 0
	wireBytes  = 2
)

// encode writes a CommandServiceRunRequest.
func encode(args, env []string, dir string, parent int, input []byte) []byte {
	out := make([]byte, 0, 4096+len(input))
	for _, arg := range args {
		out = appendBytes(out, fieldArguments, []byte(arg))
	}
	for _, v := range env {
		out = appendBytes(out, fieldEnvironment, []byte(v))
	}
	out = appendBytes(out, fieldDirectory, []byte(dir))
	out = append(out, fieldParentPID<<3|wireVarint)
	out = binary.AppendUvarint(out, uint64(parent))
	return appendBytes(out, fieldInput, input)
}

// appendBytes appends a field of bytes.
func appendBytes(out []byte, field byte, value []byte) []byte {
	out = append(out, field<<3|wireBytes)
	out = binary.AppendUvarint(out, uint64(len(value)))
	return append(out, value...)
}

// decode reads the output out of a CommandServiceRunResponse. ok is false for anything else, also for a field of a
// later version.
func decode(message []byte) (output []byte, ok bool) {
	if len(message) == 0 {
		return nil, true
	}
	length, n := binary.Uvarint(message[1:])
	if message[0] != fieldOutput<<3|wireBytes || n <= 0 || uint64(len(message)-1-n) != length {
		return nil, false
	}
	return message[1+n:], true
}
