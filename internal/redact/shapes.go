package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

// shape is one kind of secret. Group "v" of the expression is the value to replace, the whole match when there is none.
type shape struct {
	kind  string
	hints []string // lower case; the expression is tried only where one of them occurs
	re    *pattern.Pattern
	is    func(value, match string) bool // false: looks alike, but is not a secret; nil: always is
}

func (p *shape) hinted(low string) bool {
	for _, h := range p.hints {
		if strings.Contains(low, h) {
			return true
		}
	}
	return false
}

// replace puts the marker in place of every value of the shape.
func (p *shape) replace(s string) (string, int) {
	var b strings.Builder
	last, n := 0, 0
	for _, m := range p.re.FindAllStringSubmatchIndex(s, -1) {
		group := max(0, p.re.SubexpIndex("v"))
		from, to := m[2*group], m[2*group+1]
		if from < 0 || isMarker(s[from:to]) || p.is != nil && !p.is(s[from:to], s[m[0]:m[1]]) {
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(marker(p.kind))
		last, n = to, n+1
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[last:])
	return b.String(), n
}

func of(kind, hints, re string, is func(value, match string) bool) shape {
	return shape{kind: kind, hints: strings.Fields(hints), re: pattern.New(re), is: is}
}

// shapes are tried in order: values that tell by themselves what they are, then values that their surroundings give away.
// A value found by an earlier one is a marker to the later ones.
var shapes = []shape{
	of("private-key", "private key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-]){16,}(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`, keyMaterial),
	of("private-key", "age-secret-key-1", `AGE-SECRET-KEY-1[0-9A-Z]{40,}`, nil),
	of("jwt", "eyj", `\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){1,3}`, nil),

	of("aws-key", "akia asia abia acca", `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, nil),
	of("google-key", "aiza", `\bAIza[\w-]{35}`, nil),
	of("google-token", "ya29. gocspx- 1//0", `\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|\b1//0[\w-]{30,}`, nil),
	of("alibaba-key", "ltai", `\bLTAI[A-Za-z0-9]{12,30}\b`, hasDigit),
	of("tencent-key", "akid", `\bAKID[A-Za-z0-9]{28,40}\b`, nil),
	of("azure-key", "accountkey sharedaccesskey", `(?i)\b(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/=]{20,})`, nil),
	of("digitalocean-token", "_v1_", `\bdo[opr]_v1_[0-9a-f]{32,}`, nil),

	of("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", `\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{22,}`, nil),
	of("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-", `\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w-]{20,}`, nil),
	of("slack-token", "xox xapp-", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}`, nil),
	of("webhook", "hooks.slack.com/ /api/webhooks/ webhook/send?key=", `(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|webhook/send\?key=)(?P<v>[\w/+-]{16,})`, nil),
	of("telegram-token", ":aa", `\b\d{8,10}:AA[\w-]{32,}`, nil),
	of("stripe-key", "_live_ _test_ whsec_", `\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}`, nil),
	of("anthropic-key", "sk-ant-", `\bsk-ant-[\w-]{16,}`, nil),
	of("openai-key", "sk- sess-", `\bsk-(?:proj|svcacct|admin|or-v1|None|live)-[\w-]{16,}|\bsk-[A-Za-z0-9]{20,}\b|\bsess-[A-Za-z0-9]{32,}`, hasDigit),
	of("token", "hf_ npm_ gsk_ xai- r8_ pplx- nvapi- figd_ sntrys_ sbp_ dapi tskey- pypi- sg. hvs. hvb. shp dp.pt. lin_api_ ntn_ atatt3 key- pmak- fw_",
		`\b(?:hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|nvapi-[\w-]{30,}`+
			`|figd_[\w-]{20,}|sntrys_[\w=+/-]{30,}|sbp_[0-9a-f]{30,}|dapi[0-9a-f]{32}|tskey-[a-z]+-[A-Za-z0-9-]{16,}|pypi-AgEI[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}`+
			`|hv[sb]\.[\w-]{20,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|dp\.pt\.[A-Za-z0-9]{30,}|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|ATATT3[\w=-]{40,}|key-[0-9a-f]{32}\b|PMAK-[0-9a-f-]{30,}|fw_[A-Za-z0-9]{22,})`, hasDigit),

	of("password", "://", `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"'<>]*:(?P<v>[^\s"'<>]+)@`, urlPassword),
	of("authorization", "authorization", `(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|apikey|digest|negotiate|key)\s+)?(?P<v>[^\s"',;\\]{6,})`, headerValue),
	of("authorization", "bearer ", `(?i)\bbearer\s+(?P<v>[\w.=+/~-]{16,})`, hasDigit),
	of("cookie", "cookie:", `(?i)\bcookie:\s*(?P<v>[\w.-]+=[^\s;]{8,}(?:;\s*[\w.-]+=[^\s;]*)*)`, hasDigit),
	of("password", "curl ", `\bcurl\b[^\n|]*?\s(?:-u|--user)\s*=?["']?[^\s:"']+:(?P<v>[^\s"']+)`, notPlaceholder),

	of("password", passwordHints, `(?i)`+passwordNames+`\\*["']?\s*(?:=>|:=|==|[=:：＝])\s*\\*"(?P<v>[^"\\\n]{3,})\\*"`, quotedPassword),
	of("password", passwordHints, `(?i)`+passwordNames+`\\*["']?\s*(?:=>|:=|==|[=:：＝])\s*\\*'(?P<v>[^'\\\n]{3,})\\*'`, quotedPassword),
	of("password", passwordHints, `(?i)`+passwordNames+`\\*["']?\s*[=:：＝]\s*(?P<v>[^\s"'，。；、]{4,})`, barePassword),
	of("password", passwordHints, `(?i)\b(?:password|passwd|passphrase|passcode|pwd)\s+(?:is|was|to)\s+(?:now\s+)?["'“‘]?(?P<v>[!-~]{4,}?)`+spokenEnd, spokenPassword),
	of("password", "--pass", `--pass(?:word|wd|phrase)?\s+["']?(?P<v>[^\s"'-][^\s"']{3,})`, barePassword),
	of("password", "密码 口令 密钥 秘钥 令牌 验证码", `(?:密码|口令|密钥|秘钥|令牌|验证码)\s*(?:就?是|为|改成|改为|设为|设成|:|：|=|＝)\s*["'“‘「『]?(?P<v>[!-~]{4,}?)`+spokenEnd, chinesePassword),

	of("secret", secretHints, `(?i)`+secretNames+`\\*["']?\s*(?:=>|:=|[=:：＝])\s*\\*["'](?P<v>[^"'\\\s]{8,})\\*["']`, quotedSecret),
	of("secret", secretHints, `(?i)`+secretNames+`\\*["']?\s*[=:：＝]\s*(?P<v>[^\s"'，。；、,;&]{8,})`, bareSecret),
	of("secret", secretHints, `(?i)`+secretNames+`\s*(?:\s(?:is|was)\s|是|为)\s*["'“「]?(?P<v>[!-~]{8,}?)`+spokenEnd, bareSecret),
	of("secret", "--token --secret key ", `(?i)--(?:[a-z-]*-)?(?:token|secret|api-?key|access-?key)\s+["']?(?P<v>[^\s"'-][^\s"']{7,})`, bareSecret),
	of("secret", "?key= &key= ?sig= &sig= signature=", `(?i)[?&](?:key|sig|signature|x-amz-signature|code)=(?P<v>[^\s"'&<>#]{12,})`, bareSecret),
}

const (
	passwordHints = "password passwd passphrase passcode pwd"
	// A spoken value ends with its word, or with the JSON string that the sentence is in.
	spokenEnd     = `(?:\\*"\s*[,:}\]]|[^!-~]|$)`
	passwordNames = `(?:passwords?|passwd|passphrase|passcode|pwd)`
	secretHints   = "secret token key credential"
	// A name must end in one of these, so token_count, secretName and tokenizer are none.
	secretNames = `(?:secret|token|api[_-]?keys?|api key|access[_-]?key(?:[_-]?id)?|secret[_-]?key(?:[_-]?base)?|private[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|shared[_-]?key|master[_-]?key|credentials?)`
)
