package rpc

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/session"
)

// reasonHostPaused is why a recall for a paused host is empty.
const reasonHostPaused = "HOST_PAUSED"

// adminPrefix begins the methods that a paused host may call: they look after the daemon and show no memory but to the
// person who owns all of them.
const adminPrefix = "/memsidecar.v1.AdminService/"

// pausedHosts refuses the calls of paused hosts before anything is read or written for them.
type pausedHosts struct {
	paused   func(host string) bool
	sessions *session.Service
}

// RefusePaused are the options of a server that refuses the calls of paused hosts: with memory.ErrHostPaused, and
// recalls and hints with an empty response that gives the reason. They follow those of a Monitor.
//
// A host is known by the metadata memory.HostKey, with which it can call nothing but AdminService; by the host of the
// request; or by the session of the request. Only what agents do is refused by a session: people look at it all the
// same.
func RefusePaused(paused func(host string) bool, sessions *session.Service) []grpc.ServerOption {
	p := &pausedHosts{paused: paused, sessions: sessions}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(p.unary), grpc.ChainStreamInterceptor(p.stream)}
}

// unary surrounds a call with one request and one response.
func (p *pausedHosts) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any,
	error) {
	host := p.pausedHost(ctx, info.FullMethod, req)
	if host == "" {
		return next(ctx, req)
	}
	switch req.(type) {
	case *pb.SearchServiceRecallRequest:
		return &pb.SearchServiceRecallResponse{Reason: reasonHostPaused}, nil
	case *pb.SearchServiceHintRequest:
		return &pb.SearchServiceHintResponse{Reason: reasonHostPaused}, nil
	}
	return nil, hostPaused(host)
}

// stream surrounds a call with a stream.
func (p *pausedHosts) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) error {
	if host := p.pausedHost(stream.Context(), info.FullMethod, nil); host != "" {
		return hostPaused(host)
	}
	return next(srv, stream)
}

// hostPaused is the error of a call by a paused host.
func hostPaused(host string) error {
	return fmt.Errorf("%w: %q; nothing from it is recorded, and it gets no memories", memory.ErrHostPaused, host)
}

// pausedHost is the paused host that makes a call, "" if it is not paused or not known.
func (p *pausedHosts) pausedHost(ctx context.Context, method string, req any) string {
	if isForeign(method) || strings.HasPrefix(method, adminPrefix) {
		return ""
	}
	for _, escaped := range metadata.ValueFromIncomingContext(ctx, memory.HostKey) {
		name, err := url.PathUnescape(escaped)
		if err != nil {
			name = escaped
		}
		if p.paused(name) {
			return name
		}
	}
	if name := p.hostOf(req); name != "" && p.paused(name) {
		return name
	}
	return ""
}

// hostOf is the host that a request of an agent is about, "" if it is not known.
func (p *pausedHosts) hostOf(req any) string {
	switch r := req.(type) {
	case *pb.SessionServiceStartRequest:
		return cmp.Or(r.GetHost(), p.hostOfSession(r.GetSessionId(), r.GetSpace()))
	case *pb.SessionServiceReflectRequest:
		if len(r.GetMessages()) == 0 {
			return "" // a person may learn from what was recorded before
		}
		return cmp.Or(r.GetHost(), p.hostOfSession(r.GetSessionId(), r.GetSpace()))
	case *pb.SessionServiceAppendRequest:
		return p.hostOfSession(r.GetSessionId(), r.GetSpace())
	case *pb.SessionServiceUpdateWorkingMemoryRequest:
		return p.hostOfSession(r.GetSessionId(), r.GetSpace())
	case *pb.SearchServiceRecallRequest:
		return p.hostOfSession(r.GetSessionId(), r.GetSpaces()...)
	case *pb.SearchServiceHintRequest:
		return p.hostOfSession(r.GetSessionId(), r.GetSpaces()...)
	}
	return ""
}

// hostOfSession is the host of a session in one of the spaces, "" if it is not known. No space is the default space.
func (p *pausedHosts) hostOfSession(id string, spaces ...string) string {
	if id == "" {
		return ""
	}
	if len(spaces) == 0 {
		spaces = []string{memory.DefaultSpace}
	}
	for _, space := range spaces {
		header, err := p.sessions.Get(cmp.Or(space, memory.DefaultSpace), id)
		if err == nil && header.Host != "" {
			return header.Host
		}
	}
	return ""
}
