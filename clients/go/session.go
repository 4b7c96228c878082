package memsidecar

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// Session is a conversation that is recorded while it goes on and learnt from when it ends. It is not for several goroutines
// at once.
type Session struct {
	// ID is the session's, for a later process to go on with.
	ID string
	// Context is what the agent should know from the beginning, fenced as data; it stays the same for the session.
	Context string

	client *Client
	space  string
	next   int64
}

// StartSession opens a session, or goes on with the one of this id; an empty id makes a new one. Host is the agent's name.
func (c *Client) StartSession(ctx context.Context, id, host string) (*Session, error) {
	resp, err := c.Sessions.Start(ctx, &pb.SessionServiceStartRequest{
		Space: c.space, SessionId: id, Host: host, Context: &pb.ContextOptions{},
	})
	if err != nil {
		return nil, err
	}
	return &Session{
		ID: resp.GetSession().GetId(), Context: resp.GetContext(), client: c, space: resp.GetSpace(), next: resp.GetSession().GetNextSeq(),
	}, nil
}

// Append records messages durably; their sequence numbers are set here.
func (s *Session) Append(ctx context.Context, messages ...*pb.SessionMessage) error {
	for i, m := range messages {
		m.Seq = s.next + int64(i)
	}
	resp, err := s.client.Sessions.Append(ctx, &pb.SessionServiceAppendRequest{Space: s.space, SessionId: s.ID, Messages: messages})
	if err != nil {
		return err
	}
	s.next = resp.GetNextSeq()
	return nil
}

// Say records one turn of the user, the assistant or the system.
func (s *Session) Say(ctx context.Context, role, content string) error {
	return s.Append(ctx, &pb.SessionMessage{Role: role, Content: content})
}

// Recall returns what to put beside a prompt, without what this session was told already; empty when nothing fits.
func (s *Session) Recall(ctx context.Context, prompt string) (string, error) {
	return s.client.recall(ctx, prompt, s.ID)
}

// End ends the session without waiting: it is learnt from in the background, once.
func (s *Session) End(ctx context.Context) error {
	_, err := s.client.Sessions.End(ctx, &pb.SessionServiceEndRequest{Space: s.space, SessionId: s.ID, Reason: "client"})
	return err
}

// Reflect ends the session and waits until it is learnt from.
func (s *Session) Reflect(ctx context.Context) (*pb.SessionServiceReflectResponse, error) {
	return s.client.Sessions.Reflect(ctx, &pb.SessionServiceReflectRequest{Space: s.space, SessionId: s.ID})
}
