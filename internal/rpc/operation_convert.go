package rpc

import (
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// operation converts an operation with those of its changes that include accepts; nil accepts all.
func (e encoder) operation(rec *journal.Record, include func(*journal.Change) bool) *pb.Operation {
	op := e.operationHeader(rec)
	for i := range rec.Changes {
		if include == nil || include(&rec.Changes[i]) {
			op.Changes = append(op.Changes, e.change(&rec.Changes[i]))
		}
	}
	return op
}

// operationHeader converts an operation without its changes.
func (e encoder) operationHeader(rec *journal.Record) *pb.Operation {
	return &pb.Operation{
		Id: e.operationID(rec.Op), At: timeToProto(rec.At), Space: rec.Space, Actor: actors[rec.Actor],
		Reason:    rec.Reason,
		SessionId: rec.Session, UndoesOperationId: e.operationID(rec.Undoes), Epoch: rec.Origin,
		ChangeCount: int32(len(rec.Changes)),
	}
}

// actors names who made an operation in messages. An actor of a newer version has no name here.
var actors = map[string]pb.Actor{
	journal.ActorClient:      pb.Actor_ACTOR_CLIENT,
	journal.ActorReflect:     pb.Actor_ACTOR_REFLECT,
	journal.ActorConsolidate: pb.Actor_ACTOR_CONSOLIDATE,
	journal.ActorArchive:     pb.Actor_ACTOR_ARCHIVE,
	journal.ActorUndo:        pb.Actor_ACTOR_UNDO,
	journal.ActorAdopt:       pb.Actor_ACTOR_ADOPT,
	journal.ActorSession:     pb.Actor_ACTOR_SESSION,
	journal.ActorDaemon:      pb.Actor_ACTOR_DAEMON,
	journal.ActorImport:      pb.Actor_ACTOR_IMPORT,
	journal.ActorEdit:        pb.Actor_ACTOR_EDIT,
	journal.ActorView:        pb.Actor_ACTOR_VIEW,
	journal.ActorRepair:      pb.Actor_ACTOR_REPAIR,
	journal.ActorShare:       pb.Actor_ACTOR_SHARE,
}

// changeOf is change for a change that is passed by value.
func (e encoder) changeOf(c journal.Change) *pb.Change { return e.change(&c) }

// changes converts changes, in order.
func (e encoder) changes(changes []journal.Change) (out []*pb.Change) {
	for i := range changes {
		out = append(out, e.change(&changes[i]))
	}
	return out
}

// change converts one change. A kind of change that this version does not know becomes an empty message.
func (e encoder) change(c *journal.Change) *pb.Change {
	switch {
	case c.Memory != nil:
		return &pb.Change{Subject: &pb.Change_Memory{Memory: &pb.MemoryChange{
			Id: c.Memory.ID, Before: memoryToProto(c.Memory.Before), After: memoryToProto(c.Memory.After),
		}}}
	case c.Entry != nil:
		return &pb.Change{Subject: &pb.Change_Entry{Entry: &pb.EntryChange{
			Date: c.Entry.Date, Id: c.Entry.ID, Before: entryToProto(c.Entry.Before),
			After: entryToProto(c.Entry.After),
		}}}
	case c.Day != nil:
		return &pb.Change{Subject: &pb.Change_Day{Day: &pb.DayChange{
			Date: c.Day.Date, Before: dayToProto(c.Day.Before), After: dayToProto(c.Day.After),
		}}}
	case c.Summary != nil:
		return &pb.Change{Subject: &pb.Change_Summary{
			Summary: &pb.SummaryChange{Before: c.Summary.Before, After: c.Summary.After}}}
	case c.Forgotten != nil:
		return &pb.Change{Subject: &pb.Change_Forgotten{Forgotten: &pb.ForgottenChange{
			Hash: c.Forgotten.Hash, Before: timeToProto(c.Forgotten.Before), After: timeToProto(c.Forgotten.After),
		}}}
	case c.Session != nil:
		return &pb.Change{Subject: &pb.Change_Session{Session: &pb.SessionChange{
			Id: c.Session.ID, Before: e.session(c.Session.Before), After: e.session(c.Session.After),
		}}}
	case c.Message != nil:
		return &pb.Change{Subject: &pb.Change_Message{Message: &pb.MessageChange{
			SessionId: c.Message.Session, Message: messageToProto(c.Message.Message),
		}}}
	case c.Archive != nil:
		return &pb.Change{Subject: &pb.Change_Archive{Archive: &pb.ArchiveChange{
			Id: c.Archive.ID, Before: e.archived(c.Archive.Before), After: e.archived(c.Archive.After),
		}}}
	case c.Access != nil:
		return &pb.Change{Subject: &pb.Change_Access{Access: &pb.AccessChange{
			Id: c.Access.ID, Count: c.Access.Count, At: timeToProto(c.Access.At),
		}}}
	}
	return &pb.Change{}
}
