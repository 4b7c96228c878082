package rpc

import (
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
)

// operationToProto converts an operation with those of its changes that keep accepts; nil accepts all.
func operationToProto(rec *journal.Record, keep func(*journal.Change) bool) *pb.Operation {
	op := &pb.Operation{
		Number: rec.Op, At: timeToProto(rec.At), Space: rec.Space, Actor: rec.Actor, Reason: rec.Reason, Session: rec.Session,
		Undoes: rec.Undoes, Origin: rec.Origin, ChangeCount: int32(len(rec.Changes)),
	}
	for i := range rec.Changes {
		if keep == nil || keep(&rec.Changes[i]) {
			op.Changes = append(op.Changes, changeToProto(&rec.Changes[i]))
		}
	}
	return op
}

func noChanges(*journal.Change) bool { return false }

func changeToProto(c *journal.Change) *pb.Change {
	switch {
	case c.Memory != nil:
		return &pb.Change{Subject: &pb.Change_Memory{Memory: &pb.MemoryChange{
			Id: c.Memory.ID, Before: memoryToProto(c.Memory.Before), After: memoryToProto(c.Memory.After),
		}}}
	case c.Entry != nil:
		return &pb.Change{Subject: &pb.Change_Entry{Entry: &pb.EntryChange{
			Date: c.Entry.Date, Id: c.Entry.ID, Before: entryToProto(c.Entry.Before), After: entryToProto(c.Entry.After),
		}}}
	case c.Day != nil:
		return &pb.Change{Subject: &pb.Change_Day{Day: &pb.DayChange{
			Date: c.Day.Date, Before: dayToProto(c.Day.Before), After: dayToProto(c.Day.After),
		}}}
	case c.Summary != nil:
		return &pb.Change{Subject: &pb.Change_Summary{Summary: &pb.SummaryChange{Before: c.Summary.Before, After: c.Summary.After}}}
	case c.Forgotten != nil:
		return &pb.Change{Subject: &pb.Change_Forgotten{Forgotten: &pb.ForgottenChange{
			Hash: c.Forgotten.Hash, Before: timeToProto(c.Forgotten.Before), After: timeToProto(c.Forgotten.After),
		}}}
	case c.Session != nil:
		return &pb.Change{Subject: &pb.Change_Session{Session: &pb.SessionChange{
			Id: c.Session.ID, Before: sessionToProto(c.Session.Before), After: sessionToProto(c.Session.After),
		}}}
	case c.Message != nil:
		return &pb.Change{Subject: &pb.Change_Message{Message: &pb.MessageChange{
			Session: c.Message.Session, Message: messageToProto(c.Message.Message),
		}}}
	case c.Archive != nil:
		return &pb.Change{Subject: &pb.Change_Archive{Archive: &pb.ArchiveChange{
			Id: c.Archive.ID, Before: archivedToProto(c.Archive.Before), After: archivedToProto(c.Archive.After),
		}}}
	case c.Touch != nil:
		return &pb.Change{Subject: &pb.Change_Touch{Touch: &pb.TouchChange{
			Id: c.Touch.ID, Count: c.Touch.Count, At: timeToProto(c.Touch.At),
		}}}
	}
	return &pb.Change{}
}
