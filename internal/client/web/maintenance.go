package web

import (
	"net/http"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// archiveBody is the body of POST archive. Absent fields have the values of the configuration.
type archiveBody struct {
	Space       string `json:"space"`
	ArchiveDays int32  `json:"archive_days"`
	DeleteDays  int32  `json:"delete_days"`
	Limit       int32  `json:"limit"`
	DryRun      bool   `json:"dry_run"`
}

// archiveLogs serves POST archive: it archives and deletes old daily logs now instead of at the configured time. With
// dry_run it reports what it would do.
func (s *Server) archiveLogs(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	var in archiveBody
	if _, err := decode(r, &in); err != nil {
		return err
	}
	res, err := s.admin.Archive(r.Context(), &pb.AdminServiceArchiveRequest{
		Space: in.Space, ArchiveDays: in.ArchiveDays, DeleteDays: in.DeleteDays, Limit: in.Limit,
		DryRun: in.DryRun, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}

// consolidateBody is the text to save. Without a body, the notes pending in the daily logs are consolidated.
//
// Space and DryRun can also be query parameters, which is the only way to give them without a body.
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

// writeTargets are the values of write_to.
var writeTargets = map[string]pb.WriteTo{
	"": pb.WriteTo_WRITE_TO_UNSPECIFIED, "memory": pb.WriteTo_WRITE_TO_MEMORY, "daily": pb.WriteTo_WRITE_TO_DAILY,
}

// consolidate serves POST consolidate. It waits for the decision, which may need a language model, hence
// modelTimeout.
func (s *Server) consolidate(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space", "dry_run", "allow_sensitive")
	space, dry, keep := q.text("space"), q.boolean("dry_run"), q.boolean("allow_sensitive")
	if q.err != nil {
		return q.err
	}
	in := consolidateBody{Space: space, DryRun: dry}
	given, err := decode(r, &in)
	if err != nil {
		return err
	}
	// Two different spaces in one request: neither may win silently.
	if space != "" && in.Space != space {
		return invalidRequest("space differs between the address and the body; give it once")
	}
	to, ok := writeTargets[in.WriteTo]
	if !ok {
		return invalidRequest("write_to is memory or daily")
	}
	req := &pb.MemoryServiceConsolidateRequest{
		Space: in.Space, DryRun: in.DryRun, IdempotencyKey: r.Header.Get("Idempotency-Key"),
		Input: &pb.MemoryServiceConsolidateRequest_LogEntries{LogEntries: &pb.ConsolidateLogEntries{}},
	}
	if given {
		req.Input = &pb.MemoryServiceConsolidateRequest_Text{Text: &pb.ConsolidateText{
			Content: in.Content, Category: in.Category, Salience: in.Salience, Title: in.Title, Tags: in.Tags, WriteTo: to,
			AllowSensitive: keep,
		}}
	}
	res, err := s.memory.Consolidate(r.Context(), req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}

// getRollingSummary serves GET rolling-summary.
func (s *Server) getRollingSummary(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space")
	if q.err != nil {
		return q.err
	}
	res, err := s.memory.GetSummary(
		r.Context(), &pb.MemoryServiceGetSummaryRequest{Space: q.text("space")},
	)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}

// summaryBody is the new rolling summary. An empty text clears it; an absent one is an error.
type summaryBody struct {
	Summary *string `json:"summary"`
}

// putRollingSummary serves PUT rolling-summary. The summary stays until it is set or rebuilt; a reflection does not
// change it.
func (s *Server) putRollingSummary(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space")
	if q.err != nil {
		return q.err
	}
	var in summaryBody
	if err := decodeRequired(r, &in); err != nil {
		return err
	}
	if in.Summary == nil {
		return invalidRequest("summary is missing; an empty one clears it")
	}
	res, err := s.memory.SetSummary(r.Context(), &pb.MemoryServiceSetSummaryRequest{
		Space: q.text("space"), Summary: *in.Summary, IdempotencyKey: r.Header.Get("Idempotency-Key"),
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, writeOutcomeOf(res.GetResult()))
	return nil
}
