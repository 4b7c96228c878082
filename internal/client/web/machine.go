package web

import (
	"context"
	"net/http"
	"time"

	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// Machine is what the panel shows of this machine beside the store. The zero value is valid: nothing is known.
type Machine struct {
	// Hosts looks at the configuration of the host programs; nil finds none. It may start the registered programs to
	// ask who they are, which takes seconds when one hangs.
	Hosts    func(ctx context.Context) ([]Host, error)
	LogFile  string // log of a daemon in the background; "" if it is not known
	Settings []Setting
}

// Host is a program that runs agents, and how it is connected.
type Host struct {
	Name    string `json:"name"`    // as in "memsidecar install NAME"
	Title   string `json:"title"`   // for people
	Present bool   `json:"present"` // found on this machine
	Command string `json:"command"` // connects it
	// Prompt and Start say whether the agent gets memories with each prompt, and the context at the start of a session.
	Prompt bool       `json:"told_with_prompt"`
	Start  bool       `json:"told_at_start"`
	Parts  []HostPart `json:"parts"` // what is registered; empty when nothing is
}

// HostPart is an event of a host that calls us, or another part of the installation, in one configuration file.
type HostPart struct {
	Part       string     `json:"part"`    // name of the event, or mcp or instructions
	Path       string     `json:"path"`    // configuration file; "" if it is registered by a plugin or in another project
	Scope      string     `json:"scope"`   // user or project
	Registered int        `json:"times"`   // how many times it is registered
	Problem    string     `json:"problem"` // what is wrong; "" for nothing
	Trust      string     `json:"trust"`   // trusted, untrusted, changed or disabled; "" if the host asks for no review
	LastCalled *time.Time `json:"last_called,omitempty"`
	Outcome    string     `json:"outcome"` // of the last call: ok, or the error
	GaveUp     int64      `json:"gave_up"` // calls that ended at their time limit, so that the agent got nothing
}

// Setting is a setting of the daemon in effect.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// listHosts serves GET hosts.
func (s *Server) listHosts(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	hosts := []Host{}
	if find := s.cfg.Machine.Hosts; find != nil {
		found, err := find(r.Context())
		if err != nil {
			return &httpError{http.StatusConflict, "HOSTS_UNREADABLE", "the hosts cannot be looked at: " + err.Error()}
		}
		hosts = append(hosts, found...)
	}
	for i := range hosts {
		if hosts[i].Parts == nil {
			hosts[i].Parts = []HostPart{}
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"hosts": hosts})
	return nil
}

// listSettings serves GET settings: the settings in effect, without secrets, and where the log is.
func (s *Server) listSettings(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	settings := append([]Setting{}, s.cfg.Machine.Settings...)
	writeJSON(w, http.StatusOK, map[string]any{"log_file": s.cfg.Machine.LogFile, "settings": settings})
	return nil
}

// previewRecall serves POST recall-preview. It has its own path because PreviewService is part of memsidecar.v1alpha1.
func (s *Server) previewRecall(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	data, err := readBody(r)
	if err != nil {
		return err
	}
	req := &pbalpha.PreviewServiceRecallRequest{}
	if err := decodeMessage(data, req); err != nil {
		return err
	}
	res, err := s.previews.Recall(r.Context(), req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, messageJSON(res))
	return nil
}
