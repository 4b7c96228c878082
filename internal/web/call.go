package web

import (
	"net/http"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1" // registers the messages too
)

// callable are the methods that POST /api/v1/{service}/{method} reaches, which are what the panel needs beyond the paths of their own.
var callable = map[string]bool{
	"MemoryService/History": true, "MemoryService/Restore": true, "MemoryService/Stats": true, "MemoryService/Purge": true, "MemoryService/Update": true,
	"SearchService/ListRecalls": true, "SearchService/Similar": true,
	"OperationService/List": true, "OperationService/Get": true, "OperationService/Undo": true,
	"LogService/List": true, "LogService/Get": true, "LogService/Append": true,
	"SessionService/List": true, "SessionService/Get": true,
	"AdminService/Info": true, "AdminService/Doctor": true, "AdminService/Check": true, "AdminService/Checkpoint": true,
	"ReviewService/List": true, "ReviewService/Get": true, "ReviewService/Resolve": true, "AdminService/Compress": true,
	"AdminService/ListEdits": true, "AdminService/GetEdit": true, "AdminService/ResolveEdit": true, "AdminService/Pause": true, "AdminService/Resume": true,
}

// call passes a request of the gRPC API on: its JSON form in, the answer out.
func (s *Server) call(w http.ResponseWriter, r *http.Request) error {
	if q := queryOf(r); q.err != nil {
		return q.err
	}
	name := r.PathValue("service") + "/" + r.PathValue("method")
	if !callable[name] {
		return &problem{http.StatusNotFound, "NO_SUCH_METHOD", "this method is not served over HTTP; GET /api/openapi.json lists what is"}
	}
	in, out, err := messagesOf(r.PathValue("service"), r.PathValue("method"))
	if err != nil {
		return err
	}
	data, err := bodyOf(r)
	if err != nil {
		return err
	}
	if data != nil {
		if err := message(data, in); err != nil {
			return err
		}
	}
	if err := s.cfg.Conn.Invoke(r.Context(), "/memsidecar.v1."+name, in, out); err != nil {
		return err
	}
	reply(w, http.StatusOK, plain(out))
	return nil
}

// messagesOf makes the messages of a method, both empty.
func messagesOf(service, method string) (in, out proto.Message, err error) {
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
