package web

import (
	"net/http"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1" // registers the messages too
)

// servedMethods are the methods that POST /api/v1/{service}/{method} serves: those that the panel needs and that have
// no path of their own.
var servedMethods = map[string]bool{
	"MemoryService/History": true, "MemoryService/Restore": true, "MemoryService/Stats": true,
	"MemoryService/Purge": true, "MemoryService/Update": true, "MemoryService/Delete": true,
	"MemoryService/Get":         true,
	"SearchService/ListRecalls": true, "SearchService/Similar": true,
	"OperationService/List": true, "OperationService/Get": true, "OperationService/Undo": true,
	"LogService/List": true, "LogService/Get": true, "LogService/Append": true,
	"SessionService/List": true, "SessionService/Get": true, "SessionService/ListMessages": true,
	"AdminService/Info": true, "AdminService/Doctor": true, "AdminService/Check": true,
	"AdminService/Compress": true, "AdminService/Pause": true, "AdminService/Resume": true,
	"FileService/Publish": true, "FileService/ListEdits": true, "FileService/GetEdit": true,
	"FileService/ResolveEdit": true, "FileService/ListProposals": true, "FileService/GetProposal": true,
	"FileService/ResolveProposal": true,
}

// callMethod calls a method of the gRPC API with the request in the body, in protobuf's JSON form. An empty body is
// an empty request. The response has the form of package jsonout.
//
// Streams are not served here: they have paths of their own, such as GET /api/events and GET /api/export.
func (s *Server) callMethod(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	name := r.PathValue("service") + "/" + r.PathValue("method")
	// A list of what is served, not of what is not: a new method is closed until somebody opens it.
	if !servedMethods[name] {
		return &httpError{
			http.StatusNotFound, "NO_SUCH_METHOD",
			"this method is not served over HTTP; GET /api/openapi.json lists what is",
		}
	}
	in, out, err := newMessages(r.PathValue("service"), r.PathValue("method"))
	if err != nil {
		return err
	}
	data, err := readBody(r)
	if err != nil {
		return err
	}
	if data != nil {
		if err := decodeMessage(data, in); err != nil {
			return err
		}
	}
	if err := s.cfg.Conn.Invoke(r.Context(), "/memsidecar.v1."+name, in, out); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(out))
	return nil
}

// newMessages makes an empty request and an empty response of a method, which must be in servedMethods.
func newMessages(service, method string) (in, out proto.Message, err error) {
	file := pb.File_memsidecar_v1_memory_proto.Package()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(file.Append(protoreflect.Name(service)))
	if err != nil {
		return nil, nil, err
	}
	m := d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
	request, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		return nil, nil, err
	}
	response, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return nil, nil, err
	}
	return request.New().Interface(), response.New().Interface(), nil
}
