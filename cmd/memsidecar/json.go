package main

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memsidecar/memsidecar/internal/plainjson"
)

// member is one name and value of an object.
type member struct {
	Name  string
	Value any
}

// object is a JSON object that keeps the order of its members.
type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	out := make(plainjson.Object, len(o))
	for i, m := range o {
		out[i] = plainjson.Member(m)
	}
	return out.MarshalJSON()
}

// messageJSON is the form of a message that programs get.
func messageJSON(m protoreflect.Message) any { return plainjson.Message(m) }

// word is the word of an enum, for a value of generated code.
func word(e protoreflect.Enum) string { return plainjson.Word(e.Descriptor(), e.Number()) }

// words lists what an enum can be set to.
func words(e protoreflect.Enum) []string {
	var out []string
	values := e.Descriptor().Values()
	for i := range values.Len() {
		if n := values.Get(i).Number(); n != 0 {
			out = append(out, plainjson.Word(e.Descriptor(), n))
		}
	}
	return out
}

// parseWord finds the value of an enum by its word.
func parseWord[E interface {
	~int32
	protoreflect.Enum
}](flag, s string) (E, error) {
	var e E
	if s == "" {
		return e, nil
	}
	values := e.Descriptor().Values()
	for i := range values.Len() {
		if n := values.Get(i).Number(); n != 0 && plainjson.Word(e.Descriptor(), n) == s {
			return E(n), nil
		}
	}
	return e, usagef("--%s is %q; it must be one of %s", flag, s, strings.Join(words(e), ", "))
}
