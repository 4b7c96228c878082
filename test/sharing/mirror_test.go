package sharing_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// mirroredTexts are the memories of two spaces, in English and Chinese, some of them of a dialogue.
var mirroredTexts = map[string][]string{
	"team": {
		"The staging server runs PostgreSQL 15 on port 5433", "Releases are cut on Thursdays after the review",
		"Alice prefers short commit messages", "Bob broke the build with a missing go.sum entry", "代码注释用中文写",
		"数据库备份每天凌晨三点运行", "团队周会改到星期二上午", "The error E4711 means that the licence file is missing",
		"Deployments need two approvals", "The on-call rota is in the wiki", "Karl: Where do we keep the invoices?",
		"Mia: In the shared drive, below finance", "Karl: And who may see them?", "Mia: Only the two of us and the auditor",
	},
	"home": {
		"The cat is allergic to chicken", "The heating is serviced every October", "周末去爬山要带水壶", "My wife is called Irene",
		"Irene works as a nurse in the night shift", "The bicycle has 28 inch tyres",
	},
}

// mirroredQueries are questions about them.
var mirroredQueries = []string{
	"which port does the database listen on", "when do we release", "注释用什么语言", "备份什么时候运行", "E4711", "staging server",
	"what does my wife do for a living", "who may look at the bills", "pet food", "quantum chromodynamics", "2026-01-05", "会议 时间",
}

// TestMirrorAcrossDaemons: a daemon that shares nothing finds in the mirror what the daemon that holds the spaces finds
// at home, with the same scores.
func TestMirrorAcrossDaemons(t *testing.T) {
	pg := postgres.StartVector(t)
	address := pg.Database(t, "team")
	home, guest := serve(t), serve(t)
	other := serve(t) // keeps the mirror of the other space
	for space, texts := range mirroredTexts {
		req := &pb.MemoryServiceAddRequest{Space: space}
		for i, text := range texts {
			m := &pb.NewMemory{Id: fmt.Sprint(space, i), Content: text, Category: []string{"facts", "preferences"}[i%2],
				CreatedAt: timestamppb.New(time.Date(2026, 1, 1+i, 12, 0, 0, 0, time.UTC))}
			if strings.Contains(text, ": ") && space == "team" {
				m.Context = &pb.MemoryContext{LearnedFrom: "session_invoices"}
			}
			req.Items = append(req.Items, m)
		}
		_, err := home.memories.Add(t.Context(), req)
		must(t, err)
	}
	for _, space := range []string{"team", "home"} {
		_, err := home.share.Start(t.Context(), &pbalpha.ShareServiceStartRequest{Space: space, Url: address, Vectors: space == "team"})
		must(t, err)
	}
	_, err := other.share.Join(t.Context(), &pbalpha.ShareServiceJoinRequest{Remote: "home", Url: address, Vectors: true})
	must(t, err)
	for space, daemon := range map[string]*sharingDaemon{"team": home, "home": other} {
		daemon.mirrored(t, space)
	}
	_, err = home.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Spaces: []string{"team", "home"}, Query: "x", WaitIndexed: true})
	must(t, err)
	_, err = home.memories.Delete(t.Context(), &pb.MemoryServiceDeleteRequest{Space: "team", Ids: []string{"team3"}})
	must(t, err)
	home.mirrored(t, "team")

	for _, query := range mirroredQueries {
		for _, req := range []*pb.SearchServiceSearchRequest{
			{Spaces: []string{"team"}}, {Spaces: []string{"team", "home"}}, {Spaces: []string{"team"}, Arm: pb.SearchArm_SEARCH_ARM_KEYWORD},
			{Spaces: []string{"home", "team"}, Arm: pb.SearchArm_SEARCH_ARM_VECTOR},
			{Spaces: []string{"team"}, Filter: &pb.MemoryFilter{Categories: []string{"facts"}}},
			{Spaces: []string{"team"}, Filter: &pb.MemoryFilter{SessionIds: []string{"invoices"}}},
			{Spaces: []string{"team"}, Filter: &pb.MemoryFilter{Statuses: []pb.MemoryStatus{pb.MemoryStatus_MEMORY_STATUS_RETIRED}}},
			{Spaces: []string{"team"}, AsOf: timestamppb.New(time.Date(2026, 1, 8, 0, 0, 0, 0, time.UTC))},
		} {
			req.Query, req.NoTouch, req.Limit = query, true, 10
			want, err := home.search.Search(t.Context(), req)
			must(t, err)
			req.Mirror, req.MirrorUrl = true, address
			got, err := guest.search.Search(t.Context(), req)
			must(t, err)
			sameHits(t, req, got, want)
		}
	}

	// Without names it is all spaces, and where spaces are shared the database is known.
	all, err := home.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "what are cats allergic to", Mirror: true})
	must(t, err)
	if len(all.GetHits()) == 0 || all.GetHits()[0].GetSpace() != "home" || all.GetHits()[0].GetMemory().GetId() != "home0" ||
		all.GetHits()[0].GetMemory().GetAccessCount() != 0 || len(all.GetPositions()) > 0 {
		t.Errorf("a search of all spaces: %v", all)
	}

	_, err = home.memories.Purge(t.Context(), &pb.MemoryServicePurgeRequest{Space: "team", Ids: []string{"team0"}})
	must(t, err)
	gone, err := guest.search.Search(t.Context(), &pb.SearchServiceSearchRequest{Query: "staging server 5433", Mirror: true, MirrorUrl: address})
	must(t, err)
	if strings.Contains(gone.String(), "5433") {
		t.Errorf("a purged text is found: %v", gone)
	}
	mirrorErrors(t, pg, address, home, guest)
}

