package main

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memsidecar/memsidecar/internal/client/jsonout"
)

// member is one name and value of a JSON object.
type member struct {
	Name  string
	Value any
}

// object is a JSON object with a fixed order of members.
type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	out := make(jsonout.Object, len(o))
	for i, m := range o {
		out[i] = jsonout.Member(m)
	}
	return out.MarshalJSON()
}

// messageJSON is the JSON form of a message.
func messageJSON(m protoreflect.Message) any { return jsonout.Message(m) }

// word is the lower-case name of an enum value, such as "active".
func word(e protoreflect.Enum) string { return jsonout.Word(e.Descriptor(), e.Number()) }

// optionalWord is word, but empty for UNSPECIFIED.
func optionalWord(e protoreflect.Enum) string {
	if e.Number() == 0 {
		return ""
	}
	return word(e)
}

// words lists the names of an enum without its UNSPECIFIED value.
func words(e protoreflect.Enum) []string {
	var out []string
	values := e.Descriptor().Values()
	for i := range values.Len() {
		if n := values.Get(i).Number(); n != 0 {
			out = append(out, jsonout.Word(e.Descriptor(), n))
		}
	}
	return out
}

// parseWord parses the name of an enum value given with a flag; an empty name is UNSPECIFIED.
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
		if n := values.Get(i).Number(); n != 0 && jsonout.Word(e.Descriptor(), n) == s {
			return E(n), nil
		}
	}
	return e, usagef("--%s is %q; it must be one of %s", flag, s, strings.Join(words(e), ", "))
}
