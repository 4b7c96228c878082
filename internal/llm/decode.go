package llm

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Into is a Check that decodes a reply into dst strictly; on an error dst is unchanged. Unknown, missing and repeated
// fields, another letter case and another type are errors with the path of the value. Fields with omitempty or
// omitzero in their json tag may be missing; only pointers may be null.
//
// T may consist of structs, slices, maps with string keys, pointers, strings, booleans, numbers, json.RawMessage and
// encoding.TextUnmarshalers. Other types, and fields without a json tag, are errors.
func Into[T any](dst *T) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		d, err := strictjson.NewDecoder(raw)
		if err != nil {
			return err
		}
		var v T
		if err := decode(d, reflect.ValueOf(&v).Elem()); err != nil {
			return err
		}
		if err := d.End(); err != nil {
			return err
		}
		*dst = v
		return nil
	}
}

// decode reads the next value into v. The error names the path of the value.
func decode(d *strictjson.Decoder, v reflect.Value) error {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		raw, err := d.Raw()
		v.SetBytes(raw)
		return err
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return decodeText(d, t)
	}
	start := d.Pos()
	switch v.Kind() {
	case reflect.Struct:
		return decodeStruct(d, v)
	case reflect.Slice:
		// An empty list differs from a missing one: models leave out what they forgot.
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return d.Array(func(int) error {
			item := reflect.New(v.Type().Elem()).Elem()
			err := decode(d, item)
			v.Set(reflect.Append(v, item))
			return err
		})
	case reflect.Map:
		return decodeMap(d, v)
	case reflect.Pointer:
		if d.Null() {
			return nil
		}
		v.Set(reflect.New(v.Type().Elem()))
		return decode(d, v.Elem())
	case reflect.String:
		s, err := d.String()
		v.SetString(s)
		return err
	case reflect.Bool:
		b, err := d.Bool()
		v.SetBool(b)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := d.Int()
		if err == nil && v.OverflowInt(n) {
			err = d.FailAt(start, "is out of range")
		}
		v.SetInt(n)
		return err
	case reflect.Float64:
		n, err := d.Float()
		v.SetFloat(n)
		return err
	}
	return fmt.Errorf("a reply cannot be decoded into %s", v.Type())
}

// decodeText reads a string and parses it.
func decodeText(d *strictjson.Decoder, t encoding.TextUnmarshaler) error {
	start := d.Pos()
	s, err := d.String()
	if err != nil {
		return err
	}
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return d.FailAt(start, "%s", err)
	}
	return nil
}

// decodeMap reads an object into a map with string keys.
func decodeMap(d *strictjson.Decoder, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("a reply cannot be decoded into %s", v.Type())
	}
	v.Set(reflect.MakeMap(v.Type()))
	return d.Object(func(key []byte) error {
		item := reflect.New(v.Type().Elem()).Elem()
		err := decode(d, item)
		v.SetMapIndex(reflect.ValueOf(string(key)).Convert(v.Type().Key()), item)
		return err
	})
}

// field is the state of one struct field while an object is decoded.
type field struct {
	index    int
	optional bool
	seen     bool
}

// decodeStruct reads an object that must have exactly the fields of v; fields with an omit option may be missing.
func decodeStruct(d *strictjson.Decoder, v reflect.Value) error {
	start := d.Pos()
	fields := map[string]*field{}
	var names []string
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			return fmt.Errorf("%s.%s has no name in JSON", v.Type(), v.Type().Field(i).Name)
		}
		fields[name] = &field{index: i, optional: strings.Contains(options, "omit")}
		names = append(names, name)
	}
	err := d.Object(func(key []byte) error {
		f := fields[string(key)]
		if f == nil {
			return d.Fail("is not a field; the fields are %s", strings.Join(names, ", "))
		}
		f.seen = true
		return decode(d, v.Field(f.index))
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		if f := fields[name]; !f.seen && !f.optional {
			return d.FailAt(start, "the field %q is missing", name)
		}
	}
	return nil
}
