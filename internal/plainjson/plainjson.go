// Package plainjson writes messages of the API as JSON for programs that do not know protobuf. It differs from protojson in
// what makes that awkward to read: integers are numbers, enums are lower-case words ("active"), and every plain field is there even when
// it is empty, so that a name can be relied on. Messages and optional fields that are not set are left out. It reads nothing.
package plainjson

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

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value any
}

// Object is a JSON object that keeps the order of its members.
type Object []Member

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, v := range []any{m.Name, m.Value} {
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

// Message is the JSON form of a message, for json.Marshal: an Object, or what stands for a time, a duration or a struct.
func Message(m protoreflect.Message) any {
	switch v := m.Interface().(type) {
	case *timestamppb.Timestamp:
		return v.AsTime().Format(time.RFC3339Nano)
	case *durationpb.Duration:
		return v.AsDuration().Seconds()
	case *structpb.Struct:
		return v.AsMap()
	}
	out := Object{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.HasPresence() && !m.Has(f) {
			continue
		}
		out = append(out, Member{string(f.Name()), Field(f, m.Get(f))})
	}
	return out
}

// Field is the JSON form of the value of a field.
func Field(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = value(f, v.List().Get(i))
		}
		return list
	case f.IsMap():
		out := map[string]any{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[k.String()] = value(f.MapValue(), v)
			return true
		})
		return out
	}
	return value(f, v)
}

func value(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return Message(v.Message())
	case protoreflect.EnumKind:
		return Word(f.Enum(), v.Enum())
	}
	return v.Interface()
}

// Word is the last part of the name of an enum's value, in lower case: MEMORY_STATUS_ACTIVE is "active".
func Word(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	value := e.Values().ByNumber(n)
	if value == nil {
		return "unknown"
	}
	zero := string(e.Values().ByNumber(0).Name()) // X_UNSPECIFIED
	return strings.ToLower(strings.TrimPrefix(string(value.Name()), strings.TrimSuffix(zero, "UNSPECIFIED")))
}
