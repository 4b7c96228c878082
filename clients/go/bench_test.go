package memsidecar_test

import (
	"crypto/rand"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/memsidecar/memsidecar/clients/go"
	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

// BenchmarkRemember times Remember beside the generated stub with the same request, in turn, at one daemon. The stub's
// request has a key already and is made outside the time measured, so the difference is all that the client does.
func BenchmarkRemember(b *testing.B) {
	client := connect(b)
	socket, err := exec.Command(program, "daemon", "socket").Output()
	if err != nil {
		b.Fatal(err)
	}
	path := strings.TrimSpace(string(socket))
	if !filepath.IsAbs(path) {
		b.Fatalf("the socket is %q", path)
	}
	const window = 1 << 20 // as the client's
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	stub := pb.NewMemoryServiceClient(conn)
	text := func(n int) string { return fmt.Sprintf("number %d says that the lantern of harbour %d is lit", n, n*7) }
	calls := []func(n int) time.Duration{
		func(n int) time.Duration {
			request := &pb.MemoryServiceAddRequest{IdempotencyKey: rand.Text(), Items: []*pb.NewMemory{
				{Content: text(n), Title: "a note", Tags: []string{"bench", "client"}},
			}}
			began := time.Now()
			_, err = stub.Add(b.Context(), request)
			return time.Since(began)
		},
		func(n int) time.Duration {
			content := text(n)
			began := time.Now()
			_, err = client.Remember(b.Context(), content,
				memsidecar.WithTitle("a note"), memsidecar.WithTags("bench", "client"))
			return time.Since(began)
		},
	}
	var raw, wrapped []time.Duration
	for n := 0; b.Loop(); n++ {
		first := n % 2 // each goes first as often as the other
		took := [2]time.Duration{}
		for _, which := range []int{first, 1 - first} {
			if took[which] = calls[which](2*n + which); err != nil {
				b.Fatal(err)
			}
		}
		raw, wrapped = append(raw, took[0]), append(wrapped, took[1])
	}
	b.ReportMetric(micros(raw), "stub-p50-µs")
	b.ReportMetric(micros(wrapped), "remember-p50-µs")
	b.ReportMetric(micros(wrapped)-micros(raw), "difference-µs")
}

// micros is the median in microseconds.
func micros(times []time.Duration) float64 {
	slices.Sort(times)
	return float64(times[len(times)/2].Nanoseconds()) / 1000
}
