package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share"
)

// sharePrefix begins the methods that are about the sharing of a space, and not about what is in it.
const sharePrefix = "/memsidecar.v1alpha1.ShareService/"

// maxOpenings bounds how many spaces are created for one request, which says by a refused write that it needs them.
const maxOpenings = 4

// fleet opens the spaces that a request names before it goes on, and keeps them until it has its answer.
type fleet struct{ share *share.Service }

// OpenSpaces are the options of a server of a fleet, whose spaces are opened when they are asked for. They follow those
// of a Monitor and are followed by those of Acknowledge. Without a fleet they do nothing.
//
// A space that exists nowhere is created by the first write to it: the store refuses that write, and the request, which
// has written nothing, runs again.
func OpenSpaces(shared *share.Service) []grpc.ServerOption {
	f := &fleet{shared}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(f.unary), grpc.ChainStreamInterceptor(f.stream)}
}

// unary surrounds a call with one request and one response.
func (f *fleet) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if !f.share.Fleet() || isForeign(info.FullMethod) || strings.HasPrefix(info.FullMethod, sharePrefix) {
		return next(ctx, req)
	}
	release, err := f.share.Use(ctx, spacesNamed(req), false)
	if err != nil {
		return nil, err
	}
	defer release()
	for range maxOpenings {
		res, err := next(ctx, req)
		missing, ok := errors.AsType[*memory.NotOpenError](err)
		if !ok {
			return res, err
		}
		created, err := f.share.Use(ctx, []string{missing.Space}, true)
		if err != nil {
			return nil, err
		}
		defer created() // at most maxOpenings times
	}
	return next(ctx, req)
}

// spacesNamed lists the spaces of this node that a request names. A search of mirrors names those of the database.
func spacesNamed(req any) []string {
	if mirror, ok := req.(interface{ GetMirror() bool }); ok && mirror.GetMirror() {
		return nil
	}
	switch req := req.(type) {
	case interface{ GetSpaces() []string }:
		if names := slices.Clone(req.GetSpaces()); len(names) > 0 {
			for i := range names {
				names[i] = cmp.Or(names[i], memory.DefaultSpace)
			}
			return names
		}
		return []string{memory.DefaultSpace}
	case interface{ GetSpace() string }:
		return []string{cmp.Or(req.GetSpace(), memory.DefaultSpace)}
	}
	return nil
}

// stream surrounds a call with a stream.
func (f *fleet) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if !f.share.Fleet() || isForeign(info.FullMethod) {
		return next(srv, stream)
	}
	opening := &openingStream{ServerStream: stream, share: f.share, create: info.FullMethod == pb.AdminService_Import_FullMethodName,
		release: func() {}}
	defer func() { opening.release() }()
	return next(srv, opening)
}

// openingStream opens the spaces that its first request names.
type openingStream struct {
	grpc.ServerStream
	share   *share.Service
	create  bool
	opened  bool
	release func()
}

// RecvMsg receives a request.
func (s *openingStream) RecvMsg(message any) (err error) {
	if err := s.ServerStream.RecvMsg(message); err != nil || s.opened {
		return err
	}
	s.opened = true
	release, err := s.share.Use(s.Context(), spacesNamed(message), s.create)
	if err == nil {
		s.release = release
	}
	return err
}
