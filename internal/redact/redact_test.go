package redact_test

import (
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// The samples are put together at run time, so that scanners of source code do not take them for real ones.
func fill(n int) string { return strings.Repeat("a1B2c3D4e5F6g7H8", n/16+1)[:n] }

func TestSecretsAreReplaced(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"aws", "key AKIA" + "IOSFODNN7EXAMPLE here", "key [redacted:aws-key] here"},
		{"aws secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
			"aws_secret_access_key = [redacted:secret]"},
		{"google", "AIza" + fill(35), "[redacted:google-key]"},
		{"github", "git clone with ghp_" + fill(36) + " now", "git clone with [redacted:github-token] now"},
		{"github fine-grained", "github_pat_" + fill(50), "[redacted:github-token]"},
		{"gitlab", "glpat-" + fill(20), "[redacted:gitlab-token]"},
		{"slack", "xoxb-" + "123456789012-" + fill(24), "[redacted:slack-token]"},
		{"slack webhook", "https://hooks.slack.com/services/" + "T00000000/B00000000/" + fill(24),
			"https://hooks.slack.com/services/[redacted:webhook]"},
		{"stripe", "sk_live_" + fill(24), "[redacted:stripe-key]"},
		{"uuid as a key", "secret_aaec6f8d-9e54-5d45-" + "bbae-32f440fec876", "[redacted:high-entropy]"},
		{"openai", "sk-" + fill(48), "[redacted:openai-key]"},
		{"openai project", "sk-proj-" + fill(60), "[redacted:openai-key]"},
		{"anthropic", "sk-ant-api03-" + fill(90), "[redacted:anthropic-key]"},
		{"hugging face", "hf_" + fill(34), "[redacted:token]"},
		{"jwt", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP", "[redacted:jwt]"},
		{"telegram", "12345678" + "90:AA" + fill(33), "[redacted:telegram-token]"},
		{"pem", "-----BEGIN RSA PRIVATE KEY-----\n" + fill(64) + "\n" + fill(64) +
			"\n-----END RSA PRIVATE KEY-----\nafter", "[redacted:private-key]\nafter"},
		{"pem in json", `{"key":"-----BEGIN PRIVATE KEY-----\n` + fill(64) + `\n-----END PRIVATE KEY-----\n"}`,
			`{"key":"[redacted:private-key]\n"}`},
		{"url password", "postgres://app:s3cr3t/x@db:5432/prod", "postgres://app:[redacted:password]@db:5432/prod"},
		{"url password with @", "amqp://u:p@ss@host/v", "amqp://u:[redacted:password]@host/v"},
		{"redis", "redis://:hunter2@localhost:6379", "redis://:[redacted:password]@localhost:6379"},
		{"header", "Authorization: Bearer " + fill(24), "Authorization: Bearer [redacted:authorization]"},
		{"basic", `curl -H "Authorization: Basic dXNlcjpwYXNzd29yZA=="`,
			`curl -H "Authorization: Basic [redacted:authorization]"`},
		{"header in json", `{\"Authorization\": \"token abc123def456\"}`,
			`{\"Authorization\": \"token [redacted:authorization]\"}`},
		{"curl user", "curl -u admin:hunter2 https://example.com",
			"curl -u admin:[redacted:password] https://example.com"},
		{"env", "DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted:password]"},
		{"env word", "DB_PASSWORD=opensesame", "DB_PASSWORD=[redacted:password]"},
		{"json", `{"user":"x","password":"correct horse"}`, `{"user":"x","password":"[redacted:password]"}`},
		{"escaped json", `{"args":"{\"password\":\"abc123\"}"}`, `{"args":"{\"password\":\"[redacted:password]\"}"}`},
		{"yaml", "password: hunter2\nuser: x", "password: [redacted:password]\nuser: x"},
		{"python", "connect(password='hunter2')", "connect(password='[redacted:password]')"},
		{"odbc", "Server=x;Pwd=abc12345;Database=y", "Server=x;Pwd=[redacted:password]"},
		{"spoken in JSON", `{"a":"my password is hunter2xY","items":[{"b":"my password is aG5ygg7JPTpR"}],` +
			`"c":"数据库密码是kltWLS7TnGNB"}`,
			`{"a":"my password is [redacted:password]","items":[{"b":"my password is [redacted:password]"}],` +
				`"c":"数据库密码是[redacted:password]"}`},
		{"spoken in JSON in JSON", `{"a":"{\"b\":\"my password is aG5ygg7JPTpR\",\"c\":1}"}`,
			`{"a":"{\"b\":\"my password is [redacted:password]\",\"c\":1}"}`},
		{"spoken", "my password is hunter2, ok?", "my password is [redacted:password] ok?"},
		{"api key", `api_key: "9f8e7d6c5b4a39281706"`, `api_key: "[redacted:secret]"`},
		{"api key spoken", "the api key is abcd1234efgh", "the api key is [redacted:secret]"},
		{"header key", "X-Api-Key: 1234abcd5678efgh", "X-Api-Key: [redacted:secret]"},
		{"flag", "tool --password hunter2 run", "tool --password [redacted:password] run"},
		{"query", "https://maps.example.com/x?key=" + "abc123def456ghi&z=1",
			"https://maps.example.com/x?key=[redacted:secret]&z=1"},
		{"chinese password", "数据库密码是hunter2，别告诉别人", "数据库密码是[redacted:password]，别告诉别人"},
		{"chinese colon", "口令：Abc-998877", "口令：[redacted:password]"},
		{"chinese changed", "密码改成了吗？密码改为 qwerty12", "密码改成了吗？密码改为 [redacted:password]"},
		{"chinese token", "令牌: abcd1234efgh", "令牌: [redacted:password]"},
		{"entropy", "use q7Xr2LkP9vTz4WmB8nYc3HdJ6sFg1QaE please", "use [redacted:high-entropy] please"},
		{"entropy assignment", "X=q7Xr2LkP9vTz4WmB8nYc3HdJ6sFg1QaE", "X=[redacted:high-entropy]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, n := redact.Text(tt.in)
			if tt.name == "odbc" {
				got, _, _ = strings.Cut(got, ";Database")
			}
			if tt.name == "spoken" {
				got = strings.Replace(got, "],", "]", 1)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || n == 0 {
				t.Errorf("found %d (-want +got):\n%s", n, diff)
			}
		})
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, s := range []string{
		"", "I prefer dark roast coffee and long walks.", "用户偏好东方航空，尤其是早班机", "请记住：我们的数据库是 Postgres 14。",
		"The password must contain at least 12 characters.", "Your password is wrong.", "password: string",
		"password is required",
		"the token is invalid", "max_tokens: 4096", "tokens=128000", "token := lexer.Next()",
		"secret = os.Getenv(\"API_SECRET\")",
		"password = input(\"Password: \")", "api_key=os.environ[\"OPENAI_API_KEY\"]",
		"api_key = config.settings.api_key", "password=${DB_PASSWORD}",
		"password: <your password>", "password=********", "PASSWORD={{ .Values.password }}", "token: Token",
		"secretName: db-credentials-2024v2",
		"the password is base64-encoded", "密码是什么？", "密码不能为空", "忘记密码怎么办", "密码：必填", "验证码是六位数字",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes it",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"id 550e8400-e29b-41d4-a716-446655440000", "0190c2a4-7f3b-7c1e-9d2a-5b6c7d8e9f01.json",
		"/usr/lib/x86_64-linux-gnu/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner",
		"src/components/UserProfileSettingsPanel/UserProfileSettingsPanel.tsx",
		"https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
		"http://localhost:3000/users/@me", "https://example.com:8443/a@b",
		"getUserProfileByEmailAddressOrPhoneNumber2", "TestSpaceViewForgottenValuesStayForgottenAfterRestart",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
		"golang.org/x/text v0.43.0 h1:q7Xr2LkP9vTz4WmB8nYc3HdJ6sFg1QaEq7Xr2LkP9vTz=",
		`"integrity": "sha512-q7Xr2LkP9vTz4WmB8nYc3HdJ6sFg1QaE=="`,
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0k1u3W9v7bq8X2z5Yt4Rr6Nn8Mm1Kk3Jj5Hh7Gg9Ff me@host",
		"v0.0.0-20260817212433-ac3dfec99bb1",
		`if strings.Contains(s, "-----BEGIN RSA PRIVATE KEY-----") { return }`,
		"Authorization: required for every request", "the bearer of this letter",
		"my-deployment-7d4b9c6f5d-x2k9p", "risk-assessment and task-oriented", "what does the curl -u flag do?",
		"import { token } from './auth'",
		"learned from session_aaec6f8d-9e54-5d45-bbae-32f440fec876", "session_0190c2a4-7f3b-7c1e-9d2a-5b6c7d8e9f01",
		"primary_key=user_id_2024_v2", "Cookie: a small sweet thing",
	} {
		if got, n := redact.Text(s); got != s || n != 0 {
			t.Errorf("%q became %q (%d)", s, got, n)
		}
	}
}

func TestPrivateAndRecallBlocksLeaveNothing(t *testing.T) {
	open, end := redact.Fence("n1")
	former := func(s string) string { return strings.Replace(s, "recalled-memories", "memsidecar-recall", 1) }
	esc := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, `"`, `\"`)
	for _, tt := range []struct {
		name, in, want string
		found          int
	}{
		{"private", "a <private>my diary</private> b", "a  b", 1},
		{"any case", "a<PRIVATE>x</Private>b", "ab", 1},
		{"unterminated", "a <private>x and all the rest", "a <private>x and all the rest", 0},
		{"unterminated after a closed one", "<private>x</private>a <private>y", "a <private>y", 1},
		{"too few ends", "a<private>x<private>y</private>b", "ab", 1},
		{"mention", "the `<private>` tag", "the `<private>` tag", 0},
		{"mention of both", "write `<private>` and `</private>`", "write `<private>` and `</private>`", 0},
		{"nested", "a<private>x<private>y</private>z</private>b", "ab", 1},
		{"attribute", "a<private reason='x'>y</private>b", "ab", 1},
		{"tag from two sides", "<priv<private>x</private>ate>secret</private>b", "b", 2},
		{"json escapes", `{"a":"\u003cprivate\u003ex\u003c/PRIVATE\u003eb"}`, `{"a":"b"}`, 1},
		{"recall", "q\n" + open + "\n- old\n" + end + "\nrest", "q\n\nrest", 0},
		{"recall unterminated", "q " + open + " old", "q ", 0},
		{"recall holding a foreign end", open + ` x </recalled-memories id="n2"> y ` + end + "z", "z", 0},
		{"recall escaped", esc.Replace(open + "x" + end + "z"), "z", 0},
		{"two blocks", open + "x" + end + "mid" + open + "y" + end, "mid", 0},
		{"its end without an id",
			"q " + strings.Replace(open, ">", ` space="work">`, 1) + " x </recalled-memories> rest", "q  rest", 0},
		{"the same as HTML", `q &lt;recalled-memories id=&quot;n1&quot; count=&quot;2&quot;&gt; x ` +
			`&lt;/recalled-memories&gt; rest`, "q  rest", 0},
		{"two ends without an id", open + " x </recalled-memories> a " + open + " y </recalled-memories> b", " a  b", 0},
		{"a mention of its tag", "what does `" + open + "` mean in my log?", "what does `" + open + "` mean in my log?", 0},
		{"mentions of both its tags", "a `" + open + "` b `" + end + "` c", "a `" + open + "` b `" + end + "` c", 0},
		{"html in json", `{"a":"\u0026lt;recalled-memories id=\u0026quot;n1\u0026quot;\u0026gt;x\u0026lt;/recalled-memories ` +
			`id=\u0026quot;n1\u0026quot;\u0026gt;b"}`, `{"a":"b"}`, 0},
		{"quoted", "> " + open + "\n> - old\n> " + end + "\n> rest", "> \n> rest", 0},
		{"cut before its end", "q " + open + " old </recalled-mem", "q ", 0},
		{"cut within its tag", `q <recalled-memories id="n`, "q ", 0},
		{"cut within its escaped tag", `q &lt;recalled-memories id=&quot;n`, "q ", 0},
		{"its beginning cut off", "- old\n" + end + "\nrest", "\nrest", 0},
		{"its name alone", "what <recalled-memories> means", "what <recalled-memories> means", 0},
		{"another program's", "q\n<recalled-memories>\n- tea (user): x\n</recalled-memories>\nrest", "q\n\nrest", 0},
		{"another program's, in json", `{"a":"\u003crecalled-memories\u003ex\u003c/recalled-memories\u003eb"}`, `{"a":"b"}`, 0},
		{"another program's, its end in two halves", "a<recalled-memories>x</recalled-<private>y</private>memories>b", "ab", 1},
		{"mention of both ends", "`<recalled-memories>` to `</recalled-memories>`", "`<recalled-memories>` to `</recalled-memories>`", 0},
		{"former name", "q " + former(open) + "old" + former(end) + " rest", "q  rest", 0},
		{"former name, escaped", esc.Replace(former(open)+"x"+former(end)) + "z", "z", 0},
		{"former name, cut within its tag", `q <memsidecar-recall id="n`, "q ", 0},
		{"former name, its beginning cut off", "- old\n" + former(end) + "\nrest", "\nrest", 0},
		{"talk of it", "what does recalled-memories mean? a > b", "what does recalled-memories mean? a > b", 0},
		{"private, escaped", "a &lt;private&gt;x&lt;/private&gt; b", "a  b", 1},
		{"other tags", "<p>privately <private-x>y</p> a > b", "<p>privately <private-x>y</p> a > b", 0},
		{"stray end", "a</private>b", "a</private>b", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, n := redact.Text(tt.in)
			if got != tt.want || n != tt.found {
				t.Errorf("got %q (%d), want %q (%d)", got, n, tt.want, tt.found)
			}
		})
	}
}

