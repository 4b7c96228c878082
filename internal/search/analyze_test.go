package search_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/search"
)

func TestAnalyze(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"stop words and stems", "The runners were running to the stations", "runner run station"},
		{"possessive and contraction", "Anna's brother doesn't smoke", "anna brother smoke"},
		{"clitics", "I'd say we'll see who'll re-send it", "say see resend re send"},
		{"accents and sharp s", "Café Größe Ångström", "cafe gross angstrom"},
		{"full width", "ＧＰＵ ２４", "gpu 24"},
		{"snake", "get_user_by_id", "getuserbyid get user id"},
		{"camel", "HTTPServerConfig", "httpserverconfig http server config"},
		{"kebab", "re-index", "reindex re index"},
		{"error codes", "E0308 ERR_CONN_RESET", "e0308 errconnreset err conn reset"},
		{"dotted", "memory.json", "memory.json memori json"},
		{"path", "/etc/nginx/nginx.conf.", "etc/nginx/nginx.conf nginx nginx.conf nginx conf"},
		{"version", "v1.26.8", "v1.26.8 1.26 1.26.8"},
		{"date", "2026-02-21", "2026-02 2026-02-21"},
		{"name with a number", "python3", "python3 python"},
		{"languages", "C++ and C# or F#", "c++ c# f#"},
		{"address", "localhost:8080", "localhost:8080 localhost 8080"},
		{"url", "see https://go.dev/ref", "see https://go.dev/ref https go.dev go dev ref"},
		{"emoji", "ship it 🚀🏽", "ship 🚀"},
		{"chinese", "数据库迁移", "数 数据 据 据库 库 库迁 迁 迁移 移"},
		{"function characters", "我的了", ""},
		{"a function character inside", "我喜欢", "我喜 喜 喜欢 欢"},
		{"traditional", "資料庫", "资 资料 料 料库 库"},
		{"mixed", "用Redis做缓存", "用 redi 做 做缓 缓 缓存 存"},
		{"katakana", "カメラ", "カメ メラ"},
		{"korean", "데이터", "데이 이터"},
		{"cyrillic", "Москва Ёлка", "москва ёлка"},
		{"greek final sigma", "ΟΔΟΣ οδος", "οδοσ οδοσ"},
		{"nothing", " .,;!?\n\x00", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.Join(search.Tokens(tt.text), " ")); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariantsAgree(t *testing.T) {
	for _, group := range [][]string{
		{"fetchUrl", "fetch_url", "FetchUrl", "fetch-url", "FETCH_URL"},
		{"cafe", "café", "cafe\u0301", "CAFÉ"},
		{"dont panic", "don't panic", "don’t panic"},
		{"东方航空偏好", "東方航空偏好"},
		{"GitHub", "github"},
	} {
		first := search.Tokens(group[0])[0]
		for _, v := range group[1:] {
			if got := search.Tokens(v)[0]; got != first {
				t.Errorf("%q gives %q, %q gives %q", group[0], first, v, got)
			}
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"", "a_b", "v1..2", "C++", "http://", "'s", "’s", "e\u0301", "中", "中文a1B", "\xff\xfe", "🚀\u200d", "ﬁ", "İ", "A’’b", "1-", "x::y", strings.Repeat("é", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range search.Tokens(text) {
			if term == "" || len(term) > 2*64 || utf8.ValidString(text) && !utf8.ValidString(term) {
				t.Errorf("term %q of %q", term, text)
			}
			if strings.ContainsAny(term, " \t\n") {
				t.Errorf("term %q holds white space", term)
			}
		}
		search.Dates(text, epoch)
	})
}

func TestDates(t *testing.T) {
	now := time.Date(2026, 2, 21, 15, 0, 0, 0, time.UTC) // a Saturday
	for _, tt := range []struct{ query, want string }{
		{"what happened on 2026-02-03", "2026-02-03 2026-02-04"},
		{"2026/2/3?", "2026-02-03 2026-02-04"},
		{"2026-13-40", ""},
		{"meeting on March 5, 2025", "2025-03-05 2025-03-06"},
		{"meeting on March 5", "2025-03-05 2025-03-06"},
		{"7 May 2023", "2023-05-07 2023-05-08"},
		{"the 2nd of January", "2026-01-02 2026-01-03"},
		{"plans of June 2025", "2025-06-01 2025-07-01"},
		{"what did we do in May", "2025-05-01 2025-06-01"},
		{"may I march in?", ""},
		{"yesterday", "2026-02-20 2026-02-21"},
		{"today and yesterday", "2026-02-21 2026-02-22|2026-02-20 2026-02-21"},
		{"last Tuesday", "2026-02-17 2026-02-18"},
		{"last Saturday", "2026-02-14 2026-02-15"},
		{"on Saturday", "2026-02-21 2026-02-22"},
		{"last week", "2026-02-09 2026-02-16"},
		{"this month", "2026-02-01 2026-03-01"},
		{"last year", "2025-01-01 2026-01-01"},
		{"3 days ago", "2026-02-18 2026-02-19"},
		{"two months ago", "2025-12-01 2026-01-01"},
		{"in 2024", "2024-01-01 2025-01-01"},
		{"2026年2月3日", "2026-02-03 2026-02-04"},
		{"2025年6月", "2025-06-01 2025-07-01"},
		{"2月3号说的", "2026-02-03 2026-02-04"},
		{"去年三月", "2025-03-01 2025-04-01"},
		{"昨天", "2026-02-20 2026-02-21"},
		{"前天", "2026-02-19 2026-02-20"},
		{"上周", "2026-02-09 2026-02-16"},
		{"上周三", "2026-02-11 2026-02-12"},
		{"这周一", "2026-02-16 2026-02-17"},
		{"上个月", "2026-01-01 2026-02-01"},
		{"去年", "2025-01-01 2026-01-01"},
		{"三天前", "2026-02-18 2026-02-19"},
		{"十二月二十五日", "2025-12-25 2025-12-26"},
		{"version 1.26.8 of E0308", ""},
	} {
		t.Run(tt.query, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, strings.Join(search.Dates(tt.query, now), "|")); diff != "" {
				t.Errorf("dates (-want +got):\n%s", diff)
			}
		})
	}
}
