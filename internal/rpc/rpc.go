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
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/chronicle"
	"github.com/memsidecar/memsidecar/internal/consolidator"
	"github.com/memsidecar/memsidecar/internal/digest"
	"github.com/memsidecar/memsidecar/internal/edit"
	"github.com/memsidecar/memsidecar/internal/figures"
	"github.com/memsidecar/memsidecar/internal/graph"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/purge"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/review"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/session"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/transfer"
)

// Deps is what is served. All fields are required.
type Deps struct {
	Store        *store.Store
	Memories     *memories.Service
	Graph        *graph.Service
	Search       *search.Engine
	Logs         *chronicle.Finder
	Recall       *recall.Service
	Sessions     *session.Service
	Consolidator *consolidator.Service
	Archiver     *archiver.Archiver
	Purges       *purge.Service
	Edits        *edit.Service
	Figures      *figures.Service
	Reviews      *review.Service
	Digest       *digest.Service
	Admin        Admin
	Backups      *backup.Source
	Transfer     *transfer.Service
	Stopping     <-chan struct{} // closed when the daemon begins to stop: streams that would never end do so then
	Monitor      *Monitor        // the one whose Options the server was made with
}

// Register adds all services to a server. The health server returned says SERVING for "" and for each service; the caller changes that.
func Register(server *grpc.Server, deps Deps) *health.Server {
	pb.RegisterMemoryServiceServer(server, &memoryServer{
		memories: deps.Memories, reads: reads{deps.Store, deps.Monitor}, consolidator: deps.Consolidator, purges: deps.Purges, recall: deps.Recall,
		sessions: deps.Sessions, search: deps.Search,
	})
	pb.RegisterSearchServiceServer(server, &searchServer{engine: deps.Search, logs: deps.Logs, recall: deps.Recall, store: deps.Store, now: deps.Monitor.now})
	pb.RegisterSessionServiceServer(server, &sessionServer{sessions: deps.Sessions, recall: deps.Recall})
	pb.RegisterWorkingMemoryServiceServer(server, &workingServer{sessions: deps.Sessions, recall: deps.Recall})
	pb.RegisterProcedureServiceServer(server, &procedureServer{recall: deps.Recall, memories: deps.Memories})
	pb.RegisterLogServiceServer(server, &logServer{memories: deps.Memories, store: deps.Store, now: deps.Monitor.now})
	pb.RegisterOperationServiceServer(server, &operationServer{store: deps.Store, stopping: deps.Stopping})
	pb.RegisterAdminServiceServer(server, &adminServer{
		admin: deps.Admin, archiver: deps.Archiver, backups: deps.Backups, transfer: deps.Transfer, edits: deps.Edits, stopping: deps.Stopping,
	})
	pb.RegisterGraphServiceServer(server, &graphServer{graph: deps.Graph})
	pb.RegisterTitleServiceServer(server, &titleServer{memories: deps.Memories})
	pb.RegisterReviewServiceServer(server, &reviewServer{reviews: deps.Reviews, store: deps.Store})
	pb.RegisterLearningServiceServer(server, &learningServer{consolidator: deps.Consolidator, digest: deps.Digest})
	pb.RegisterViewServiceServer(server, &viewServer{memories: deps.Memories})
	pb.RegisterFigureServiceServer(server, &figureServer{figures: deps.Figures})
	pb.RegisterFileServiceServer(server, &fileServer{edits: deps.Edits})
	status := health.NewServer()
	for name := range server.GetServiceInfo() {
		status.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	healthpb.RegisterHealthServer(server, status)
	reflection.Register(server)
	return status
}
