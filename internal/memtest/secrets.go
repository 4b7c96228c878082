package memtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Secret is a made-up secret in a sentence of the kind that people write.
type Secret struct {
	Text  string
	Value string // must be nowhere but in Text
}

const (
	alnum  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hex    = "0123456789abcdef"
	letter = "abcdefghijklmnopqrstuvwxyz"
)

// draw is n characters of an alphabet, with a digit among them when the alphabet has some.
func draw(rng *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	if digits := alphabet[strings.IndexAny(alphabet+"0", "0123456789"):]; digits != "" && n > 4 &&
		strings.ContainsAny(digits, "7") {
		b[n/2] = '7'
	}
	return string(b)
}

// secrets make one secret each. The prefixes are put together at run time, so that scanners of source code do not
// take them for real ones.
var secrets = []func(*rand.Rand) Secret{
	func(r *rand.Rand) Secret {
		v := "AKIA" + draw(r, upper, 16)
		return Secret{"the access key id is " + v, v}
	},
	func(r *rand.Rand) Secret {
		v := "gh" + "p_" + draw(r, alnum, 36)
		return Secret{"git clone with " + v + " please", v}
	},
	func(r *rand.Rand) Secret {
		v := "github_" + "pat_" + draw(r, alnum, 50)
		return Secret{"export GH=" + v, v}
	},
	func(r *rand.Rand) Secret {
		v := "glp" + "at-" + draw(r, alnum, 20)
		return Secret{"CI 使用 " + v + " 登录", v}
	},
	func(r *rand.Rand) Secret { v := "xox" + "b-" + draw(r, alnum, 40); return Secret{"slack bot " + v, v} },
	func(r *rand.Rand) Secret {
		v := "sk-" + "proj-" + draw(r, alnum, 48)
		return Secret{`{"apiKey": "` + v + `"}`, v}
	},
	func(r *rand.Rand) Secret {
		v := "sk-" + "ant-api03-" + draw(r, alnum, 60)
		return Secret{"ANTHROPIC=" + v, v}
	},
	func(r *rand.Rand) Secret {
		v := "sk_" + "live_" + draw(r, alnum, 24)
		return Secret{"stripe has " + v, v}
	},
	func(r *rand.Rand) Secret { v := "AI" + "za" + draw(r, alnum, 35); return Secret{"maps with " + v, v} },
	func(r *rand.Rand) Secret { v := "h" + "f_" + draw(r, alnum, 34); return Secret{"hub login " + v, v} },
	func(r *rand.Rand) Secret {
		v := "eyJ" + draw(r, alnum, 20) + "." + draw(r, alnum, 40) + "." + draw(r, alnum, 43)
		return Secret{"cookie session=" + v, v}
	},
	func(r *rand.Rand) Secret {
		v := draw(r, alnum, 14)
		return Secret{"postgres://app:" + v + "@db.example.net:5432/prod", v}
	},
	func(r *rand.Rand) Secret { v := draw(r, alnum, 16); return Secret{"DB_PASSWORD=" + v, v} },
	func(r *rand.Rand) Secret { v := draw(r, alnum, 12); return Secret{"my password is " + v, v} },
	func(r *rand.Rand) Secret {
		v := draw(r, alnum, 12)
		return Secret{"数据库密码是" + v + "，别告诉别人", v}
	},
	func(r *rand.Rand) Secret { v := draw(r, alnum, 24); return Secret{`client_secret: "` + v + `"`, v} },
	func(r *rand.Rand) Secret { v := draw(r, alnum, 32); return Secret{"Authorization: Bearer " + v, v} },
	func(r *rand.Rand) Secret {
		v := draw(r, alnum, 28)
		return Secret{"curl 'https://api.example.net/v1/x?key=" + v + "'", v}
	},
	func(r *rand.Rand) Secret { v := draw(r, alnum, 40); return Secret{"put " + v + " into the vault", v} },
	func(r *rand.Rand) Secret {
		v := draw(r, alnum, 64)
		return Secret{"-----BEGIN " + "PRIVATE KEY-----\n" + v + "\n-----END " + "PRIVATE KEY-----", v}
	},
}

// Secrets makes n secrets of all shapes in turn, the same ones for the same seed.
func Secrets(seed uint64, n int) (out []Secret) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		out = append(out, secrets[i%len(secrets)](rng))
	}
	return out
}

// harmless make one text each that looks drawn by lot, or like a name of something secret, and is none.
var harmless = []func(*rand.Rand) string{
	func(r *rand.Rand) string { return "commit " + draw(r, hex, 40) + " fixes it" },
	func(r *rand.Rand) string { return "sha256:" + draw(r, hex, 64) },
	func(r *rand.Rand) string {
		return fmt.Sprintf(
			"id %s-%s-4%s-a%s-%s",
			draw(r, hex, 8),
			draw(r, hex, 4),
			draw(r, hex, 3),
			draw(r, hex, 3),
			draw(r, hex, 12),
		)
	},
	func(r *rand.Rand) string {
		return "see /home/" + draw(
			r,
			letter,
			6,
		) + "/src/" + draw(
			r,
			letter,
			9,
		) + "/internal/" + draw(
			r,
			letter,
			11,
		) + "/" + draw(
			r,
			letter,
			8,
		) + "_test.go:" + fmt.Sprint(
			r.IntN(900),
		)
	},
	func(r *rand.Rand) string {
		return "call get" + title(
			draw(r, letter, 7),
		) + title(
			draw(r, letter, 6),
		) + "By" + title(
			draw(r, letter, 9),
		) + "(ctx, " + draw(
			r,
			letter,
			5,
		) + "_id)"
	},
	func(r *rand.Rand) string {
		return "the pod web-" + draw(r, hex, 9) + "-" + draw(r, letter, 5) + " restarts"
	},
	func(r *rand.Rand) string { return "md5 " + draw(r, hex, 32) + "  dump.sql" },
	func(r *rand.Rand) string {
		return "golang.org/x/" + draw(
			r,
			letter,
			5,
		) + " v0.0.0-2026081721" + fmt.Sprint(
			1000+r.IntN(8999),
		) + "-" + draw(
			r,
			hex,
			12,
		)
	},
	func(r *rand.Rand) string {
		return `C:\Users\` + draw(
			r,
			letter,
			6,
		) + `\AppData\Local\` + title(
			draw(r, letter, 8),
		) + `\` + draw(
			r,
			letter,
			7,
		) + `.log`
	},
	func(r *rand.Rand) string {
		return "配置在 src/" + draw(
			r,
			letter,
			8,
		) + "/" + title(
			draw(r, letter, 6),
		) + title(
			draw(r, letter, 8),
		) + "Panel.tsx，第 " + fmt.Sprint(
			r.IntN(500),
		) + " 行"
	},
}

// title makes the first letter of a word upper case.
func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// HarmlessTexts makes n texts with identifiers, hashes, UUIDs and paths, of all kinds in turn, the same ones for the
// same seed.
func HarmlessTexts(seed uint64, n int) (out []string) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range n {
		out = append(out, harmless[i%len(harmless)](rng))
	}
	return out
}
