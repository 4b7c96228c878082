package main

import (
	"fmt"
	"strings"
	"sync/atomic"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// serial hands out numbers, each once. Safe for concurrent use.
type serial struct{ n atomic.Int64 }

// take returns the next number. It is safe for concurrent use.
func (s *serial) take() int { return int(s.n.Add(1) - 1) }

// firstExtra is the number of the first memory that is not one of those a store is filled with, which count from 0.
const firstExtra = 10_000_000

// names is how many different project names the memories mention: each is rare, as names are in real memories.
const names = 20_000

var (
	syllables  = strings.Fields("ka lo mi ter shan vu rin del po ya sen gar fi nu bel tak oro lin mez wu")
	categories = strings.Fields("preferences facts tasks reflections procedural general")
	subjects   = []string{"The build of %s", "Deploying %s", "The database behind %s", "The release branch of %s",
		"Whoever maintains %s", "The staging copy of %s"}
	habits = []string{
		"needs the tunnel to be open before migrations run", "prefers small commits with an imperative subject",
		"reads its settings from the environment and not from a file",
		"answers within two hundred milliseconds at noon",
		"keeps its logs for thirty days on the larger disk", "fails when the clock of the runner is behind",
		"uses a nightly backup that somebody restores every month", "is reviewed by two people before Friday",
	}
	chinese = []string{
		"%s 项目的测试需要先启动数据库容器", "用户希望 %s 的注释用英文书写", "%s 每周五下午发布新版本，发布前要看监控",
		"部署 %s 之前必须备份数据目录", "%s 的接口文档放在内部维基里，由值班同事更新",
	}
)

// name is a pronounceable name, another one for every number below names.
func name(i int) string {
	i %= names
	var b strings.Builder
	for range 4 {
		b.WriteString(syllables[i%len(syllables)])
		i /= len(syllables)
	}
	return b.String()
}

// content is text of about a hundred bytes, English or Chinese, another one for every number.
func content(i int) string {
	if i%4 == 3 {
		return fmt.Sprintf(chinese[i%len(chinese)], name(i)) + fmt.Sprintf("，编号 %d。", i)
	}
	return fmt.Sprintf(subjects[i%len(subjects)], name(i)) + " " + habits[i/7%len(habits)] +
		fmt.Sprintf("; noted as item %d.", i)
}

// query asks for a few memories by a name and a common word, in the language that they are in.
func query(i int) string {
	if i%4 == 3 {
		return name(i) + " 发布前要注意什么"
	}
	return name(i) + " commits and migrations"
}

// fillers are words that a question may have or not.
var fillers = strings.Fields("please now again today exactly really just first then here there maybe quickly also ever")

// newQuery is the n-th question about a store of some size. No two are the same text, so that nothing can remember the
// answer or the vector of the one before.
func newQuery(n, size int) string {
	size = max(1, size)
	var q strings.Builder
	q.WriteString(query(n * 7919 % size))
	for round := n / size; round > 0; round /= len(fillers) {
		q.WriteString(" " + fillers[round%len(fillers)])
	}
	return q.String()
}

// newMemory returns the i-th memory of the corpus, the same in every run.
func newMemory(i int) *memsidecarv1.NewMemory {
	salience := float64(i%10) / 10
	return &memsidecarv1.NewMemory{
		Category: categories[i%len(categories)],
		Content:  content(i),
		Salience: &salience,
		Tags:     []string{"bench"},
	}
}

// addRequest returns an Add of n new memories.
func addRequest(s *serial, n int) *memsidecarv1.MemoryServiceAddRequest {
	req := &memsidecarv1.MemoryServiceAddRequest{}
	for range n {
		req.Items = append(req.Items, newMemory(firstExtra+s.take()))
	}
	return req
}
