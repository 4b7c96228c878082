package web

import (
	"net/http"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// archiveBody may be left out: then everything goes by the configuration.
type archiveBody struct {
	Space       string `json:"space"`
	ArchiveDays int32  `json:"archive_days"`
	DeleteDays  int32  `json:"delete_days"`
	MaxDays     int32  `json:"max_days"`
	DryRun      bool   `json:"dry_run"`
}

func (s *Server) archive(w http.ResponseWriter, r *http.Request) error {
	if q := queryOf(r); q.err != nil {
		return q.err
	}
	var in archiveBody
	if _, err := decode(r, &in); err != nil {
		return err
	}
	res, err := s.admin.Archive(r.Context(), &pb.AdminServiceArchiveRequest{
		Space: in.Space, ArchiveDays: in.ArchiveDays, DeleteDays: in.DeleteDays, MaxDays: in.MaxDays, DryRun: in.DryRun,
	})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(res))
	return nil
}

// consolidateBody is a text to save. Without a body, what was written into the daily logs to become memories is.
type consolidateBody struct {
	Content  string   `json:"content"`
	Category string   `json:"category"`
	Salience *float64 `json:"salience"`
	Title    string   `json:"title"`
	Tags     []string `json:"tags"`
	WriteTo  string   `json:"write_to"`
	Space    string   `json:"space"`
	DryRun   bool     `json:"dry_run"`
}

var targets = map[string]pb.WriteTo{
	"": pb.WriteTo_WRITE_TO_UNSPECIFIED, "memory": pb.WriteTo_WRITE_TO_MEMORY, "daily": pb.WriteTo_WRITE_TO_DAILY,
}

func (s *Server) consolidate(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space", "dry_run")
	space, dry := q.text("space"), q.truth("dry_run")
	if q.err != nil {
		return q.err
	}
	in := consolidateBody{Space: space, DryRun: dry}
	given, err := decode(r, &in)
	if err != nil {
		return err
	}
	if !given {
		res, err := s.learn.ConsolidatePending(r.Context(), &pb.LearningServiceConsolidatePendingRequest{Space: space, DryRun: dry})
		if err != nil {
			return err
		}
		reply(w, http.StatusOK, plain(res))
		return nil
	}
	if space != "" && in.Space != space {
		return invalid("space is one thing in the address and another in the body")
	}
	to, ok := targets[in.WriteTo]
	if !ok {
		return invalid("write_to is memory or daily")
	}
	res, err := s.memory.Consolidate(r.Context(), &pb.MemoryServiceConsolidateRequest{
		Space: in.Space, Content: in.Content, Category: in.Category, Salience: in.Salience, Title: in.Title, Tags: in.Tags, WriteTo: to, DryRun: in.DryRun,
		IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(res))
	return nil
}

func (s *Server) getSummary(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space")
	if q.err != nil {
		return q.err
	}
	res, err := s.memory.GetRollingSummary(r.Context(), &pb.MemoryServiceGetRollingSummaryRequest{Space: q.text("space")})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(res))
	return nil
}

// summaryBody replaces the rolling summary; empty clears it, left out is an error.
type summaryBody struct {
	Summary *string `json:"summary"`
}

func (s *Server) putSummary(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "space")
	if q.err != nil {
		return q.err
	}
	var in summaryBody
	if err := need(r, &in); err != nil {
		return err
	}
	if in.Summary == nil {
		return invalid("summary is missing; an empty one clears it")
	}
	res, err := s.memory.SetRollingSummary(r.Context(), &pb.MemoryServiceSetRollingSummaryRequest{
		Space: q.text("space"), Summary: *in.Summary, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, writtenOf(res.GetResult()))
	return nil
}
