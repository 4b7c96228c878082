package journal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// BenchmarkEncodeMemory is the encoding of one memory of ordinary size, done under the lock that all writers share.
func BenchmarkEncodeMemory(b *testing.B) {
	at := time.Date(2026, 2, 21, 10, 30, 0, 123456000, time.UTC)
	line := journal.MemoryLine{Memory: &memory.Memory{
		ID: strings.Repeat("a", 32), Category: memory.Facts, Content: strings.Repeat("plain words 用户 ", 8),
		Salience: .75, CreatedAt: at,
		UpdatedAt: at, Revision: 1841, Tags: []string{"go", "test"}, Source: memory.SourceUser, Confidence: 1,
		Status: memory.Active,
	}}
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := line.AppendJSON(buf); err != nil {
			b.Fatal(err)
		}
	}
}