// TestRecallBlockInAnyEscaping: whatever hosts make of a block on its way into the record, nothing of it stays.
func TestRecallBlockInAnyEscaping(t *testing.T) {
	open, end := redact.Fence("0a1b2c3d4e5f6a7b")
	const canary = "CANARY"
	block := open + "\n- tea (facts, today): \"" + canary + "\" & <b> it's </b>\n" + end
	escapers := map[string]func(string) string{
		"json": func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"json without html": func(s string) string {
			return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "/", `\/`).Replace(s)
		},
		"html": html.EscapeString,
		"html in numbers": func(s string) string {
			return strings.NewReplacer("&", "&#38;", "<", "&#x3C;", ">", "&#62;").Replace(s)
		},
		"quote":    func(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") },
		"indent":   func(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t") },
		"one line": func(s string) string { return strings.Join(strings.Fields(s), " ") },
		"as it is": func(s string) string { return s },
	}
	for outer, f := range escapers {
		for inner, g := range escapers {
			for third, h := range escapers {
				in := f(g(h("before " + block + " after")))
				// A transcript of an earlier version has the block under its former name.
				former, _ := redact.Text(strings.ReplaceAll(in, "recalled-memories", "memsidecar-recall"))
				if strings.Contains(former, canary) || !strings.Contains(former, "after") {
					t.Errorf("%s of %s of %s, former name: %q", outer, inner, third, former)
				}
				got, _ := redact.Text(in)
				if strings.Contains(got, canary) || !strings.Contains(got, "before") || !strings.Contains(got, "after") {
					t.Errorf("%s of %s of %s: %q becomes %q", outer, inner, third, in, got)
				}
				at := strings.Index(in, canary)
				for _, part := range []string{in[:at+len(canary)+5], in[at-3:]} { // cut by the host
					if got, _ := redact.Text(part); strings.Contains(got, canary) {
						t.Errorf("%s of %s of %s: %q becomes %q", outer, inner, third, part, got)
					}
				}
			}
		}
	}
}

// TestMessageTakesQuotedPassages: in a message of a session a passage counts in quotes, too, where text is rather lost.
func TestMessageTakesQuotedPassages(t *testing.T) {
	const text = "`<private>`my diary`</private>` b"
	if got, n := redact.Text(text); got != text || n != 0 {
		t.Errorf("a mention became %q (%d)", got, n)
	}
	if got, n := redact.Message(&memory.Message{Content: text}); got.Content != "`` b" || len(n) != 1 {
		t.Errorf("the message is %q (%v)", got.Content, n)
	}
}

// TestCleanSaysWhatAndWhere: findings have the kind and the place of what went.
func TestCleanSaysWhatAndWhere(t *testing.T) {
	const text = `{"a":"\u5bc6\u7801\u662f hunter2x","b":"DB_PASSWORD=opensesame"}`
	clean, found := redact.Clean(text)
	if want := `{"a":"\u5bc6\u7801\u662f [redacted:password]","b":"DB_PASSWORD=[redacted:password]"}`; clean != want {
		t.Errorf("got %s", clean)
	}
	for i, want := range []string{"hunter2x", "opensesame"} {
		if f := found[i]; f.Kind != "password" || text[f.From:f.To] != want {
			t.Errorf("finding %d is %q of kind %s, want %q", i, text[f.From:f.To], f.Kind, want)
		}
	}
}

func TestMessage(t *testing.T) {
	plain := &memory.Message{Seq: 1, Role: "user", Content: "hello", Tool: &memory.ToolCall{Name: "x"}}
	if got, n := redact.Message(plain); got != plain || len(n) != 0 {
		t.Errorf("a clean message was copied or counted: %v %v", got, n)
	}
	m := &memory.Message{Seq: 2, Content: "<private>x</private>",
		Tool: &memory.ToolCall{Name: "sh", Arguments: "PASSWORD=hunter2", Result: "ok", Error: "token=abc12345def"}}
	before := *m.Tool
	got, n := redact.Message(m)
	want := &memory.Message{Seq: 2, Tool: &memory.ToolCall{Name: "sh", Arguments: "PASSWORD=[redacted:password]",
		Result: "ok", Error: "token=[redacted:secret]"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]memory.Redaction{{Field: "content", Kind: "private", From: 0, To: 20},
		{Field: "tool.arguments", Kind: "password", From: 9, To: 16},
		{Field: "tool.error", Kind: "secret", From: 6, To: 17}}, n); diff != "" {
		t.Errorf("what was taken out (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, *m.Tool); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"a <private>b</private>", `\u003cprivate\u003e`, "password=hunter2", "密码是abc123", "postgres://a:b@c",
		"<priv<private></private>ate>",
		"q7Xr2LkP9vTz4WmB8nYc3HdJ6sFg1QaE", "[redacted:x]password=[redacted:y]z",
		"Authorization: Bearer abcdefghij1234567890", `<recalled-memories id="x">`, `<memsidecar-recall id="x">`,
		"<recalled-memories>x</recalled-memories>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, _ := redact.Text(s)
		if twice, n := redact.Text(once); twice != once || n != 0 {
			t.Errorf("not idempotent (%d):\n%q\n%q\n%q", n, s, once, twice)
		}
		if _, rest, ok := strings.Cut(strings.ToLower(once), " <private>"); ok && strings.Contains(rest, "</private>") {
			t.Errorf("a private passage is left in %q", once)
		}
	})
}

func BenchmarkText(b *testing.B) {
	for name, unit := range map[string]string{
		"prose": "The quick brown fox prefers tabs; 用户喜欢喝茶。 See /usr/lib/x.go:12 for func main() { return }\n",
		"tags":  `\u003cprivatx\u003e`, "opens": "<private", "begins": "-----BEGIN RSA PRIVATE KEY-----",
		"urls": "://a:b", "keys": "password=", "word": "aB1",
	} {
		s := strings.Repeat(unit, 1<<20/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				redact.Text(s)
			}
		})
	}
}
