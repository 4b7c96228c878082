package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Object appends the members of one JSON object to a slice, without white space. It keeps the first error, which End
// returns. It is for one goroutine.
type Object struct {
	dst []byte
	err error
}

// NewObject opens an object behind dst.
func NewObject(dst []byte) *Object { return &Object{dst: append(dst, '{')} }

// End closes the object and returns the slice with the first error.
func (o *Object) End() ([]byte, error) { return append(o.dst, '}'), o.err }

// key appends the name of the next member, behind a comma unless it is the first.
func (o *Object) key(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(append(append(o.dst, '"'), name...), '"', ':')
}

// Int appends a whole number.
func (o *Object) Int(name string, v int64) {
	o.key(name)
	o.dst = strconv.AppendInt(o.dst, v, 10)
}

// Bool appends true or false.
func (o *Object) Bool(name string, v bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, v)
}

// Float appends a number in the shortest form that reads back as v. NaN and infinities are errors.
func (o *Object) Float(name string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		o.fail(fmt.Errorf("%s is not a number", name))
		v = 0
	}
	o.key(name)
	o.dst = strconv.AppendFloat(o.dst, v, 'g', -1, 64)
}

// Time appends t in RFC 3339 with its offset, to the nanosecond.
func (o *Object) Time(name string, t time.Time) {
	o.key(name)
	o.dst = append(t.AppendFormat(append(o.dst, '"'), time.RFC3339Nano), '"')
}

// String appends a string.
func (o *Object) String(name, s string) {
	o.key(name)
	o.dst = AppendString(o.dst, s)
}

// Strings appends an array of strings.
func (o *Object) Strings(name string, list []string) {
	o.key(name)
	o.dst = append(o.dst, '[')
	for i, s := range list {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = AppendString(o.dst, s)
	}
	o.dst = append(o.dst, ']')
}

// Marshal appends v as encoding/json encodes it.
func (o *Object) Marshal(name string, v any) {
	o.key(name)
	raw, err := json.Marshal(v)
	o.fail(err)
	o.dst = append(o.dst, raw...)
}

// Compact appends raw JSON without its white space, so that the object stays on one line.
func (o *Object) Compact(name string, raw json.RawMessage) {
	o.key(name)
	b := bytes.NewBuffer(o.dst)
	o.fail(json.Compact(b, raw))
	o.dst = b.Bytes()
}

// Value appends a member that write appends. write returns the extended slice and its error.
func (o *Object) Value(name string, write func([]byte) ([]byte, error)) {
	o.key(name)
	dst, err := write(o.dst)
	o.fail(err)
	o.dst = dst
}

// fail keeps the first error.
func (o *Object) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}
