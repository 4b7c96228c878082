package rpc

import (
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// entryToProto converts a log entry; nil stays nil.
func entryToProto(e *memory.Entry) *pb.LogEntry {
	if e == nil {
		return nil
	}
	return &pb.LogEntry{
		Id: e.ID, Time: e.Time, At: timeToProto(e.At), Type: e.Type, Content: e.Content, Category: e.Category,
		Tool: e.Tool, Error: e.Error, SessionId: e.Session,
	}
}

// dayToProto converts the header of a daily log; nil stays nil.
func dayToProto(d *memory.Day) *pb.LogDay {
	if d == nil {
		return nil
	}
	return &pb.LogDay{Date: d.Date, Summary: d.Summary, Archived: d.Archived, Revision: d.Revision,
		EntryCount: int32(d.Entries)}
}

// deletedDay is what is left of a day whose log was deleted.
func deletedDay(r *memory.Archived) *pb.LogDay {
	return &pb.LogDay{Date: r.Date, Summary: r.Summary, Archived: true, EntryCount: int32(r.Entries),
		DeletedAt: timeToProto(r.DeletedAt)}
}

// archived converts the record of an archived log; nil stays nil.
func (e encoder) archived(r *memory.Archived) *pb.ArchivedLog {
	if r == nil {
		return nil
	}
	return &pb.ArchivedLog{
		Id: r.ID, Date: r.Date, EntryCount: int32(r.Entries), Summary: r.Summary, PromotedMemoryIds: r.Promoted,
		ArchivedAt: timeToProto(r.At), ArchiveOperationId: e.operationID(r.Op), DeletedAt: timeToProto(r.DeletedAt),
		DeleteOperationId: e.operationID(r.DeletedOp),
	}
}

// entryFromProto converts an entry to append. Field names in violations begin with prefix.
func entryFromProto(check *memory.Check, prefix string, in *pb.NewLogEntry) *memory.Entry {
	return &memory.Entry{
		At: timeFromProto(check, prefix+"at", in.GetAt()), Type: in.GetType(), Content: in.GetContent(),
		Category: in.GetCategory(),
		Tool:     in.GetTool(), Error: in.GetError(),
	}
}