// mirrorErrors asks for what cannot be searched.
func mirrorErrors(t *testing.T, pg *postgres.Server, address string, home, guest *sharingDaemon) {
	elsewhere := pg.Database(t, "elsewhere")
	pg.Exec(t, elsewhere, "CREATE ROLE stranger LOGIN; CREATE ROLE limited LOGIN")
	stranger := strings.Replace(address, "postgres@", "stranger@", 1)
	ask := func(daemon *sharingDaemon, req *pb.SearchServiceSearchRequest) error {
		req.Query, req.Mirror = "staging server", true
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := daemon.search.Search(ctx, req)
		return err
	}
	check := func(what string, err error, code codes.Code, words string) {
		t.Helper()
		if status.Code(err) != code || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("no database", ask(guest, &pb.SearchServiceSearchRequest{}), codes.FailedPrecondition, "--with URL")
	check("an unknown space", ask(home, &pb.SearchServiceSearchRequest{Spaces: []string{"nowhere"}}), codes.FailedPrecondition,
		`space "nowhere"`)
	check("no mirror", ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: elsewhere}), codes.FailedPrecondition, "has no mirror that")
	check("no rights", ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: stranger}), codes.FailedPrecondition, "lacks rights")
	check("a profile", ask(home, &pb.SearchServiceSearchRequest{Profile: pb.RankingProfile_RANKING_PROFILE_OVERLAP}),
		codes.InvalidArgument, "profile")
	check("logs", ask(home, &pb.SearchServiceSearchRequest{IncludeLogs: true}), codes.InvalidArgument, "include_logs")
	check("nobody there", ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: "postgres://me:hunter2@127.0.0.1:1/x"}),
		codes.Unavailable, "does not answer")

	_, err := home.share.Start(t.Context(), &pbalpha.ShareServiceStartRequest{Space: "second", Url: elsewhere})
	must(t, err)
	check("two databases", ask(home, &pb.SearchServiceSearchRequest{}), codes.FailedPrecondition, "several databases")

	release := lockMirror(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, err = guest.search.Search(ctx, &pb.SearchServiceSearchRequest{Query: "staging", Mirror: true, MirrorUrl: address})
	if took := time.Since(began); status.Code(err) != codes.DeadlineExceeded || took > 5*time.Second {
		t.Errorf("a server that does not answer in time: %v after %s", err, took)
	}
	release()
	must(t, ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: address}))
	pg.Exec(t, address, "UPDATE memsidecar.mirror_maker SET identity = 'newer' WHERE name = 'terms'")
	check("another version", ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: address}), codes.FailedPrecondition, "another version")
	pg.Exec(t, address, "UPDATE memsidecar.mirror_maker SET identity = 'newer'; INSERT INTO memsidecar.mirror_migration VALUES (99)")
	check("a newer schema", ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: address}), codes.FailedPrecondition, "version 99")
	pg.Exec(t, address, "DELETE FROM memsidecar.mirror_migration WHERE version = 99")
	pg.Kill()
	check("a server that was killed", ask(guest, &pb.SearchServiceSearchRequest{MirrorUrl: address}), codes.Unavailable, "does not answer")
}

