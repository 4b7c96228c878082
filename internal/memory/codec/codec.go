// Package codec encodes and decodes memories and log entries. It is the only place that does: journal records,
// snapshots, memory.json, daily logs and exports all go through it.
//
// There are two forms. The published form is what people read: indented, times in UTC, fields left out that have their
// default, unknown fields beside the known ones. The journal form is compact, keeps every bit of a value and puts
// unknown fields into the member "extra"; AppendMemory writes it, and encoding/json reads it by the struct tags of
// package memory.
//
// The fields and their order come from the tables in package memory (memory.Fields and its siblings).
package codec

import "github.com/memsidecar/memsidecar/internal/memory"

// index finds the fields of a table by name.
func index[T any](fields []memory.Field[T]) map[string]*memory.Field[T] {
	byName := make(map[string]*memory.Field[T], len(fields))
	for i := range fields {
		byName[fields[i].Name] = &fields[i]
	}
	return byName
}

var (
	memoryFields   = index(memory.Fields)
	contextFields  = index(memory.ContextFields)
	relationFields = index(memory.RelationFields)
	evidenceFields = index(memory.EvidenceFields)
	entryFields    = index(memory.EntryFields)
)

// known returns a function that reports whether a name is one of the table's.
func known[T any](byName map[string]*memory.Field[T]) func(string) bool {
	return func(name string) bool { return byName[name] != nil }
}
