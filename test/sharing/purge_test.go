// Package sharing_test shares spaces between daemons that run as processes, through a real PostgreSQL.
package sharing_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

var program string

func TestMain(m *testing.M) { process.Main(m, &program) }

// TestPurgeAcrossDaemons: three daemons share a space; one is killed while another purges. What was purged is in no file
// of any of them, once they were in contact again.
func TestPurgeAcrossDaemons(t *testing.T) {
	const secret = "the vault opens with marzipan"
	address := postgres.Start(t).Database(t, "team")
	var places []process.Place
	var daemons []*process.Daemon
	var shares []pbalpha.ShareServiceClient
	for i := range 3 {
		places = append(places, process.New(t, program))
		daemons = append(daemons, process.ServeAs(t, places[i].Command("daemon", "serve")))
		shares = append(shares, pbalpha.NewShareServiceClient(dial(t, places[i])))
	}
	first := pb.NewMemoryServiceClient(dial(t, places[0]))
	_, err := first.Add(t.Context(), &pb.MemoryServiceAddRequest{Space: "team", Items: []*pb.NewMemory{
		{Id: "m1", Content: secret}, {Id: "m2", Content: "A quote: " + secret + "; the end"}}})
	must(t, err)
	_, err = shares[0].Start(t.Context(), &pbalpha.ShareServiceStartRequest{Space: "team", Url: address})
	must(t, err)
	for _, s := range shares[1:] {
		_, err = s.Join(t.Context(), &pbalpha.ShareServiceJoinRequest{Remote: "team", Url: address})
		must(t, err)
	}
	daemons[2].Kill()
	res, err := first.Purge(t.Context(), &pb.MemoryServicePurgeRequest{Space: "team", Ids: []string{"m1"}})
	must(t, err)
	if s := res.GetShared(); len(s) != 1 || s[0].GetPosition() == 0 || len(s[0].GetConfirmed()) != 2 || len(s[0].GetMissing()) != 1 {
		t.Fatalf("the purge says %v", s)
	}
	process.ServeAs(t, places[2].Command("daemon", "serve"))
	deadline := time.Now().Add(20 * time.Second)
	for {
		status, err := shares[0].Status(t.Context(), &pbalpha.ShareServiceStatusRequest{})
		must(t, err)
		p := status.GetSpaces()[0].GetPurges()
		if len(p) == 1 && len(p[0].GetConfirmed()) == 3 && len(p[0].GetMissing()) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the killed daemon does not confirm: %v", status)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for i, p := range places {
		must(t, filepath.WalkDir(p.Data, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(name)
			if bytes.Contains(raw, []byte(secret)) {
				t.Errorf("%s of daemon %d holds the text", filepath.Base(name), i)
			}
			return err
		}))
	}
}

// dial connects to the daemon of a place.
func dial(t *testing.T, p process.Place) *grpc.ClientConn {
	t.Helper()
	conn, err := unixsock.Dial(p.Socket)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
