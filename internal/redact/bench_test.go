package redact_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/redact"
)

// shortTexts are memories as agents save them.
var shortTexts = []string{
	"The user prefers tabs over spaces in Go files and runs gofmt before every commit.",
	"用户喜欢在周五下午安排代码评审，部署窗口是每周二晚上十点。",
	"Deploy with `make deploy ENV=prod` after the pipeline of branch release/2.4 passed; expect 12 minutes.",
	"Anna's birthday is on 3 March 1988; she likes cycling, sushi and the Wisla river.",
	"Deploying kalomiter uses a nightly backup that somebody restores every month; noted as item 4711.",
	"部署 kalomiter 之前必须备份数据目录，编号 4711。",
	"Commit 9fceb02d0ae598e95dc970b74767f19372d61af8 changed internal/store/journal/stage.go to write 4 KiB blocks.",
}

// passwordTexts hold none, but must be looked at more closely.
var passwordTexts = []string{
	"The staging database listens on port 6543 on deb-12; passwords are kept in the vault.",
	"数据库 db-2 的密码保存在 1Password 里，由 ops2 小组管理。",
}

// BenchmarkMemory is the time for one short text.
func BenchmarkMemory(b *testing.B) {
	for name, texts := range map[string][]string{"plain": shortTexts, "about passwords": passwordTexts} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				redact.Text(texts[i%len(texts)])
			}
		})
	}
}
