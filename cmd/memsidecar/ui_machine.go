package main

import (
	"context"
	"os/exec"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/client/install"
	"github.com/memsidecar/memsidecar/internal/client/web"
	"github.com/memsidecar/memsidecar/internal/daemon"
)

// machine is what the panel shows of this machine.
func (a *app) machine(cfg daemon.Config) (web.Machine, error) {
	in, err := a.instance(cfg)
	if err != nil {
		return web.Machine{}, err
	}
	out := web.Machine{Hosts: a.webHosts, LogFile: in.logFile()}
	for _, s := range cfg.Settings() {
		out.Settings = append(out.Settings, web.Setting{Name: s.Key, Value: s.Value, Origin: s.Origin})
	}
	return out, nil
}

// webHosts returns all hosts that are known, and what is registered in their configurations.
func (a *app) webHosts(context.Context) ([]web.Host, error) {
	states, err := a.hookStates()
	if err != nil {
		return nil, err
	}
	env, err := a.installEnv()
	if err != nil {
		return nil, err
	}
	var out []web.Host
	for _, h := range hook.Hosts() {
		one := web.Host{
			Name: h.Name, Title: h.Title, Present: install.Present(h, env, exec.LookPath),
			Command: "memsidecar install " + h.Name,
		}
		if b, ok := h.Binding(hook.Prompt); ok {
			one.Prompt = b.PassesOn
		}
		if b, ok := h.Binding(hook.SessionStart); ok {
			one.Start = b.PassesOn
		}
		for _, s := range states {
			if s.target.Host.Name == h.Name {
				one.Parts = append(one.Parts, s.webPart())
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// webPart is the state for the panel.
func (s *hookState) webPart() web.HostPart {
	out := web.HostPart{
		Part: s.event(), Path: s.target.Path, Scope: string(s.target.Scope), Registered: s.times, Problem: s.problem,
		Trust: string(s.trust), Outcome: s.outcome, GaveUp: s.gaveUp,
	}
	if s.err != nil {
		out.Problem = s.err.Error()
	}
	if s.elsewhere {
		out.Path, out.Scope = "", "elsewhere"
	}
	if !s.last.IsZero() {
		out.LastCalled = &s.last
	}
	return out
}
