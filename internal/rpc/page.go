package rpc

import (
	"encoding/base64"
	"hash/fnv"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// maxPageBytes bounds a page, so that it fits the 4 MiB that gRPC clients accept by default.
const maxPageBytes = 3 << 20

// pageToken makes the token of the page after the item named by key. It is good for requests that equal req but for the
// page they ask for.
func pageToken(req proto.Message, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatUint(queryHash(req), 36) + " " + key))
}

// pageKey returns the key that token was made with, "" when there is no token.
func pageKey(check *memory.Check, req proto.Message, token string) string {
	if token == "" {
		return ""
	}
	data, err := base64.RawURLEncoding.DecodeString(token)
	hash, key, ok := strings.Cut(string(data), " ")
	if err != nil || !ok || hash != strconv.FormatUint(queryHash(req), 36) {
		check.Add("page_token", "INVALID_TOKEN", "is not a token that was returned for this request")
	}
	return key
}

func queryHash(req proto.Message) uint64 {
	query := proto.Clone(req)
	fields := query.ProtoReflect().Descriptor().Fields()
	for _, name := range []protoreflect.Name{"page_token", "page_size"} {
		query.ProtoReflect().Clear(fields.ByName(name))
	}
	h := fnv.New64a()
	data, _ := proto.MarshalOptions{Deterministic: true}.Marshal(query) // it was received, so it can be sent
	_, _ = h.Write(data)
	return h.Sum64()
}
