// Package rpc speaks gRPC for memsidecar: it turns requests into calls of the services and their results and errors
// into responses. It decides nothing: handlers convert, call and convert back, and every error becomes a
// status in one place.
package rpc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/reflector/summary"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/service/graph"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/service/usage"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/backup"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// Deps is what is served. All fields but Command are required.
type Deps struct {
	Store        *store.Store
	Memories     *memorysvc.Service
	Graph        *graph.Service
	Search       *search.Engine
	Logs         *logindex.Index
	Recall       *recall.Service
	Sessions     *session.Service
	Consolidator *consolidator.Service
	Archiver     *archiver.Archiver
	Purges       *purge.Service
	Edits        *reconcile.Service
	Usage        *usage.Service
	Reviews      *review.Service
	Summaries    *summary.Service
	Admin        Admin
	Backups      *backup.Source
	Transfer     *transfer.Service
	Share        *share.Service
	Stopping     <-chan struct{} // closed when the daemon begins to stop: streams that would never end do so then
	Monitor      *Monitor        // the one whose Options the server was made with
	Command      RunCommand      // nil: callers run commands themselves
}

// Register adds all services to a server. The health server returned says SERVING for "" and for each service; the
// caller changes that.
func Register(to *grpc.Server, deps Deps) *health.Server {
	server := strictRegistrar{to}
	enc, keyed := encoder{deps.Store}, newKeyedCalls(deps.Store)
	pb.RegisterMemoryServiceServer(server, &memoryServer{
		encoder: enc, memories: deps.Memories, reads: reads{deps.Store, deps.Monitor}, consolidator: deps.Consolidator,
		summaries: deps.Summaries, purges: deps.Purges, share: deps.Share, recall: deps.Recall, sessions: deps.Sessions,
		search: deps.Search,
		keyed:  keyed,
	})
	pb.RegisterSearchServiceServer(server, &searchServer{
		engine: deps.Search, logs: deps.Logs, recall: deps.Recall, memories: deps.Memories, store: deps.Store,
		share: deps.Share, now: deps.Monitor.now,
	})
	pb.RegisterSessionServiceServer(server, &sessionServer{
		encoder: enc, sessions: deps.Sessions, recall: deps.Recall, memories: deps.Memories, keyed: keyed,
	})
	pb.RegisterLogServiceServer(server, &logServer{
		encoder: enc, memories: deps.Memories, store: deps.Store, now: deps.Monitor.now,
	})
	pb.RegisterOperationServiceServer(server,
		&operationServer{encoder: enc, store: deps.Store, stopping: deps.Stopping})
	pb.RegisterFileServiceServer(server, &fileServer{
		encoder: enc, edits: deps.Edits, reviews: deps.Reviews, store: deps.Store, publish: deps.Admin.Publish,
		keyed: keyed,
	})
	pb.RegisterAdminServiceServer(server, &adminServer{
		encoder: enc, admin: deps.Admin, archiver: deps.Archiver, backups: deps.Backups, transfer: deps.Transfer,
		keyed: keyed, stopping: deps.Stopping,
	})
	pbalpha.RegisterGraphServiceServer(server, &graphServer{encoder: enc, graph: deps.Graph})
	pbalpha.RegisterTitleServiceServer(server, &titleServer{encoder: enc, memories: deps.Memories})
	pbalpha.RegisterViewServiceServer(server, &viewServer{encoder: enc, memories: deps.Memories})
	pbalpha.RegisterUsageServiceServer(server, &usageServer{usage: deps.Usage})
	pbalpha.RegisterPreviewServiceServer(server, &previewServer{recall: deps.Recall})
	pbalpha.RegisterShareServiceServer(server, &shareServer{share: deps.Share})
	pbalpha.RegisterCommandServiceServer(server, &commandServer{run: deps.Command})
	// Registered last, because it reports every service that is registered by now.
	status := health.NewServer()
	for name := range server.GetServiceInfo() {
		status.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(to, status)
	reflection.Register(to)
	return status
}
