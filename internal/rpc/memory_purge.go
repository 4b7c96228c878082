package rpc

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// Purge erases. A dry run never uses the idempotency key. Durable on return. Errors: memory.ErrNotFound,
// memory.ErrUnfinished, those of the file system.
func (s *memoryServer) Purge(ctx context.Context, req *pb.MemoryServicePurgeRequest) (*pb.MemoryServicePurgeResponse,
	error) {
	if req.GetDryRun() {
		res, _, err := s.purge(ctx, req)
		return res, err
	}
	res := &pb.MemoryServicePurgeResponse{}
	result, err := s.keyed.run(ctx, keyedMeta(req, req.GetSpace(), "purge"), func() (result store.Result, err error) {
		res, result, err = s.purge(ctx, req)
		return result, err
	})
	if err != nil {
		return nil, err
	}
	res.Result = s.result(result)
	return res, nil
}

// maxForeignFiles bounds the names of files in a response.
const maxForeignFiles = 1000

// purge erases, without regard to the idempotency key.
func (s *memoryServer) purge(ctx context.Context, req *pb.MemoryServicePurgeRequest) (*pb.MemoryServicePurgeResponse,
	store.Result, error) {
	purged, err := s.purges.Run(ctx, purge.Request{
		PurgeRequest: store.PurgeRequest{
			Space: req.GetSpace(), IDs: req.GetIds(), Texts: req.GetTexts(), Transcripts: req.GetTranscripts(),
			Reason: req.GetReason(),
		},
		DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, store.Result{}, err
	}
	if !req.GetDryRun() {
		// These caches may hold what was just erased.
		s.recall.ForgetTraces()
		s.sessions.ClearWorkingCache()
		s.memories.Release()
	}
	result := store.Result{Op: purged.Op}
	for _, id := range req.GetIds() {
		result.Outcomes = append(result.Outcomes, appliedTo(id)...)
	}
	res := &pb.MemoryServicePurgeResponse{
		Result: s.result(result), ForeignFiles: purged.Remaining[:min(len(purged.Remaining), maxForeignFiles)],
		WritersWaited: durationpb.New(purged.Waited),
	}
	for _, id := range purged.Announced {
		store.NoteWrite(ctx, store.Write{Purge: id})
	}
	for _, p := range s.share.AwaitPurges(ctx, purged.Announced) {
		res.Shared = append(res.Shared, &pb.SharedSpacePurge{Space: p.Space, Position: p.Position, Confirmed: p.Confirmed,
			Missing: p.Missing})
	}
	for _, kind := range slices.Sorted(maps.Keys(purged.Places)) {
		if n := purged.Places[kind]; n > 0 {
			res.Places = append(res.Places, &pb.PurgedPlace{Kind: placeKinds[kind], Count: n})
		}
	}
	return res, result, nil
}

// placeKinds names the kinds of purged places in messages.
var placeKinds = map[string]pb.PurgedPlaceKind{
	"memory":     pb.PurgedPlaceKind_PURGED_PLACE_KIND_MEMORY,
	"version":    pb.PurgedPlaceKind_PURGED_PLACE_KIND_VERSION,
	"log_entry":  pb.PurgedPlaceKind_PURGED_PLACE_KIND_LOG_ENTRY,
	"message":    pb.PurgedPlaceKind_PURGED_PLACE_KIND_MESSAGE,
	"summary":    pb.PurgedPlaceKind_PURGED_PLACE_KIND_SUMMARY,
	"archived":   pb.PurgedPlaceKind_PURGED_PLACE_KIND_ARCHIVED,
	"session":    pb.PurgedPlaceKind_PURGED_PLACE_KIND_SESSION,
	"receipt":    pb.PurgedPlaceKind_PURGED_PLACE_KIND_RECEIPT,
	"journal":    pb.PurgedPlaceKind_PURGED_PLACE_KIND_JOURNAL,
	"snapshot":   pb.PurgedPlaceKind_PURGED_PLACE_KIND_SNAPSHOT,
	"published":  pb.PurgedPlaceKind_PURGED_PLACE_KIND_PUBLISHED,
	"quarantine": pb.PurgedPlaceKind_PURGED_PLACE_KIND_QUARANTINE,
	"index":      pb.PurgedPlaceKind_PURGED_PLACE_KIND_INDEX,
}
