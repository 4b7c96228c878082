package rpc

import (
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// profiles names the ranking profiles; "" is the default of the engine.
var profiles = map[pb.RankingProfile]string{
	pb.RankingProfile_RANKING_PROFILE_UNSPECIFIED: "",
	pb.RankingProfile_RANKING_PROFILE_BALANCED:    search.Balanced,
	pb.RankingProfile_RANKING_PROFILE_PRODUCT:     search.Product,
	pb.RankingProfile_RANKING_PROFILE_WEIGHTED:    search.Weighted,
	pb.RankingProfile_RANKING_PROFILE_OVERLAP:     search.Overlap,
	pb.RankingProfile_RANKING_PROFILE_RECENT:      search.Recent,
}

// arms names the search arms.
var arms = map[pb.SearchArm]string{
	pb.SearchArm_SEARCH_ARM_UNSPECIFIED: search.Fusion,
	pb.SearchArm_SEARCH_ARM_KEYWORD:     search.Keyword,
	pb.SearchArm_SEARCH_ARM_FUSION:      search.Fusion,
	pb.SearchArm_SEARCH_ARM_VECTOR:      search.Vector,
}

// strengths names the strengths of hits; "" is a hit that is not graded.
var strengths = map[search.Strength]pb.HitStrength{
	"":            pb.HitStrength_HIT_STRENGTH_UNSPECIFIED,
	search.Weak:   pb.HitStrength_HIT_STRENGTH_WEAK,
	search.Fair:   pb.HitStrength_HIT_STRENGTH_FAIR,
	search.Strong: pb.HitStrength_HIT_STRENGTH_STRONG,
}

// searchFromProto converts a query. Limits are checked by the engine; here only what has no form there.
func searchFromProto(req *pb.SearchServiceSearchRequest) (search.Request, error) {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	if req.GetSessionId() != "" {
		check.ID("session_id", req.GetSessionId())
	}
	profile, ok := profiles[req.GetProfile()]
	if !ok {
		check.Add("profile", "UNKNOWN_VALUE", "is not a profile")
	}
	arm, ok := arms[req.GetArm()]
	if !ok {
		check.Add("arm", "UNKNOWN_VALUE", "is not an arm")
	}
	out := search.Request{
		Spaces: req.GetSpaces(), Query: req.GetQuery(), K: int(req.GetLimit()), Profile: profile, Arm: arm,
		AsOf: timeFromProto(&check, "as_of", req.GetAsOf()), Explain: req.GetExplain(),
		UseDecay: new(!req.GetIgnoreAccessAge()),
		Filter:   filterFromProto(&check, req.GetFilter()),
		MinScore: req.GetMinScore(),
	}
	return out, check.Err()
}

// hitsToProto converts hits, best first.
func hitsToProto(hits []search.Hit) []*pb.SearchHit {
	out := make([]*pb.SearchHit, len(hits))
	for i, h := range hits {
		out[i] = &pb.SearchHit{
			Memory: memoryToProto(h.Memory), Space: h.Space, Score: h.Score, Strength: strengths[h.Strength],
		}
		for _, p := range h.Parts {
			out[i].Components = append(out[i].Components, &pb.ScoreComponent{Name: p.Name, Value: p.Value})
		}
	}
	return out
}
