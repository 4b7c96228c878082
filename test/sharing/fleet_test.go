package sharing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// longTests is the variable that has the test run for ten minutes, with a SIGKILL every 30 seconds.
const longTests = "MEMSIDECAR_TEST_SHARE_LONG"

// Size of TestFleet.
const (
	fleetNodes   = 3
	fleetClients = 6
	fleetSpaces  = 40
)

// fleetNode is a daemon of a fleet that is killed and started again.
type fleetNode struct {
	place   process.Place
	command func() *exec.Cmd
	client  pb.MemoryServiceClient
	daemon  *process.Daemon
}

// TestFleet kills nodes of a fleet under load. Clients repeat what fails with UNAVAILABLE at another node; no other error
// may come, and everything acknowledged is at every node in the end.
func TestFleet(t *testing.T) {
	address := postgres.Start(t).Database(t, "fleet")
	lasts, pause := 8*time.Second, time.Second
	if os.Getenv(longTests) != "" {
		lasts, pause = 10*time.Minute, 30*time.Second
	}
	var nodes []*fleetNode
	for range fleetNodes {
		n := &fleetNode{place: process.New(t, program)}
		n.command = func() *exec.Cmd {
			return n.place.Command("serve", "--fleet", address, "--fleet-idle", "2s", "--set", "embeddings_inside=false")
		}
		n.daemon = process.ServeAs(t, n.command())
		n.client = pb.NewMemoryServiceClient(dial(t, n.place))
		nodes = append(nodes, n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var group sync.WaitGroup
	acknowledged := make([][][2]string, fleetClients)
	var repeated atomic.Int64
	for c := range fleetClients {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				space, id := fmt.Sprint("user-", rand.IntN(fleetSpaces)), fmt.Sprintf("c%dn%d", c, i)
				n, err := addAnywhere(t.Context(), nodes, space, id)
				repeated.Add(int64(n))
				if err != nil {
					t.Errorf("add %s to %s: %v", id, space, err)
					return
				}
				acknowledged[c] = append(acknowledged[c], [2]string{space, id})
			}
		})
	}
	kills := 0
	for i := 0; ctx.Err() == nil; i++ {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			n := nodes[i%fleetNodes]
			n.daemon.Kill()
			n.daemon = process.ServeAs(t, n.command())
			kills++
		}
	}
	group.Wait()
	count := 0
	for _, list := range acknowledged {
		count += len(list)
	}
	for i, n := range nodes {
		if lost := n.lacks(t, acknowledged); len(lost) > 0 {
			t.Errorf("node %d lacks %d of %d acknowledged memories: %v", i, len(lost), count, lost[:min(len(lost), 5)])
		}
	}
	if kills == 0 || count == 0 {
		t.Errorf("%d kills, %d memories", kills, count)
	}
	t.Logf("%d SIGKILLs, %d adds acknowledged, 0 lost, %d calls repeated because of UNAVAILABLE", kills, count, repeated.Load())
}

// addAnywhere adds a memory as a client of a fleet does, and returns how often it had to repeat the call.
func addAnywhere(ctx context.Context, nodes []*fleetNode, space, id string) (repeated int, err error) {
	req := &pb.MemoryServiceAddRequest{Space: space, Items: []*pb.NewMemory{{Id: id, Content: "this is " + id}}}
	for ; repeated < 200; repeated++ {
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		_, err = nodes[rand.IntN(len(nodes))].client.Add(call, req)
		cancel()
		switch status.Code(err) {
		case codes.OK:
			return repeated, nil
		case codes.AlreadyExists:
			if repeated > 0 { // the call before was done, and its reply lost
				return repeated, nil
			}
			return repeated, err
		case codes.Unavailable:
			time.Sleep(20 * time.Millisecond)
		default:
			return repeated, err
		}
	}
	return repeated, err
}

// lacks names the memories that a node does not have.
func (n *fleetNode) lacks(t *testing.T, acknowledged [][][2]string) (lost []string) {
	t.Helper()
	bySpace := map[string][]string{}
	for _, list := range acknowledged {
		for _, a := range list {
			bySpace[a[0]] = append(bySpace[a[0]], a[1])
		}
	}
	for space, ids := range bySpace {
		var missing []string
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			missing = nil
			for len(missing) == 0 {
				some := ids[:min(len(ids), 200)]
				res, err := n.client.Get(t.Context(), &pb.MemoryServiceGetRequest{Space: space, Ids: some})
				if status.Code(err) == codes.Unavailable { // the connection is one of before the last kill
					missing = some
					break
				}
				must(t, err)
				missing = res.GetMissingIds()
				if len(some) == len(ids) {
					break
				}
				ids = ids[len(some):]
			}
			if len(missing) == 0 || time.Now().After(deadline) {
				break
			}
		}
		for _, id := range missing {
			lost = append(lost, space+"/"+id)
		}
	}
	return lost
}
