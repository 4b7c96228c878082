package web

import (
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// rankingProfiles are the values of profile.
var rankingProfiles = map[string]pb.RankingProfile{
	"":         pb.RankingProfile_RANKING_PROFILE_UNSPECIFIED,
	"balanced": pb.RankingProfile_RANKING_PROFILE_BALANCED,
	"product":  pb.RankingProfile_RANKING_PROFILE_PRODUCT,
	"weighted": pb.RankingProfile_RANKING_PROFILE_WEIGHTED,
	"overlap":  pb.RankingProfile_RANKING_PROFILE_OVERLAP,
	"recent":   pb.RankingProfile_RANKING_PROFILE_RECENT,
}

// searchBody is the body of a search. Absent fields have the defaults of the gRPC API.
//
// The names are those of the MCP tool memory_search. Space and Spaces add up; without both, the default space
// is searched. NoTouch keeps the search from counting as a use of its results: the panel sets it. With Session a memory
// counts once, however often that session finds it.
type searchBody struct {
	Query    *string  `json:"query"`
	TopK     *int32   `json:"top_k"`
	UseDecay *bool    `json:"use_decay"`
	Category string   `json:"category"`
	Space    string   `json:"space"`
	Spaces   []string `json:"spaces"`
	Profile  string   `json:"profile"`
	MinScore float64  `json:"min_score"`
	Explain  bool     `json:"explain"`
	NoTouch  bool     `json:"no_touch"`
	Logs     bool     `json:"include_logs"`
	Wait     bool     `json:"wait_indexed"`
	Session  string   `json:"session_id"`

	// Only memories with any of the tags, of any of the sources, of at least the salience, created in the time.
	Tags        []string   `json:"tags"`
	Sources     []string   `json:"sources"`
	MinSalience float64    `json:"min_salience"`
	From        *time.Time `json:"created_from"`
	Before      *time.Time `json:"created_before"`
}

// filter is what the body says about the memories to search.
func (in *searchBody) filter() *pb.MemoryFilter {
	f := &pb.MemoryFilter{Tags: in.Tags, Sources: in.Sources, MinSalience: in.MinSalience}
	if in.Category != "" {
		f.Categories = []string{in.Category}
	}
	if in.From != nil {
		f.CreatedFrom = timestamppb.New(*in.From)
	}
	if in.Before != nil {
		f.CreatedBefore = timestamppb.New(*in.Before)
	}
	return f
}

// searchResult is the response of a search.
type searchResult struct {
	Results    []searchHit `json:"results"`
	Candidates int32       `json:"candidates"`
	Abstained  bool        `json:"abstained"`
	Reason     string      `json:"reason"`
	Omitted    int32       `json:"omitted_hits"` // further results, left out for size
}

// searchHit is a memory or, with include_logs, a log entry that matches.
type searchHit struct {
	Memory     any     `json:"memory,omitempty"`
	Log        any     `json:"log,omitempty"`
	Space      string  `json:"space"`
	Score      float64 `json:"score"`
	Strength   string  `json:"strength"`
	Components []any   `json:"components,omitempty"`
}

// searchEntries serves POST search. The components of a score are sent only with explain: they are most of the
// response.
func (s *Server) searchEntries(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	var in searchBody
	if err := decodeRequired(r, &in); err != nil {
		return err
	}
	if in.Query == nil {
		return invalidRequest("query is missing")
	}
	profile, ok := rankingProfiles[in.Profile]
	if !ok {
		return invalidRequest("profile is balanced, product, weighted, overlap or recent")
	}
	req := &pb.SearchServiceSearchRequest{
		// An empty query is allowed; only its absence is an error.
		Query: *in.Query, Spaces: in.Spaces, Profile: profile,
		MinScore: in.MinScore, Explain: in.Explain, NoTouch: in.NoTouch, IncludeLogs: in.Logs, WaitIndexed: in.Wait,
		SessionId: in.Session, Filter: in.filter(),
		IgnoreAccessAge: in.UseDecay != nil && !*in.UseDecay,
	}
	if in.TopK != nil {
		if req.Limit = *in.TopK; req.Limit == 0 {
			return invalidRequest("top_k is 0; it must be 1 to 200")
		}
	}
	if in.Space != "" {
		req.Spaces = append(req.Spaces, in.Space)
	}
	res, err := s.search.Search(r.Context(), req)
	if err != nil {
		return err
	}
	out := searchResult{
		Results: []searchHit{}, Candidates: res.GetCandidates(), Abstained: res.GetAbstained(),
		Reason: res.GetReason(), Omitted: res.GetOmittedHits(),
	}
	for _, h := range res.GetHits() {
		one := searchHit{Space: h.GetSpace(), Score: h.GetScore(), Strength: enumWord(h.GetStrength())}
		if h.GetLog() != nil {
			one.Log = messageJSON(h.GetLog())
		} else {
			one.Memory = messageJSON(h.GetMemory())
		}
		if in.Explain {
			one.Components = messagesJSON(h.GetComponents())
		}
		out.Results = append(out.Results, one)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
