package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// maxText limits one text from standard input, in bytes. The limits of the daemon are lower and have their own errors.
const maxText = 1 << 20

// text returns arg, or standard input for "-".
func (a *app) text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	data, err := io.ReadAll(io.LimitReader(a.stdin, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxText {
		return "", usagef("standard input has more than %d bytes", maxText)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// timeLayouts are the accepted formats of a time. A time without an offset is in the configured time zone.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
	time.DateOnly}

// instant parses the time of a flag; an empty text is nil.
func (a *app) instant(flag, s string) (*timestamppb.Timestamp, error) {
	if s == "" {
		return nil, nil
	}
	cfg, err := daemon.LoadConfig(nil, a.env, a.flags.config)
	if err != nil {
		return nil, err
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, s, cfg.Location()); err == nil {
			return timestamppb.New(t), nil
		}
	}
	return nil, usagef("--%s is %q; it must be a time such as 2026-02-21, \"2026-02-21 14:30\" or 2026-02-21T14:30:00Z",
		flag, s)
}

// given returns v if the flag was given, else nil.
func given[T any](f *pflag.FlagSet, name string, v *T) *T {
	if f.Changed(name) {
		return v
	}
	return nil
}

// spaces splits --space for commands that accept several spaces.
func (a *app) spaces() []string {
	if a.flags.space == "" {
		return nil
	}
	return strings.Split(a.flags.space, ",")
}

// messages reads a transcript with one memory.Message as JSON per line; "-" is standard input.
func (a *app) messages(file string) ([]*pb.SessionMessage, error) {
	name, r := "standard input", a.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, cannotOpen(file, err)
		}
		defer f.Close()
		name, r = file, f
	}
	return readMessages(name, r)
}

// cannotOpen is the error for a file that was named and cannot be opened.
func cannotOpen(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return usagef("cannot open %s: %v", name, err)
}

// jsonKinds are the kinds of JSON values in words.
var jsonKinds = map[string]string{"number": "a number", "string": "a text", "bool": "true or false", "array": "a list",
	"object": "an object"}

// jsonProblem says what is wrong with a JSON text in the words of who wrote it, not of the decoder.
func jsonProblem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, _, _ := strings.Cut(wrong.Value, " ")
		if wrong.Field == "" {
			return "it is " + cmp.Or(jsonKinds[value], wrong.Value) + ", not an object"
		}
		return wrong.Field + " cannot be " + cmp.Or(jsonKinds[value], wrong.Value)
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("it is no JSON, from character %d on", bad.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON ends in the middle"
	}
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		return "a message has no field " + name
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// readMessages reads a transcript; name is for errors. A line may have memory.MaxMessage bytes.
func readMessages(name string, r io.Reader) ([]*pb.SessionMessage, error) {
	var out []*pb.SessionMessage
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, memory.MaxMessage)
	for n := 1; sc.Scan(); n++ {
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(sc.Text()))
		dec.DisallowUnknownFields()
		var m memory.Message
		if err := dec.Decode(&m); err != nil {
			return nil, usagef("%s:%d: not a message: %s\nExpected a line like "+
				"{\"role\":\"user\",\"content\":\"…\"}; at, seq and tool are optional.", name, n, jsonProblem(err))
		}
		out = append(out, messageProto(m))
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read transcript %s: %w", name, err)
	}
	if len(out) == 0 {
		return nil, usagef("%s contains no messages", name)
	}
	return out, nil
}

// roleOf is the enum value of a role; an unknown role is ROLE_UNSPECIFIED, which the daemon rejects.
func roleOf(role string) pb.Role {
	r, err := parseWord[pb.Role]("role", role)
	if err != nil {
		return pb.Role_ROLE_UNSPECIFIED
	}
	return r
}

// messageProto converts a message for the API.
func messageProto(m memory.Message) *pb.SessionMessage {
	out := &pb.SessionMessage{Seq: m.Seq, Role: roleOf(m.Role), Content: m.Content}
	if !m.At.IsZero() {
		out.At = timestamppb.New(m.At)
	}
	if t := m.Tool; t != nil {
		out.Tool = &pb.ToolCall{Name: t.Name, Arguments: t.Arguments, Result: t.Result, Error: t.Error,
			Failed: t.Failed}
	}
	return out
}

// addKeepFlag adds the flag that insists on storing what looks like a secret.
func addKeepFlag(f *pflag.FlagSet, keep *bool) {
	f.BoolVar(keep, "keep", false, "store what looks like a secret as it is; no recall shows it")
}

// addWriteFlags adds the flags that every command which writes has; reason may be nil.
func addWriteFlags(f *pflag.FlagSet, key, reason *string) {
	f.StringVar(key, "key", "", "idempotency key: a repeated request within 24 hours has no effect")
	if reason != nil {
		f.StringVar(reason, "reason", "", "reason to record with the operation")
	}
}
