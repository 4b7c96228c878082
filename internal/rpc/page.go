package rpc

import (
	"cmp"
	"encoding/base64"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// maxPageBytes bounds the lists of a response, so that it fits the 4 MiB that gRPC clients accept by default.
const maxPageBytes = 3 << 20

// pagedRequest is a request for one page of a list.
type pagedRequest interface {
	proto.Message
	GetPageSize() int32
	GetPageToken() string
}

// paging is the position and size of a page.
type paging struct {
	req  pagedRequest
	size int
	// key is the last item of the page before, as key returned it: "" for the first page.
	key string
}

// pagingOf checks the paging fields of a request. standard is the page size of a request that names none.
func pagingOf(check *memory.Check, req pagedRequest, standard int) paging {
	if n := req.GetPageSize(); n < 0 || n > memory.MaxPage {
		check.Add("page_size", "OUT_OF_RANGE", "must be 1 to %d", memory.MaxPage)
	}
	p := paging{req: req, size: cmp.Or(int(req.GetPageSize()), standard)}
	if token := req.GetPageToken(); token != "" {
		data, err := base64.RawURLEncoding.DecodeString(token)
		hash, key, ok := strings.Cut(string(data), " ")
		if err != nil || !ok || key == "" || hash != strconv.FormatUint(queryHash(req), 36) {
			check.Add(invalidToken.Field, invalidToken.Reason, "%s", invalidToken.Detail)
		}
		p.key = key
	}
	return p
}

// invalidToken is the violation of a page token that this daemon did not make for the request.
var invalidToken = memory.Violation{
	Field: "page_token", Reason: "INVALID_TOKEN", Detail: "is not a token that was returned for this request",
}

// first reports whether the request is for the first page.
func (p paging) first() bool { return p.key == "" }

// token is that of the page after the item with a key. It is valid for requests that differ only in page_size and
// page_token.
func (p paging) token(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatUint(queryHash(p.req), 36) + " " + key))
}

// queryHash identifies a request without the fields that differ between its pages.
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

// pageOf returns one page of a list. It begins behind the last item of the page before, by its id, or where that item
// was when the list does not hold it any more. Without id, an item is known by its place: for lists that never change.
func pageOf[T any, M proto.Message](p paging, all []T, id func(T) string, convert func(T) M) (page []M, next string) {
	start := 0
	if !p.first() {
		at, last, _ := strings.Cut(p.key, " ")
		// The list may have changed between two pages. The id finds the place again; the index is for an item that
		// was removed.
		index, _ := strconv.Atoi(at)
		start = min(max(index, 0), len(all))
		if i := slices.IndexFunc(all, func(item T) bool { return id != nil && id(item) == last }); i >= 0 {
			start = i + 1
		}
	}
	bytes := 0
	for i, item := range all[start:] {
		one := convert(item)
		if bytes += proto.Size(one); i == p.size || i > 0 && bytes > maxPageBytes {
			key := strconv.Itoa(start + i)
			if id != nil {
				key += " " + id(all[start+i-1])
			}
			return page, p.token(key)
		}
		page = append(page, one)
	}
	return page, ""
}

// byteBudget bounds what a response that has no pages holds.
type byteBudget int

// newBudget returns the budget of one response.
func newBudget() *byteBudget { return new(byteBudget(maxPageBytes)) }

// fit returns the first messages that fit the rest of the budget, and how many do not.
func fit[M proto.Message](b *byteBudget, all []M) (kept []M, omitted int32) {
	for i, one := range all {
		size := proto.Size(one)
		if byteBudget(size) > *b {
			return all[:i], int32(len(all) - i)
		}
		*b -= byteBudget(size)
	}
	return all, 0
}
