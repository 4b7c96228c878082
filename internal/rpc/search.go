package rpc

import (
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

var profiles = map[pb.RankingProfile]string{
	pb.RankingProfile_RANKING_PROFILE_UNSPECIFIED: "",
	pb.RankingProfile_RANKING_PROFILE_BALANCED:    search.Balanced,
	pb.RankingProfile_RANKING_PROFILE_PRODUCT:     search.Product,
	pb.RankingProfile_RANKING_PROFILE_WEIGHTED:    search.Weighted,
	pb.RankingProfile_RANKING_PROFILE_OVERLAP:     search.Overlap,
	pb.RankingProfile_RANKING_PROFILE_RECENT:      search.Recent,
}

var arms = map[pb.SearchArm]string{
	pb.SearchArm_SEARCH_ARM_UNSPECIFIED: search.Fusion,
	pb.SearchArm_SEARCH_ARM_KEYWORD:     search.Keyword,
	pb.SearchArm_SEARCH_ARM_FUSION:      search.Fusion,
	pb.SearchArm_SEARCH_ARM_VECTOR:      search.Vector,
}

func searchFromProto(req *pb.SearchServiceSearchRequest) (search.Request, error) {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	profile, ok := profiles[req.GetProfile()]
	if !ok {
		check.Add("profile", "UNKNOWN_PROFILE", "is not a profile")
	}
	arm, ok := arms[req.GetArm()]
	if !ok {
		check.Add("arm", "UNKNOWN_ARM", "is not an arm")
	}
	f := req.GetFilter()
	out := search.Request{
		Spaces: req.GetSpaces(), Query: req.GetQuery(), K: int(req.GetK()), Profile: profile, Arm: arm,
		AsOf: timeFromProto(&check, "as_of", req.GetAsOf()), Explain: req.GetExplain(), UseDecay: req.UseDecay,
		Filter: search.Filter{
			Categories: f.GetCategories(), Tags: f.GetTags(), Sources: f.GetSources(), Sessions: f.GetSessions(),
			Statuses:      statusesFromProto(&check, "filter.statuses", f.GetStatuses()),
			CreatedAfter:  timeFromProto(&check, "filter.created_from", f.GetCreatedFrom()),
			CreatedBefore: timeFromProto(&check, "filter.created_before", f.GetCreatedBefore()),
			UpdatedAfter:  timeFromProto(&check, "filter.updated_from", f.GetUpdatedFrom()),
			UpdatedBefore: timeFromProto(&check, "filter.updated_before", f.GetUpdatedBefore()),
			MinScore:      req.GetMinScore(), MinSalience: f.GetMinSalience(),
		},
	}
	if f != nil {
		out.Filter.Pinned = f.Pinned
	}
	return out, check.Err()
}

func hitsToProto(hits []search.Hit) []*pb.SearchHit {
	out := make([]*pb.SearchHit, len(hits))
	for i, h := range hits {
		out[i] = &pb.SearchHit{Memory: memoryToProto(h.Memory), Space: h.Space, Score: h.Score}
		for _, p := range h.Parts {
			out[i].Components = append(out[i].Components, &pb.ScoreComponent{Name: p.Name, Value: p.Value})
		}
	}
	return out
}
