// Command sqlite is what a good engineer would write in an afternoon instead of memsidecar: SQLite with FTS5, durable
// at each write, behind the same gRPC calls on a Unix socket. bench compares with it. It is a module of its own, so
// that the program does not depend on SQLite.
//
//	sqlite SOCKET FILE
//
// It serves until standard input is closed.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	_ "modernc.org/sqlite"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sqlite:", err)
		os.Exit(1)
	}
}

// run serves a database on a socket.
func run(socket, file string) error {
	db, err := sql.Open("sqlite", file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("CREATE VIRTUAL TABLE memories USING fts5(content, category UNINDEXED, salience UNINDEXED)")
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20))
	pb.RegisterMemoryServiceServer(s, &memories{db: db})
	pb.RegisterSearchServiceServer(s, &searches{db: db})
	healthgrpc.RegisterHealthServer(s, health.NewServer())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	return s.Serve(l)
}

// memories adds memories.
type memories struct {
	pb.UnimplementedMemoryServiceServer
	db *sql.DB
	mu sync.Mutex // SQLite has one writer; waiting here costs less than its busy handler
}

// Add stores the items of a request in one transaction.
func (m *memories) Add(ctx context.Context, req *pb.MemoryServiceAddRequest) (*pb.MemoryServiceAddResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	insert, err := tx.PrepareContext(ctx, "INSERT INTO memories (content, category, salience) VALUES (?, ?, ?)")
	if err != nil {
		return nil, err
	}
	res := &pb.WriteResult{}
	for _, it := range req.GetItems() {
		r, err := insert.ExecContext(ctx, it.GetContent(), it.GetCategory(), it.GetSalience())
		if err != nil {
			return nil, err
		}
		id, err := r.LastInsertId()
		if err != nil {
			return nil, err
		}
		res.Outcomes = append(res.Outcomes,
			&pb.Outcome{Id: fmt.Sprint(id), Status: pb.OutcomeStatus_OUTCOME_STATUS_APPLIED})
	}
	return &pb.MemoryServiceAddResponse{Result: res}, tx.Commit()
}

// searches searches by words.
type searches struct {
	pb.UnimplementedSearchServiceServer
	db *sql.DB
}

// Search returns the memories that hold any of the words, best first.
func (s *searches) Search(ctx context.Context, req *pb.SearchServiceSearchRequest) (*pb.SearchServiceSearchResponse,
	error) {
	words := strings.Fields(strings.ReplaceAll(req.GetQuery(), `"`, " "))
	match := `"` + strings.Join(words, `" OR "`) + `"`
	rows, err := s.db.QueryContext(ctx, "SELECT rowid, content, category, salience, bm25(memories) FROM memories "+
		"WHERE memories MATCH ? ORDER BY bm25(memories) LIMIT ?", match, req.GetLimit())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	res := &pb.SearchServiceSearchResponse{}
	for rows.Next() {
		m, hit := &pb.Memory{}, &pb.SearchHit{}
		if err := rows.Scan(&m.Id, &m.Content, &m.Category, &m.Salience, &hit.Score); err != nil {
			return nil, err
		}
		hit.Memory = m
		res.Hits = append(res.Hits, hit)
	}
	return res, rows.Err()
}
