package redact

import (
	"strings"
	"sync"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// shape describes one kind of secret. Group "v" of the expression is the value to replace, else the first group that
// matched, else the whole match. The lists of shapes are constants, which cost no start of a program; prepare does what
// must be computed.
type shape struct {
	kind     string
	hintList string // hints separated by spaces, in the notation of hintOf
	expr     string
	accepts  func(value, match string) bool // rejects false positives; nil accepts every match
	assigned bool                           // a sign of assignment follows the keyword, see hint
	mixed    bool                           // accepts implies looksMixed
	worth    func(text string) bool         // whether a text is worth a look; nil for every text
	values   func(text string) []Finding    // looks instead of the expression

	hints   []hint // the expression looks only around them, see reach
	re      *lazyregexp.Pattern
	derived func() derived // computed when it is first needed
}

// prepare reads the hints and sets what follows from the expression.
func (p *shape) prepare() {
	for text := range strings.FieldsSeq(p.hintList) {
		p.hints = append(p.hints, hintOf(text))
	}
	expr, mixed := p.expr, p.mixed
	p.re = lazyregexp.New(expr)
	p.derived = sync.OnceValue(func() derived { return derive(expr, mixed) })
}

// newShape makes a shape from hints separated by spaces.
func newShape(kind, hints, re string, is func(value, match string) bool) shape {
	return shape{kind: kind, hintList: hints, expr: re, accepts: is}
}

// newSeedPhrase makes a shape of seed phrases, whose expressions are slow.
func newSeedPhrase(hints, re string, is func(value, match string) bool) shape {
	s := newShape("seed-phrase", hints, re, is)
	s.worth = hasPhrase
	return s
}

// newAssigned makes a shape whose keyword is a name with a sign of assignment behind it.
func newAssigned(kind, hints, re string, is func(value, match string) bool) shape {
	s := newShape(kind, hints, re, is)
	s.assigned = true
	return s
}

// newMixedShape makes a shape whose check implies looksMixed, so that texts without such a word need no look.
func newMixedShape(kind, hints, re string, is func(value, match string) bool) shape {
	s := newShape(kind, hints, re, is)
	s.mixed = true
	return s
}

// shapes are values with a recognisable form that gitleaks does not know, or knows too narrowly for prose. Values that
// only their surroundings identify are in prose.go and chinese.go.
var shapes = []shape{
	newShape("private-key", "private~key", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:[^-]`+
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
	newShape("webhook", "webhook /hooks/ hooks.",
		`(?i)https?://[^\s"'<>]*?(?:webhook|\bhooks?\b)[\w.-]*/(?P<v>[^\s"'<>]{20,})`, randomSegment),
	newShape("telegram-token", ":aa", `\b\d{8,10}:AA[\w-]{32,}`, nil),
	newShape("mapbox-token", "sk.eyj", `\bsk\.eyJ[\w-]{8,}\.[\w-]{16,}`, nil),
	newShape("plex-claim", "claim-", `\bclaim-[A-Za-z0-9_-]{20}\b`, hasDigit),
	newShape("mailchimp-key", "-us", `\b[0-9a-f]{32}-us\d{1,2}\b`, nil),
	newShape("nostr-key", "nsec1", `\bnsec1[a-z0-9]{58}\b`, nil),
	newShape("telegram-token", "/bot", `/bot\d{8,10}:(?P<v>[\w-]{30,})`, nil),
	newShape("license-key", "licence license product~key activation serial registration cd~key cd-key windows~key",
		`(?i)\b(?:licen[cs]e|product|activation|serial|registration|cd|windows)\b[^.\n]{0,40}?\b`+
			`(?P<v>(?-i:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,7}))\b`, keyGroups),
	newShape("stripe-key", "_live_ _test_ whsec_",
		`\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}`,
		notPlaceholder),
	newShape("anthropic-key", "sk-ant-", `\bsk-ant-[\w-]{16,}`, nil),
	newShape("openai-key", "sk- sess-", `\bsk-(?:proj|svcacct|admin|or-v1|None|live)-[\w-]{16,}`+
		`|\bsk-[A-Za-z0-9]{20,}\b`+
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

	newShape("bootstrap-token", "token", `(?i)token\S{0,3}[ =:]+["']?(?P<v>(?-i:[a-z0-9]{6}\.[a-z0-9]{16}))\b`, hasDigit),
	newShape("firebase-key", ":apa91", `\bAAAA[\w-]{7}:APA91[\w-]{100,}`, nil),
	newShape("sourcegraph-token", "sgp_", `\bsgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}\b`, nil),
	newShape("dingtalk-secret", "sec", `\bSEC[0-9a-f]{60,}\b`, nil),
	newShape("webhook", "open-apis/bot oapi.dingtalk webhook/send",
		`(?:open-apis/bot/v2/hook/|robot/send\?access_token=|webhook/send\?key=)(?P<v>[\w-]{16,})`, nil),
	newShape("alipay-key", "mii", `\bMII[EB][A-Za-z0-9+/]{200,}={0,2}`, privateDER),
	newShape("putty-key", "private-lines", `Private-Lines: \d+\s+(?P<v>(?:[A-Za-z0-9+/=]{16,}\s*)+)`, nil),
	newShape("ansible-vault", "$ansible_vault", `\$ANSIBLE_VAULT;[\d.]+;AES256\s+(?P<v>(?:[0-9a-f]{16,}\s*)+)`, nil),
	newShape("wallet-key", "prv", `\b[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,}`, nil),
	newShape("password-hash", "$", `\$(?:[1567y]|2[abxy]?|gy|apr1|md5|sha1|argon2\w{1,2}|scrypt|bcrypt`+
		`|pbkdf2[\w-]*)\$[./A-Za-z0-9=$,+-]{16,}`,
		nil),
	newShape("password-hash", "pbkdf2_ scram-sha- {ssha {sha} {md5} {crypt}", `\bpbkdf2_sha\w+\$\d+\$[^\s"']{20`+
		`,}|SCRAM-SHA-\d+\$\d+:[^\s"']{20,}`+
		`|\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT)\}[A-Za-z0-9+/=$.]{12,}`, nil),
	newShape("password-hash", "*", `(?:^|[^\w*])(?P<v>\*[0-9A-F]{40})\b`, nil),
	newShape("totp-secret", "otpauth://", `otpauth://[^\s"']*?[?&]secret=(?P<v>[A-Za-z2-7]{8,})`, nil),
	newShape("wifi-password", "wifi:", `(?i)\bWIFI:[^\n]{0,80}?[;:]P:(?P<v>[^;\n]{3,});`, nil),
	newShape("access-token", "access_token$ flyv1 ", `access_token\$(?:production|sandbox)\$\w+\$[0-9a-f]{20,}`+
		`|\bFlyV1 (?P<v>fm\d\w?_[\w+/=,-]{20,})`, nil),
}