// lockMirror has everybody wait who reads the mirror, until release.
func lockMirror(t *testing.T, address string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	_, err = conn.Exec(t.Context(), "BEGIN")
	must(t, err)
	_, err = conn.Exec(t.Context(), "LOCK TABLE memsidecar.memories IN ACCESS EXCLUSIVE MODE")
	must(t, err)
	return func() { _ = conn.Close(context.Background()) }
}

// sameHits compares a search of the mirror with one of the spaces themselves.
func sameHits(t *testing.T, req *pb.SearchServiceSearchRequest, got, want *pb.SearchServiceSearchResponse) {
	t.Helper()
	line := func(h *pb.SearchHit) string {
		return fmt.Sprint(h.GetSpace(), "/", h.GetMemory().GetId(), " ", h.GetMemory().GetContent(), " ", h.GetStrength(), " ",
			math.Round(h.GetScore()*1e4)/1e4)
	}
	var a, b []string
	for _, h := range got.GetHits() {
		a = append(a, line(h))
	}
	for _, h := range want.GetHits() {
		b = append(b, line(h))
	}
	if !slices.Equal(a, b) || got.GetReason() != want.GetReason() || got.GetVectorsUsed() != want.GetVectorsUsed() {
		t.Errorf("%v:\nmirror %s %t\n%s\nhere %s %t\n%s", req, got.GetReason(), got.GetVectorsUsed(), strings.Join(a, "\n"), want.GetReason(),
			want.GetVectorsUsed(), strings.Join(b, "\n"))
	}
}

// sharingDaemon is a daemon with a new directory.
type sharingDaemon struct {
	memories pb.MemoryServiceClient
	search   pb.SearchServiceClient
	share    pbalpha.ShareServiceClient
}

// serve starts a daemon.
func serve(t *testing.T) *sharingDaemon {
	t.Helper()
	place := process.New(t, program)
	process.ServeAs(t, place.Command("daemon", "serve"))
	conn := dial(t, place)
	return &sharingDaemon{pb.NewMemoryServiceClient(conn), pb.NewSearchServiceClient(conn), pbalpha.NewShareServiceClient(conn)}
}

// mirrored waits until the mirror of a space that this daemon keeps has everything, and all vectors.
func (d *sharingDaemon) mirrored(t *testing.T, space string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		res, err := d.share.Status(t.Context(), &pbalpha.ShareServiceStatusRequest{})
		must(t, err)
		i := slices.IndexFunc(res.GetSpaces(), func(s *pbalpha.SharedSpace) bool { return s.GetSpace() == space })
		s := res.GetSpaces()[i]
		if m := s.GetMirror(); s.GetWaiting() == 0 && m.GetPosition() == s.GetPosition() && m.GetPending() == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("the mirror is not complete: %v", s)
		}
	}
}
