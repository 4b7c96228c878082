package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
)

// languageNames names the languages of a context; "" leaves the choice to the service.
var languageNames = map[pb.Language]string{
	pb.Language_LANGUAGE_UNSPECIFIED: "",
	pb.Language_LANGUAGE_EN:          "en",
	pb.Language_LANGUAGE_ZH:          "zh",
}

// startFromProto converts a request to open a session. spaces are those of its context.
func (s *sessionServer) startFromProto(req *pb.SessionServiceStartRequest) (in session.StartRequest, spaces []string,
	err error) {
	var check memory.Check
	in = session.StartRequest{
		Space: req.GetSpace(), ID: req.GetSessionId(), Host: req.GetHost(), Cwd: req.GetCwd(),
		Key:     req.GetIdempotencyKey(),
		HostPID: int(req.GetHostPid()), HostStarted: timeFromProto(&check, "host_started_at", req.GetHostStartedAt()),
	}
	root, project := recall.ProjectOf(req.GetCwd())
	switch {
	case !req.GetProjectSpace():
		in.Space = spaceOf(&check, req.GetSpace())
		spaces = []string{in.Space}
	// A project's session writes to the project's space and reads the default one too.
	case req.GetSpace() != "":
		check.Add("project_space", "CONFLICT", "cannot be given together with space")
	case project == "":
		check.Add("cwd", "REQUIRED", "must be an absolute path when project_space is given")
	default:
		in.Space, spaces = project, []string{memory.DefaultSpace, project}
	}
	options := req.GetContext()
	if _, ok := pb.ContextForm_name[int32(options.GetForm())]; !ok {
		check.Add("context.form", "UNKNOWN_VALUE", "is not a form")
	}
	if _, ok := languageNames[options.GetLanguage()]; !ok {
		check.Add("context.language", "UNKNOWN_VALUE", "is not a language")
	}
	if options != nil {
		// The service calls this only for a new session: a repeated start gets the context that was frozen first.
		in.Context = func(ctx context.Context) (string, error) {
			return s.recall.Context(ctx, recall.ContextRequest{
				Spaces: spaces, Tokens: int(
					options.GetTokenBudget()), Index: options.GetForm() == pb.ContextForm_CONTEXT_FORM_INDEX,
				Language: languageNames[options.GetLanguage()], FirstMessage: req.GetFirstMessage(), Root: root,
				Dir:          req.GetCwd(),
				Instructions: options.GetInstructions(), Bootstrap: options.GetBootstrap(), Tools: options.GetTools(),
			})
		}
	}
	return in, spaces, check.Err()
}

// Start opens a session, with a context and a recall when they are requested. A paused daemon still opens sessions.
// Durable on return.
func (s *sessionServer) Start(ctx context.Context, req *pb.SessionServiceStartRequest) (*pb.SessionServiceStartResponse,
	error) {
	in, spaces, err := s.startFromProto(req)
	if err != nil {
		return nil, err
	}
	started, err := s.sessions.Start(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &pb.SessionServiceStartResponse{
		Result: s.result(started.Result), Session: s.session(
			started.Session), Space: in.Space, Context: started.Context, ContextRepeated: started.Repeated &&
			in.Context != nil,
	}
	if in.Context != nil {
		s.recall.ContextShown(started.ID, spaces, started.Context)
		// Working memory changes within a session, so it is not part of the frozen context.
		if out.WorkingBlock, err = s.recall.Working(in.Space, started.ID); err != nil {
			return nil, err
		}
	}
	if req.GetFirstMessage() != "" {
		res, err := s.recall.Recall(ctx, recall.Request{Text: req.GetFirstMessage(), Session: started.ID,
			Spaces: spaces})
		if err != nil {
			return nil, err
		}
		out.Recall = recallToProto(res)
	}
	return out, nil
}
