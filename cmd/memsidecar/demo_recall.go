package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// stepContext starts another session twice and compares the start contexts.
func (d *demo) stepContext(ctx context.Context) (string, error) {
	req := &pb.SessionServiceStartRequest{SessionId: d.session + "-next",
		Context: &pb.ContextOptions{TokenBudget: 400, Language: pb.Language_LANGUAGE_EN}}
	first, err := d.c.session.Start(ctx, req)
	if err != nil {
		return "", err
	}
	if _, err := d.c.memory.Add(ctx, &pb.MemoryServiceAddRequest{
		Items: []*pb.NewMemory{{Content: "Added after the session started"}}}); err != nil {
		return "", err
	}
	second, err := d.c.session.Start(ctx, req)
	if err != nil {
		return "", err
	}
	if first.GetContext() != second.GetContext() || !strings.Contains(first.GetContext(), "# USER MEMORY") {
		return "", errors.New("the context of the session changed or is empty")
	}
	return "later calls print the same bytes" + excerpt(first.GetContext(), 9), nil
}

// stepRecall recalls memories for the same prompt twice.
func (d *demo) stepRecall(ctx context.Context) (string, error) {
	req := &pb.SearchServiceRecallRequest{Text: "Run the migrations on staging, please", SessionId: d.session + "-next"}
	began := d.app.now()
	first, err := d.c.search.Recall(ctx, req)
	if err != nil {
		return "", err
	}
	took := d.app.now().Sub(began)
	d.record("recall_ms", millis(took))
	second, err := d.c.search.Recall(ctx, req)
	if err != nil {
		return "", err
	}
	if len(first.GetItems()) == 0 {
		return "", errors.New("nothing was recalled")
	}
	for _, it := range second.GetItems() {
		if strings.Contains(first.GetBlock(), it.GetText()) {
			return "", fmt.Errorf("%q was recalled twice", it.GetText())
		}
	}
	return fmt.Sprintf("“%s” in %s, %d tokens; a second recall repeats nothing", req.GetText(), short(took),
		first.GetTokens()) + excerpt(first.GetBlock(), 9), nil
}

// excerpt returns the first lines of a block, indented and clipped.
func excerpt(block string, most int) string {
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
