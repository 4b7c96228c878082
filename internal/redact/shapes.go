package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// shape describes one kind of secret. Group "v" of the expression is the value to replace; without that group it is
// the whole match.
type shape struct {
	kind    string
	hints   []string // lower case; the expression runs only on texts that contain one of them
	re      *lazyregexp.Pattern
	accepts func(value, match string) bool // rejects false positives; nil accepts every match
}

// hinted reports whether the lower-case text contains a hint. The substring search is far cheaper than the expression.
func (p *shape) hinted(low string) bool {
	for _, h := range p.hints {
		if strings.Contains(low, h) {
			return true
		}
	}
	return false
}

// replace replaces every value of this shape by a marker and counts them.
func (p *shape) replace(s string) (string, int) {
	var b strings.Builder
	last, n := 0, 0
	for _, m := range p.re.FindAllStringSubmatchIndex(s, -1) {
		group := max(0, p.re.SubexpIndex("v"))
		from, to := m[2*group], m[2*group+1]
		if from < 0 || isMarker(s[from:to]) || p.accepts != nil && !p.accepts(s[from:to], s[m[0]:m[1]]) {
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

// newShape makes a shape from hints separated by spaces.
func newShape(kind, hints, re string, is func(value, match string) bool) shape {
	return shape{kind: kind, hints: strings.Fields(hints), re: lazyregexp.New(re), accepts: is}
}

// shapes are applied in order: first values with a recognisable form, then values that only their context identifies.
// A value replaced by an earlier shape is a marker for the later ones, which skip it.
var shapes = []shape{
	newShape("private-key", "private key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]`+
		`|-[^-]){16,}(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?`, keyMaterial),
	newShape("private-key", "age-secret-key-1", `AGE-SECRET-KEY-1[0-9A-Z]{40,}`, nil),
	newShape("jwt", "eyj", `\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){1,3}`, nil),

	newShape("aws-key", "akia asia abia acca", `\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, nil),
	newShape("google-key", "aiza", `\bAIza[\w-]{35}`, nil),
	newShape("google-token", "ya29. gocspx- 1//0", `\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}|\b1//0[\w-]{30,}`, nil),
	newShape("alibaba-key", "ltai", `\bLTAI[A-Za-z0-9]{12,30}\b`, hasDigit),
	newShape("tencent-key", "akid", `\bAKID[A-Za-z0-9]{28,40}\b`, nil),
	newShape("azure-key", "accountkey sharedaccesskey",
		`(?i)\b(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/=]{20,})`,
		nil),
	newShape("digitalocean-token", "_v1_", `\bdo[opr]_v1_[0-9a-f]{32,}`, nil),

	newShape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
		`\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{22,}`, nil),
	newShape("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
		`\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[\w-]{20,}`, nil),
	newShape("slack-token", "xox xapp-", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}`, nil),
	newShape("webhook", "hooks.slack.com/ /api/webhooks/ webhook/send?key=",
		`(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/`+
			`|webhook/send\?key=)(?P<v>[\w/+-]{16,})`, nil),
	newShape("telegram-token", ":aa", `\b\d{8,10}:AA[\w-]{32,}`, nil),
	newShape("stripe-key", "_live_ _test_ whsec_",
		`\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}`,
		nil),
	newShape("anthropic-key", "sk-ant-", `\bsk-ant-[\w-]{16,}`, nil),
	newShape("openai-key", "sk- sess-", `\bsk-(?:proj|svcacct|admin|or-v1|None|live)-[\w-]{16,}|\bsk-[A-Za-z0-9]{20,}\b`+
		`|\bsess-[A-Za-z0-9]{32,}`, hasDigit),
	newShape("token", "hf_ npm_ gsk_ xai- r8_ pplx- nvapi- figd_ sntrys_ sbp_ dapi tskey- pypi- sg. hvs. hvb. shp "+
		"dp.pt. "+
		"lin_api_ ntn_ atatt3 key- pmak- fw_",
		`\b(?:hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}`+
			`|pplx-[A-Za-z0-9]{30,}|nvapi-[\w-]{30,}`+
			`|figd_[\w-]{20,}|sntrys_[\w=+/-]{30,}|sbp_[0-9a-f]{30,}|dapi[0-9a-f]{32}|tskey-[a-z]+-[A-Za-z0-9-]{16,}`+
			`|pypi-AgEI[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}`+
			`|hv[sb]\.[\w-]{20,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|dp\.pt\.[A-Za-z0-9]{30,}`+
			`|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|ATATT3[\w=-]{40,}|key-[0-9a-f]{32}\b`+
			`|PMAK-[0-9a-f-]{30,}|fw_[A-Za-z0-9]{22,})`, hasDigit),

	newShape("password", "://", `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"'<>]*:(?P<v>[^\s"'<>]+)@`, urlPassword),
	newShape("authorization", "authorization",
		`(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|apikey`+
			`|digest|negotiate|key)\s+)?(?P<v>[^\s"',;\\]{6,})`, headerValue),
	newShape("authorization", "bearer ", `(?i)\bbearer\s+(?P<v>[\w.=+/~-]{16,})`, hasDigit),
	newShape("cookie", "cookie:", `(?i)\bcookie:\s*(?P<v>[\w.-]+=[^\s;]{8,}(?:;\s*[\w.-]+=[^\s;]*)*)`, hasDigit),
	newShape("password", "curl ", `\bcurl\b[^\n|]*?\s(?:-u|--user)\s*=?["']?[^\s:"']+:(?P<v>[^\s"']+)`, notPlaceholder),

	newShape("password", passwordHints, `(?i)`+passwordNames+
		`\\*["']?\s*(?:=>|:=|==|[=:：＝])\s*\\*"(?P<v>[^"\\\n]{3,})\\*"`,
		quotedPassword),
	newShape("password", passwordHints, `(?i)`+passwordNames+
		`\\*["']?\s*(?:=>|:=|==|[=:：＝])\s*\\*'(?P<v>[^'\\\n]{3,})\\*'`,
		quotedPassword),
	newShape("password", passwordHints, `(?i)`+passwordNames+`\\*["']?\s*[=:：＝]\s*(?P<v>[^\s"'，。；、]{4,})`,
		barePassword),
	newShape("password", passwordHints, `(?i)\b(?:password|passwd|passphrase|passcode|pwd)\s+(?:is|was`+
		`|to)\s+(?:now\s+)?["'“‘]?(?P<v>[!-~]{4,}?)`+spokenEnd, spokenPassword),
	newShape("password", "--pass", `--pass(?:word|wd|phrase)?\s+["']?(?P<v>[^\s"'-][^\s"']{3,})`, barePassword),
	newShape("password", "密码 口令 密钥 秘钥 令牌 验证码", `(?:密码|口令|密钥|秘钥|令牌|验证码)\s*(?:就?是|为|改成|改为|设为|设成|:|：|=`+
		`|＝)\s*["'“‘「『]?(?P<v>[!-~]{4,}?)`+spokenEnd, chinesePassword),

	newShape("secret", secretHints, `(?i)`+secretNames+
		`\\*["']?\s*(?:=>|:=|[=:：＝])\s*\\*["'](?P<v>[^"'\\\s]{8,})\\*["']`,
		quotedSecret),
	newShape("secret", secretHints, `(?i)`+secretNames+`\\*["']?\s*[=:：＝]\s*(?P<v>[^\s"'，。；、,;&]{8,})`, bareSecret),
	newShape("secret", secretHints, `(?i)`+secretNames+`\s*(?:\s(?:is|was)\s|是|为)\s*["'“「]?(?P<v>[!-~]{8,}?)`+spokenEnd,
		bareSecret),
	newShape("secret", "--token --secret key ", `(?i)--(?:[a-z-]*-)?(?:token|secret|api-?key`+
		`|access-?key)\s+["']?(?P<v>[^\s"'-][^\s"']{7,})`, bareSecret),
	newShape("secret", "?key= &key= ?sig= &sig= signature=",
		`(?i)[?&](?:key|sig|signature|x-amz-signature|code)=(?P<v>[^\s"'&<>#]{12,})`, bareSecret),
}

const (
	// Parts of the expressions above.
	passwordHints = "password passwd passphrase passcode pwd"
	// A value in prose ends with its word, or with the JSON string that contains the sentence.
	spokenEnd     = `(?:\\*"\s*[,:}\]]|[^!-~]|$)`
	passwordNames = `(?:passwords?|passwd|passphrase|passcode|pwd)`
	secretHints   = "secret token key credential"
	// A name must end in one of these, which excludes token_count, secretName and tokenizer.
	secretNames = `(?:secret|token|api[_-]?keys?|api key|access[_-]?key(?:[_-]?id)?|secret[_-]?key(?:[_-]?base)?` +
		`|private[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|shared[_-]?key` +
		`|master[_-]?key|credentials?)`
)
