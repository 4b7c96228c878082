package archiver

import (
	"fmt"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// BenchmarkFindCandidates reads logs of 60 entries like those of a day, another one each time.
func BenchmarkFindCandidates(b *testing.B) {
	texts := []string{
		"The build of %s needs the tunnel to be open before migrations run; noted as item %d.",
		"Deploying %s prefers small commits with an imperative subject; noted as item %d.",
		"The database behind %s uses a nightly backup that somebody restores every month, in room %d.",
		"用户希望 %s 的注释用英文书写，编号 %d。", "The release branch of %s was reviewed by two people in week %d.",
		"部署 %s 之前必须备份数据目录，编号 %d。", "We decided to deploy %s on Friday, as item %d says",
		"Looked at %s, changed %d files, and the tests passed", "%s 每周五下午发布新版本，发布前要看监控，编号 %d。",
	}
	n := 0
	for b.Loop() {
		entries := make([]*memory.Entry, 60)
		for i := range entries {
			n++
			entries[i] = &memory.Entry{ID: fmt.Sprint("e", n), Time: "09:00:00", Type: memory.EntryEvent,
				Content: fmt.Sprintf(texts[n%len(texts)], fmt.Sprint("harbour", n%997), n)}
		}
		if len(findCandidates("2026-02-21", entries)) == 0 {
			b.Fatal("no candidates")
		}
	}
}
