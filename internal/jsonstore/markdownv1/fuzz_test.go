package markdownv1_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
)

// times writes t in the forms its parts may have in a file.
func times(t time.Time) string {
	var b strings.Builder
	for _, at := range []time.Time{t, t.UTC(), t.In(zone)} {
		b.WriteString(at.Format(" 2006 1 01 2 02 15 3 03 4 04 5 05 .000000000 PM pm "))
	}
	return b.String()
}

func unquote(t *testing.T, raw json.RawMessage) (s string) {
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Error(err)
	}
	return s
}

var (
	token = regexp.MustCompile(`\p{L}+`)
	units = regexp.MustCompile(`[年月日时点分秒]`) // stand between numbers and text without a gap
)

// lossless checks that the words of every line are in what was made of the file, or that a note names the line.
// Words that say what a section, an entry, or a time is are found in the vocabulary; numbers may have become a time
// and are not looked for.
func lossless(t *testing.T, data []byte, got string, list []markdownv1.Note) {
	t.Helper()
	noted := map[int]bool{}
	for _, n := range list {
		for i := n.First; i <= n.Last; i++ {
			noted[i] = true
		}
	}
	all := strings.ToLower(got + strings.Join(markdownv1.Vocabulary(), " ") +
		" user's user’s users my the known current 我的 用户的 已知 list section entries 列表 部分 created at date time salience importance tags tag " +
		" 创建时间 创建 日期 时间 重要性 重要度 显著性 标签 tool 工具 error 错误 报错 session id 会话 category 分类 类别 " +
		" last updated modified 最后更新 最后更新时间 更新时间 更新于 t z utc x a p am pm 上午 下午 晚上 凌晨 中午 年 月 日 时 点 分 秒 周 星期 礼拜 一 二 三 四 五 六 七 八 九 十 天 e inf nan " +
		" 星期一 星期二 星期三 星期四 星期五 星期六 星期日 星期天 礼拜一 礼拜二 礼拜三 礼拜四 礼拜五 礼拜六 礼拜日 礼拜天 周一 周二 周三 周四 周五 周六 周日 周天 " +
		" monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun and 和 与 及 ")
	text := strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), "\r", "\n")
	for i, line := range strings.Split(text, "\n") {
		if noted[i+1] {
			continue
		}
		if !utf8.ValidString(line) {
			t.Errorf("line %d is not UTF-8 and no note says so", i+1)
			continue
		}
		for _, word := range token.FindAllString(units.ReplaceAllString(strings.ToLower(line), " "), -1) {
			if !strings.Contains(all, word) && !markdownv1.IsVocabulary(word) {
				t.Errorf("line %d: %q is lost in\n%s", i+1, word, got)
			}
		}
	}
}

func seed(f *testing.F) {
	for _, name := range samples(f, "testdata/*.md") {
		f.Add(content(f, name))
	}
	for _, text := range []string{
		"", "\n", "---\n", "---\na: b\n---\nx", "```\nopen", "<!-- open\nx", "a\n===\nb\n---\n", "- \n-x\n+ y\n1.z", "**偏好**\n- a\n偏好：\nb",
		"## 14:30\n", "## 14:30 x\n- 15:00 y\n- z", "[x] [ ] [event]: ", "- [2026-02-20] ", "\ufeff\r\r\n", "# Summary\n# Summary\nx", "- a <!-- b --> c <!-- d",
		"16:00 a\n```\n17:00 b\n```\n", "- a\n  tool: b\n  tool: c", "2026-02-20 24:00 x", "12:00:00.123456789+99:00 x", "- [ ]\n- [x] \n",
	} {
		f.Add([]byte(text))
	}
}

func FuzzReadMemories(f *testing.F) {
	seed(f)
	f.Fuzz(checkMemories)
}

func FuzzReadLog(f *testing.F) {
	seed(f)
	f.Fuzz(checkLog)
}
