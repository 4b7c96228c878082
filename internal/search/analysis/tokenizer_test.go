package analysis_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// terms analyses a text as memories and queries are.
func terms(text string) (all []string) {
	z := analysis.NewTokenizer(analysis.NewLexicon())
	for _, t := range z.Tokenize(analysis.Normalize(text)) {
		all = append(all, t.Term)
	}
	return all
}

func TestTokenize(t *testing.T) {
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
			if diff := cmp.Diff(tt.want, strings.Join(terms(tt.text), " ")); diff != "" {
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
		first := terms(group[0])[0]
		for _, v := range group[1:] {
			if got := terms(v)[0]; got != first {
				t.Errorf("%q gives %q, %q gives %q", group[0], first, v, got)
			}
		}
	}
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"", "a_b", "v1..2", "C++", "http://", "'s", "’s", "e\u0301", "中", "中文a1B", "\xff\xfe",
		"🚀\u200d", "ﬁ", "İ", "A’’b", "1-", "x::y", strings.Repeat("é", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range terms(text) {
			if term == "" || len(term) > 2*64 || utf8.ValidString(text) && !utf8.ValidString(term) {
				t.Errorf("term %q of %q", term, text)
			}
			if strings.ContainsAny(term, " \t\n") {
				t.Errorf("term %q holds white space", term)
			}
		}
		analysis.ParseDates(analysis.Normalize(text), time.Unix(0, 0))
	})
}
