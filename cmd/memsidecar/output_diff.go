package main

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/client/jsonout"
)

// printOperation shows an operation and, for each thing it changed, the fields that differ.
func (a *app) printOperation(op *pb.Operation) {
	head := "operation " + op.GetId()
	line := strings.Join([]string{stamp(op.GetAt()), "space " + op.GetSpace(), "by " + word(op.GetActor())}, ", ")
	a.out.printf("%s  %s\n", a.out.colour(bold, head), line+prefixed(", ", why(op)))
	for _, ch := range op.GetChanges() {
		a.printChange(ch)
	}
}

// printChange prints one change of an operation.
func (a *app) printChange(ch *pb.Change) {
	switch {
	case ch.GetMemory() != nil:
		c := ch.GetMemory()
		a.printDiff("memory "+c.GetId(), message(c.GetBefore()), message(c.GetAfter()))
	case ch.GetEntry() != nil:
		c := ch.GetEntry()
		a.printDiff("log entry "+c.GetDate()+" "+c.GetId(), message(c.GetBefore()), message(c.GetAfter()))
	case ch.GetDay() != nil:
		c := ch.GetDay()
		a.printDiff("log of "+c.GetDate(), message(c.GetBefore()), message(c.GetAfter()))
	case ch.GetSession() != nil:
		c := ch.GetSession()
		a.printDiff("session "+c.GetId(), message(c.GetBefore()), message(c.GetAfter()))
	case ch.GetSummary() != nil:
		a.out.printf("  ~ rolling summary\n")
		a.printField("", ch.GetSummary().GetBefore(), ch.GetSummary().GetAfter())
	case ch.GetForgotten() != nil:
		if ch.GetForgotten().GetAfter() != nil {
			a.out.printf("%s\n", a.out.colour(green, "  + forgotten value "+ch.GetForgotten().GetHash()))
		} else {
			a.out.printf("%s\n", a.out.colour(red, "  - forgotten value "+ch.GetForgotten().GetHash()))
		}
	case ch.GetMessage() != nil:
		a.out.printf("%s\n", a.out.colour(green, "  + message "+itoa(ch.GetMessage().GetMessage().GetSeq())+
			" of session "+ch.GetMessage().GetSessionId()))
	case ch.GetArchive() != nil:
		c := ch.GetArchive()
		a.printDiff("archive record "+c.GetId(), message(c.GetBefore()), message(c.GetAfter()))
	case ch.GetAccess() != nil:
		a.out.printf("  ~ memory %s was accessed %s\n", ch.GetAccess().GetId(),
			plural(ch.GetAccess().GetCount(), "time", "times"))
	}
}

// message converts m to an interface that is nil if m is nil.
func message[M interface {
	comparable
	proto.Message
}](m M) proto.Message {
	var none M
	if m == none {
		return nil
	}
	return m
}

// printDiff prints the fields that differ between two states of one object; nil means that it did not exist.
func (a *app) printDiff(name string, before, after proto.Message) {
	switch {
	case before == nil && after == nil: // purged: the text is gone
		a.out.printf("%s\n", a.out.colour(red, "  - "+name+", purged"))
	case before == nil:
		a.out.printf("%s\n", a.out.colour(green, "  + "+name))
	case after == nil:
		a.out.printf("%s\n", a.out.colour(red, "  - "+name))
	default:
		a.out.printf("  ~ %s\n", name)
	}
	some := after
	if some == nil {
		some = before
	}
	if some == nil {
		return
	}
	fields := some.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() == "id" || f.Name() == "date" || f.Name() == "revision" || f.Name() == "updated_at" {
			continue // printed in the heading, or different in every change
		}
		was, is := fieldText(before, f), fieldText(after, f)
		if was != is {
			a.printField(string(f.Name()), was, is)
		}
	}
}

// printField prints the old and the new value of a field; an empty value has no line.
func (a *app) printField(name, was, is string) {
	label := name
	if name != "" {
		label += ": "
	}
	for _, side := range []struct{ sign, colour, text string }{{"-", red, was}, {"+", green, is}} {
		if side.text != "" {
			text := strings.ReplaceAll(side.text, "\n", "\n        ")
			a.out.printf("%s\n", a.out.colour(side.colour, "    "+side.sign+" "+label+text))
		}
	}
}

// fieldText is a field as text; it is empty if the field is not set.
func fieldText(m proto.Message, f protoreflect.FieldDescriptor) string {
	if m == nil || !m.ProtoReflect().Has(f) {
		return ""
	}
	v := jsonout.Field(f, m.ProtoReflect().Get(f))
	if s, ok := v.(string); ok {
		return printable(s)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(data)
}
