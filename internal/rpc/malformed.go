package rpc

import (
	"bytes"
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// strictRegistrar registers services whose methods answer a request that is no protobuf message with INVALID_ARGUMENT.
// grpc decodes it inside of the generated handler, before any interceptor, and calls what fails there an internal error
// of the server, which it is not; so the codec lets it through, marked.
type strictRegistrar struct{ *grpc.Server }

// RegisterService registers a copy of the description with handlers that decode in that way.
func (s strictRegistrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	strict := *desc
	strict.Methods = make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		strict.Methods[i] = grpc.MethodDesc{MethodName: m.MethodName, Handler: strictHandler(m.Handler)}
	}
	strict.Streams = make([]grpc.StreamDesc, len(desc.Streams))
	for i, m := range desc.Streams {
		next := m.Handler
		m.Handler = func(srv any, stream grpc.ServerStream) error { return next(srv, strictStream{stream}) }
		strict.Streams[i] = m
	}
	s.Server.RegisterService(&strict, impl)
}

// strictHandler decodes for a generated handler.
func strictHandler(next grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		return next(srv, ctx, func(message any) error {
			err := malformed(message, decode(message))
			if invalid, ok := errors.AsType[*memory.InvalidError](err); ok {
				return toStatus(invalid, "").Err() // no interceptor translates it
			}
			return err
		}, interceptor)
	}
}

// strictStream decodes the messages of a stream.
type strictStream struct{ grpc.ServerStream }

func (s strictStream) RecvMsg(message any) error {
	return malformed(message, s.ServerStream.RecvMsg(message))
}

// malformed returns err, or the violation of a message that the codec has marked.
func malformed(message any, err error) error {
	m, ok := message.(proto.Message)
	if err != nil || !ok || !bytes.Equal(m.ProtoReflect().GetUnknown(), malformedMark) {
		return err
	}
	return &memory.InvalidError{Violations: []memory.Violation{{Field: "request", Reason: "INVALID_MESSAGE",
		Detail: "not a protobuf message of this method"}}}
}

// malformedMark is an unknown field, of the highest number there is, that stands for what could not be decoded. A
// client that sends it gets the same answer.
var malformedMark = protowire.AppendVarint(protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.VarintType), 1)

// lenientCodec is grpc's codec for protobuf, except that it marks a message that cannot be decoded.
type lenientCodec struct{ encoding.CodecV2 }

// newLenientCodec returns the codec for a server whose services a strictRegistrar registered.
func newLenientCodec() lenientCodec { return lenientCodec{encoding.GetCodecV2("proto")} }

func (c lenientCodec) Unmarshal(data mem.BufferSlice, v any) error {
	err := c.CodecV2.Unmarshal(data, v)
	if m, ok := v.(proto.Message); ok && err != nil {
		proto.Reset(m)
		m.ProtoReflect().SetUnknown(malformedMark)
		return nil
	}
	return err
}
