package web

import (
	"net/http"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// profiles are the values of profile.
var profiles = map[string]pb.RankingProfile{
	"": pb.RankingProfile_RANKING_PROFILE_UNSPECIFIED, "balanced": pb.RankingProfile_RANKING_PROFILE_BALANCED, "product": pb.RankingProfile_RANKING_PROFILE_PRODUCT,
	"weighted": pb.RankingProfile_RANKING_PROFILE_WEIGHTED, "overlap": pb.RankingProfile_RANKING_PROFILE_OVERLAP, "recent": pb.RankingProfile_RANKING_PROFILE_RECENT,
}

// searchBody is what a search is asked with. What is left out has the default of the gRPC API, top_k that of 5.
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
	Touch    *bool    `json:"touch"`
	Logs     bool     `json:"include_logs"`
}

type searchReply struct {
	Results    []hit  `json:"results"`
	Candidates int32  `json:"candidates"`
	Abstained  bool   `json:"abstained"`
	Reason     string `json:"reason"`
}

type hit struct {
	Memory     any     `json:"memory,omitempty"`
	Log        any     `json:"log,omitempty"` // instead of a memory, with include_logs
	Space      string  `json:"space"`
	Score      float64 `json:"score"`
	Components []any   `json:"components,omitempty"`
}

const defaultTopK = 5

func (s *Server) find(w http.ResponseWriter, r *http.Request) error {
	if q := queryOf(r); q.err != nil {
		return q.err
	}
	var in searchBody
	if err := need(r, &in); err != nil {
		return err
	}
	if in.Query == nil {
		return invalid("query is missing")
	}
	profile, ok := profiles[in.Profile]
	if !ok {
		return invalid("profile is balanced, product, weighted, overlap or recent")
	}
	req := &pb.SearchServiceSearchRequest{
		Query: *in.Query, K: defaultTopK, UseDecay: in.UseDecay, Spaces: in.Spaces, Profile: profile, MinScore: in.MinScore, Explain: in.Explain, Touch: in.Touch, IncludeLogs: in.Logs,
		Filter: &pb.SearchFilter{},
	}
	if in.TopK != nil {
		if req.K = *in.TopK; req.K == 0 {
			return invalid("top_k is 0; it must be 1 to 200")
		}
	}
	if in.Category != "" {
		req.Filter.Categories = []string{in.Category}
	}
	if in.Space != "" {
		req.Spaces = append(req.Spaces, in.Space)
	}
	res, err := s.search.Search(r.Context(), req)
	if err != nil {
		return err
	}
	out := searchReply{Results: []hit{}, Candidates: res.GetCandidates(), Abstained: res.GetAbstained(), Reason: res.GetReason()}
	for _, h := range res.GetHits() {
		one := hit{Space: h.GetSpace(), Score: h.GetScore()}
		if h.GetLog() != nil {
			one.Log = plain(h.GetLog())
		} else {
			one.Memory = plain(h.GetMemory())
		}
		if in.Explain {
			one.Components = plainList(h.GetComponents())
		}
		out.Results = append(out.Results, one)
	}
	reply(w, http.StatusOK, out)
	return nil
}
