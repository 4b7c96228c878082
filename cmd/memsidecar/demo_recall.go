package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// stepContext opens another session and shows what its agent is told, twice.
func (d *demo) stepContext(ctx context.Context) (string, error) {
	req := &pb.SessionServiceStartRequest{SessionId: d.session + "-next", Context: &pb.ContextOptions{MaxTokens: 400, Language: "en"}}
	first, err := d.c.session.Start(ctx, req)
	if err != nil {
		return "", err
	}
	if _, err := d.c.memory.Add(ctx, &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{{Content: "Was told after the session had begun"}}}); err != nil {
		return "", err
	}
	second, err := d.c.session.Start(ctx, req)
	if err != nil {
		return "", err
	}
	if first.GetContext() != second.GetContext() || !strings.Contains(first.GetContext(), "# USER MEMORY") {
		return "", errors.New("the context of a session has changed or says nothing")
	}
	return "the same byte for byte whenever it is asked for" + shown(first.GetContext(), 9), nil
}

// stepRecall asks what a prompt of that session should be told, twice.
func (d *demo) stepRecall(ctx context.Context) (string, error) {
	req := &pb.SearchServiceRecallRequest{Text: "Run the migrations on staging, please", SessionId: d.session + "-next"}
	began := d.app.now()
	first, err := d.c.search.Recall(ctx, req)
	if err != nil {
		return "", err
	}
	took := d.app.now().Sub(began)
	d.figure("recall_ms", millis(took))
	second, err := d.c.search.Recall(ctx, req)
	if err != nil {
		return "", err
	}
	if len(first.GetItems()) == 0 {
		return "", errors.New("nothing was told")
	}
	for _, it := range second.GetItems() {
		if strings.Contains(first.GetBlock(), it.GetText()) {
			return "", fmt.Errorf("%q was told twice", it.GetText())
		}
	}
	return fmt.Sprintf("“%s” in %s, %d tokens; nothing is told twice", req.GetText(), short(took), first.GetTokens()) + shown(first.GetBlock(), 9), nil
}

// shown is the beginning of a block, indented.
func shown(block string, most int) string {
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if len(lines) > most {
		lines = append(lines[:most-1:most-1], "…")
	}
	var b strings.Builder
	for _, line := range lines {
		if runes := []rune(line); len(runes) > 120 {
			line = string(runes[:119]) + "…"
		}
		b.WriteString("\n    " + printable(line))
	}
	return b.String()
}
