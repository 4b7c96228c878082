package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// identifiers make one identifier each of a number; two numbers that differ little make identifiers that do.
var identifiers = []struct {
	name string
	make func(n int) string
}{
	{"path", func(n int) string { return fmt.Sprintf("/srv/app%d/config/settings.yaml", n) }},
	{"long path", func(n int) string {
		return fmt.Sprintf("/var/lib/orchard/production/eu-central-1/customers/archive/%04d/reports/summary.json", n)
	}},
	{"file and line", func(n int) string { return fmt.Sprintf("internal/queue/worker.go:%d", 100+n) }},
	{"Windows path", func(n int) string { return fmt.Sprintf(`C:\Users\build%d\AppData\cache.db`, n) }},
	{"error code", func(n int) string { return fmt.Sprintf("E%04d", 300+n) }},
	{"vendor code", func(n int) string { return fmt.Sprintf("ORA-%05d", 900+n) }},
	{"hexadecimal code", func(n int) string { return fmt.Sprintf("0x8007%04X", 0x10+n) }},
	{"constant", func(n int) string { return fmt.Sprintf("ERR_POOL_%d_EXHAUSTED", n) }},
	{"version", func(n int) string { return fmt.Sprintf("v2.%d.%d", n/10, n%10) }},
	{"address", func(n int) string { return fmt.Sprintf("10.20.%d.7", n) }},
	{"function", func(n int) string { return fmt.Sprintf("loadTenantBatch%d", n) }},
	{"snake name", func(n int) string { return fmt.Sprintf("retry_budget_%d", n) }},
	{"dotted name", func(n int) string { return fmt.Sprintf("com.orchard.billing.Invoice%d", n) }},
	{"URL", func(n int) string { return fmt.Sprintf("https://tickets.orchard.example/browse/ORC-%d?tab=all", n) }},
	{"UUID", func(n int) string { return fmt.Sprintf("6f1c2d3e-0a4b-4c5d-8e6f-%012x", 0xabc000+n) }},
	{"ticket", func(n int) string { return fmt.Sprintf("ORC-%d", 4000+n) }},
}

// chatter surrounds the identifier in a question; noise memories hold all of it.
var chatter = []string{
	"%s",
	"what did we find out about %s when the billing service failed during the deploy last spring?",
	"the nightly backup of the customer database stopped again, is that the same as %s, and who fixed it",
	"上次部署账单服务失败的时候，%s 是怎么解决的？",
	"Do you remember (%s)? The team wanted to rewrite the importer because of it.",
}

// TestExactIdentifierIsFirst asks 500 questions that hold an identifier, amid memories that hold the other words of the
// question and others that hold an identifier which differs in one place.
func TestExactIdentifierIsFirst(t *testing.T) {
	var memories []*memory.Memory
	add := func(id, text string) {
		memories = append(memories, &memory.Memory{
			ID: id, Category: memory.Facts, Content: text, Salience: 0.5, Status: memory.Active,
			Source:    memory.SourceUser,
			CreatedAt: epoch.Add(-time.Duration(len(memories)) * time.Hour),
		})
	}
	const each = 40
	r := rand.New(rand.NewPCG(7, 8))
	want := map[string]string{}
	for _, kind := range identifiers {
		for n := range each {
			id := fmt.Sprintf("m%06d", len(memories))
			text := kind.make(n)
			want[text] = id
			add(id, fmt.Sprintf("Note %d: %s needed a second look, see the usual place.", r.IntN(1000), text))
		}
	}
	for i := range 200 {
		c := chatter[1+i%(len(chatter)-1)]
		add(fmt.Sprintf("n%06d", i), strings.ReplaceAll(c, "%s",
			"the usual thing")+fmt.Sprintf(" Billing service deploy number %d failed.", i))
	}
	e := inDefault(memories...)
	asked := 0
	for i := range 500 {
		kind := identifiers[i%len(identifiers)]
		text := kind.make(r.IntN(each))
		question := fmt.Sprintf(chatter[i%len(chatter)], text)
		resp := find(t, e, search.Request{Query: question, K: 3, AsOf: epoch})
		if asked++; len(resp.Hits) == 0 || resp.Hits[0].Memory.ID != want[text] {
			t.Errorf("%s: %q finds %v, want %s first", kind.name, question, ids(resp.Hits), want[text])
		}
		m := memories[r.IntN(len(memories))]
		question = fmt.Sprintf(chatter[i%len(chatter)], m.ID)
		if resp := find(t, e, search.Request{Query: question, K: 3, AsOf: epoch}); len(resp.Hits) == 0 ||
			resp.Hits[0].Memory.ID != m.ID {
			t.Errorf("%q finds %v, want %s first", question, ids(resp.Hits), m.ID)
		}
	}
	if asked != 500 {
		t.Fatalf("asked %d questions", asked)
	}
}
