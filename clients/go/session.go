package memsidecar

import (
	"context"
	"strings"

	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

// Session records a conversation. When it ends, the daemon learns from it. It is not safe for concurrent use.
type Session struct {
	// ID is the session's id, with which another process can continue it.
	ID string
	// Context is what the agent should know at the start, fenced as data; it stays the same for the session.
	Context string

	client *Client
	space  string
	next   int64
}

// StartSession starts a session, or continues the one with this id; an empty id makes a new one. Host is the agent's
// name.
func (c *Client) StartSession(ctx context.Context, id, host string) (*Session, error) {
	resp, err := c.Sessions.Start(ctx, &pb.SessionServiceStartRequest{
		Space: c.space, SessionId: id, Host: host, Context: &pb.ContextOptions{},
	})
	if err != nil {
		return nil, err
	}
	return &Session{
		ID: resp.GetSession().
			GetId(),
		Context: resp.GetContext(), client: c, space: resp.GetSpace(), next: resp.GetSession().GetNextSeq(),
	}, nil
}

// Append records messages durably. It sets their sequence numbers, so a retry records nothing twice.
func (s *Session) Append(ctx context.Context, messages ...*pb.SessionMessage) error {
	for i, m := range messages {
		m.Seq = s.next + int64(i)
	}
	resp, err := s.client.Sessions.Append(
		ctx, &pb.SessionServiceAppendRequest{Space: s.space, SessionId: s.ID, Messages: messages},
	)
	if err != nil {
		return err
	}
	s.next = resp.GetNextSeq()
	return nil
}

// Say records a turn. The role is "user", "assistant", "system" or "tool".
func (s *Session) Say(ctx context.Context, role, content string) error {
	number := pb.Role_value["ROLE_"+strings.ToUpper(role)] // 0 for an unknown role, which the daemon rejects
	return s.Append(ctx, &pb.SessionMessage{Role: pb.Role(number), Content: content})
}

// Recall returns memories to add to a prompt, fenced as data, without those that this session has already got; "" if
// none is relevant.
func (s *Session) Recall(ctx context.Context, prompt string) (string, error) {
	return s.client.recall(ctx, prompt, s.ID)
}

// End ends the session. The daemon learns from it in the background, once.
func (s *Session) End(ctx context.Context) error {
	_, err := s.client.Sessions.End(
		ctx, &pb.SessionServiceEndRequest{Space: s.space, SessionId: s.ID, EndReason: "client"},
	)
	return err
}

// Reflect ends the session and waits until the daemon has learned from it.
func (s *Session) Reflect(ctx context.Context) (*pb.SessionServiceReflectResponse, error) {
	return s.client.Sessions.Reflect(ctx, &pb.SessionServiceReflectRequest{Space: s.space, SessionId: s.ID})
}
