package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// member is one name and value of an object.
type member struct {
	name  string
	value any
}

// object is a JSON object that keeps the order of its members.
type object []member

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, v := range []any{m.name, m.value} {
			if err := enc.Encode(v); err != nil {
				return nil, err
			}
			b.Truncate(b.Len() - 1) // the encoder ends with a newline
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// messageJSON is the JSON form that programs get. It differs from protojson in what makes that awkward to read in a
// shell: integers are numbers, enums are lower-case words ("active"), and every plain field is there even when it is empty, so
// that a key can be relied on. Messages and optional fields that are not set are left out.
func messageJSON(m protoreflect.Message) any {
	switch v := m.Interface().(type) {
	case *timestamppb.Timestamp:
		return v.AsTime().Format(time.RFC3339Nano)
	case *durationpb.Duration:
		return v.AsDuration().Seconds()
	case *structpb.Struct:
		return v.AsMap()
	}
	out := object{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		out = append(out, member{string(f.Name()), fieldJSON(f, m.Get(f))})
	}
	return out
}

func fieldJSON(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = valueJSON(f, v.List().Get(i))
		}
		return list
	case f.IsMap():
		out := map[string]any{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[k.String()] = valueJSON(f.MapValue(), v)
			return true
		})
		return out
	}
	return valueJSON(f, v)
}

func valueJSON(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return messageJSON(v.Message())
	case protoreflect.EnumKind:
		return enumWord(f.Enum(), v.Enum())
	}
	return v.Interface()
}

// enumWord is the last part of a value's name, in lower case: MEMORY_STATUS_ACTIVE is "active".
func enumWord(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	value := e.Values().ByNumber(n)
	if value == nil {
		return "unknown"
	}
	zero := string(e.Values().ByNumber(0).Name()) // X_UNSPECIFIED
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), strings.TrimSuffix(zero, "UNSPECIFIED")))
}

// word is enumWord for a value of generated code.
func word(e protoreflect.Enum) string { return enumWord(e.Descriptor(), e.Number()) }

// words lists what an enum can be set to.
func words(e protoreflect.Enum) []string {
	var out []string
	values := e.Descriptor().Values()
	for i := range values.Len() {
		if n := values.Get(i).Number(); n != 0 {
			out = append(out, enumWord(e.Descriptor(), n))
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
		if n := values.Get(i).Number(); n != 0 && enumWord(e.Descriptor(), n) == s {
			return E(n), nil
		}
	}
	return e, usagef("--%s is %q; it must be one of %s", flag, s, strings.Join(words(e), ", "))
}
