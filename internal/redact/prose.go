package redact

// The rules of this file know a value by what stands around it in English prose, in configuration and in commands.
// Rules for values with a form of their own are in shapes.go.

// Parts of the expressions.
const (
	// A value in prose ends with its word, or with the JSON string that contains the sentence.
	spokenEnd = `(?:\\*"\s*[,:}\]]|[^!-~]|$)`
	// Marks of Markdown and quotes before a value.
	opening = `(?:\\*["'“‘「『*_` + "`" + `])*`

	passwordHints = "passw pass phrase passcode pwd pw psw pin"
	passwordNames = `(?:passwords?|passwd|pass[ _-]?phrase|pass[ _-]?code|pwd)`
	// Shorter names count only as the whole name or the last part of one: SMTP_PASS, db.pw.
	shortNames  = `(?:^|[^\w-]|[\w.]*[_.-])(?:pass|psw|pw|PW|userPw)`
	secretHints = "secret token key credential auth sid psk bearer"
	// A name must end in one of these, which excludes token_count, secretName and tokenizer.
	secretNames = `(?:secret|token|api[_-]?keys?|api key|app[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key` +
		`(?:[_-]?base)?` +
		`|private[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|account[_-]?key|shared[_-]?key` +
		`|server[_-]?key` +
		`|master[_-]?key|session[_-]?key|admin[_-]?key|license[_-]?key|pre-?shared[_-]?key|psk|client-key-data` +
		`|credentials?` +
		`|_auth|_authToken|auth[_-]?token|bearer)`
	// What people call such a thing in a sentence.
	spokenPasswords = `(?:passwords?|passwd|pass ?phrase|pass ?code|pwd|credentials?|login)`
	spokenSecrets   = `(?:api[ -]?key|access[ -]?key|secret(?:[ -]?key)?|token|pin(?: code)?|master key` +
		`|encryption key|signing key` +
		`|private key|psk|pre-shared key|license key|recovery (?:key|code)|backup codes?|one-time code` +
		`|verification code` +
		`|security code|cvv|cvc|otp)`
	spokenNames = `(?:` + spokenPasswords + `|` + spokenSecrets + `)`
	assign      = `\\*["']?[*_` + "`" + `]*\s*(?:=>|:=|==|->|[=:：＝→|])\s*[*_` + "`" + `]*\s*`
)

// prose is searched after shapes and the rules of gitleaks.
var prose = []shape{
	newShape("password", "://", `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"'<>]*:(?P<v>[^\s"'<>]+)@`, urlPassword),
	newShape("token", "://", `\b[a-z][a-z0-9+.-]*://(?P<v>[\w.=-]{16,})@[\w.-]`, urlToken),
	newShape("authorization", "authorization", `(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic`+
		`|token|apikey`+
		`|digest|negotiate|key)\s+)?(?P<v>[^\s"',;\\]{6,})`, headerValue),
	newShape("authorization", "bearer ", `(?i)\bbearer\s+(?P<v>[\w.=+/~-]{16,})`, hasDigit),
	newShape("cookie", "cookie:", `(?i)\bcookie:\s*(?P<v>[\w.-]+=[^\s;]{8,}(?:;\s*[\w.-]+=[^\s;]*)*)`, hasDigit),
	newShape("password", "@", `(?:^`+
		`|[\s"'=`+"`"+`(])[\w.-]+:(?P<v>[^\s:@/"'<>]{4,})@(?:tcp|udp|unix)?[\w.(\[-]+(?::\d+|/|\))`, mixedPassword),
	newShape("password", "pass secret token key pwd", `(?i)["'][\w.-]*(?:passw(?:or)?d|pass|pwd|passphrase`+
		`|secret|token|api_?key|private_?key)["']\s*,\s*["'](?P<v>[^"'\n]{3,})["']`,
		quotedPassword),
	newShape("docker-auth", "auth", `"_?auth"\s*:\s*"(?P<v>[A-Za-z0-9+/]{8,}={0,2})"`, encodedPair),

	// Assignments, JSON, YAML, Markdown.
	newShape("password", passwordHints, `(?i)`+passwordNames+assign+`\\*"(?P<v>[^"\\\n]{3,})\\*"`, quotedPassword),
	newShape("password", passwordHints, `(?i)`+passwordNames+assign+`\\*'(?P<v>[^'\\\n]{3,})\\*'`, quotedPassword),
	newShape("password", passwordHints, `(?i)`+passwordNames+assign+`(?P<v>[^\s"'，。；、|`+"`"+`]{4,})`, barePassword),
	newShape("password", "pass pw psw", `(?i:`+shortNames+`)`+assign+`\\*["']`+
		`(?P<v>[^"'\\\n]{3,})\\*["']`, quotedPassword),
	newShape("password", "pass pw psw", `(?i:`+shortNames+`)`+assign+`(?P<v>[^\s"'，。；、|`+"`"+`]{3,})`, shortPassword),
	newShape("password", "<pass <pwd <secret <token <api <key password> pwd> secret> token> key>",
		`(?i)<(?:\w+:)?\w*(?:password|passwd|passphrase|pwd|secret|token|api-?key|private-?key)\b[^<>]*>\s*`+
			`(?P<v>[^<>\s][^<>]{2,200}?)\s*</`,
		notPlaceholder),
	newShape("password", `value=`, `(?i)(?:name|key|id)=["'][\w.-]*(?:password|passwd|pwd|secret`+
		`|token)["'][^<>\n]{0,40}?value=["'](?P<v>[^"'\n]{3,})["']`,
		notPlaceholder),
	newShape("secret", secretHints, `(?i)`+secretNames+assign+`\\*["'](?P<v>[^"'\\\s]{8,})\\*["']`, quotedSecret),
	newShape("secret", secretHints, `(?i)`+secretNames+assign+`(?:bearer\s+)?(?P<v>[^\s"'，。；、,;&`+
		`|`+"`"+`]{8,})`, bareSecret),
	newShape("secret", "?key= &key= ?sig= &sig= signature= token= &code= ?code=",
		`(?i)[?&#](?:key|sig|signature|x-amz-signature|code|\w*token|auth|sid)=(?P<v>[^\s"'&<>#]{12,})`, bareSecret),
	newShape("pin", "pin cvv cvc otp code", `(?i)\b(?:pin(?:[ -]?code)?|cvv2?|cvc|otp|one-time code`+
		`|verification code|security code|2fa code|door code`+
		`|gate code|alarm code|safe code|lock code|unlock code)\b[^.\n;:=\d]{0,40}?(?:\s(?:is|was|to)\s`+
		`(?:now\s)?|[:=]\s*)`+opening+
		`(?P<v>\d{3,8})\b`, nil),
	newShape("recovery-code", "code", `(?i)\b(?:recovery|backup|rescue|scratch)[ -]codes?\b[^.\n\d]{0,24}?`+
		`(?P<v>[a-z0-9]{3,10}-[a-z0-9]{3,10}(?:-[a-z0-9]{3,10})*(?:[\s,]+[a-z0-9]{3,10}-`+
		`[a-z0-9]{3,10}(?:-[a-z0-9]{3,10})*)*)`, hasDigit),
	newShape("totp-secret", "2fa totp mfa authenticator otp", `(?i)\b(?:2fa|totp|mfa|authenticator`+
		`|otp)\b[^.\n]{0,40}?\b(?P<v>(?-i:[A-Z2-7]{4}(?: ?[A-Z2-7]{4}){3,15}))\b`, nil),
	newShape("ssn", "ssn social", `(?i)\b(?:ssn|social security(?: number)?)\b[^\n\d]{0,20}`+
		`(?P<v>\d{3}-\d{2}-\d{4})\b`, nil),
	newShape("hex-key", "key secret seed token psk", `(?i)(?:\b|_)(?P<n>[\w-]*(?:\s[\w-]+)?)\s?(?:key|secret`+
		`|seed|token|psk)\b[^.\n;]{0,30}?\b(?:0x)?(?P<v>[0-9a-f]{32,128})\b`, hexKey),
	newShape("seed-phrase", "seed phrase mnemonic recovery backup wallet", `(?i)\b(?:seed|mnemonic|recovery`+
		`|backup|wallet|secret)\b[ \w]{0,24}?(?:phrase|words?|seed|mnemonic|is|:)?`+
		`[^\n.]{0,20}?[:=\-"'“]?\s*["'“`+"`"+`]?(?P<v>(?-i:(?:\d{1,2}[.)]\s*)?[a-z]{3,8}(?:[ ,]+(?:\d{1,2}[.)]`+
		`\s*)?[a-z]{3,8}){11,23}))(?:[^\w]|$)`, seedPhrase),

	// Sentences.
	newShape("password", passwordHints, `(?i)\b`+passwordNames+`\s+(?:is|was|to|as)\s+(?:now\s+)?`+opening+``+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, spokenPassword),
	newShape("password", passwordHints+" credential login", `(?i)\b`+spokenPasswords+`\b[^.\n;:=|]{0,60}?`+
		`(?:\s(?:is|are|was|remains|becomes|reads|equals|to|of|set to|changed to|will be)|:)\s+(?:now\s+`+
		`|still\s+|just\s+|simply\s+|called\s+)?`+opening+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, spokenSecret),
	newShape("secret", secretHints+" psk code otp cvv cvc", `(?i)\b`+spokenSecrets+`\b[^.\n;:=|]{0,60}?`+
		`(?:\s(?:is|are|was|remains|becomes|reads|equals|to|of|set to|changed to|will be)|:)\s+(?:now\s+`+
		`|still\s+|just\s+|simply\s+|called\s+)?`+opening+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, spokenSecret),
	newShape("password", passwordHints+" secret token key credential", `(?i)\b(?:use|using|enter|type|take|put`+
		`|set|with|give|try|accepts?|chose|choose)\s+`+opening+
		`(?P<v>[!-~]{4,}?)["'”`+"`"+`]?\s+(?:as|for|is)\s+(?:[\w'-]+\s+){0,5}?`+spokenNames+`\b`, spokenSecret),
	newShape("password", passwordHints+" secret token key", `(?i)(?:^|\s)`+opening+``+
		`(?P<v>[!-~]{6,}?)["'”`+"`"+`]?\s+is\s+(?:the|my|our|your|his|her|their)\s+`+
		`(?:[\w'-]+\s+){0,4}?`+spokenNames+`\b`, spokenSecret),
	newShape("password", passwordHints+" secret token key credential", `(?i)\b`+spokenNames+`\b[^.\n;:=`+
		`|"“「`+"`"+`]{0,60}?(?:\s(?:is|was|to|reads|equals|as)|:)\s+(?:now\s+|still\s+)?`+
		`["“「`+"`"+`](?P<v>[^"”」`+"`"+`\n]{4,60})["”」`+"`"+`]`, quotedSentence),
	newShape("password", passwordHints, `(?i)\b`+passwordNames+`\s+`+opening+``+
		`(?P<v>[!-~]{5,}?)`+spokenEnd, mixedPassword),
	newShape("password", "log logon login sign credential cred account user connect auth ssh admin root",
		`(?i)\b(?:log ?[io]n|logon|sign(?:ed)?[ -]?in|login|logged in|credentials?|creds?|account|user(?:name)?`+
			`|authenticate|connect|ssh|access)\b[^\n]{0,40}?`+
			`(?:\b(?:with|as|using|are|is|via|by)\b|:|=)\s*`+opening+`[A-Za-z][\w.@+-]{1,39}["'`+"`"+`]?(?:\s+[`+
			`/|]\s+|\s*/|:\s?|,? (?:and|with)(?: the)? (?:password|pass|pw)?:?\s*|,\s*|\s+)`+opening+
			`(?P<v>[!-~]{4,}?)`+spokenEnd, pairPassword),

	newShape("password", "log sign connect authenticate", `(?i)\b(?:use|using|with`+
		`|as)\s+`+opening+`[A-Za-z][\w.@+-]{1,39}["'`+"`"+
		`]?\s*(?:/|and|with|,)\s*`+opening+`(?P<v>[!-~]{4,}?)["'`+"`"+`]?\s+to\s+(?:log|sign|connect`+
		`|authenticate)`, pairPassword),

	// Commands and files of programs.
	newShape("password", "password(", `(?i)\bpassword\(\s*["'](?P<v>[^"'\n]{3,})["']\s*\)`, notPlaceholder),
	newShape("password", "--pass", `--pass(?:word|wd|phrase|code)?[ =]+["']?`+
		`(?P<v>[^\s"'-][^\s"']{2,})`, bareOptionPassword),
	newShape("password", "curl wget", `\b(?:curl|wget)\b[^\n|]*?\s(?:-u|--user`+
		`|--proxy-user)\s*=?["']?[^\s:"']+:(?P<v>[^\s"']+)`, notPlaceholder),
	newShape("password", "sshpass", `\bsshpass\s+-p\s*["']?(?P<v>[^\s"']{3,})`, notPlaceholder),
	newShape("password", "mysql mariadb", `\b(?:mysql\w*|mariadb[\w-]*)\b[^\n|;]*?\s-p["']?`+
		`(?P<v>[^\s"'-][^\s"']{2,})`, notPlaceholder),
	newShape("password", "login", `\blogin\b[^\n|;]*?\s(?:-p|--password)[ =]*["']?`+
		`(?P<v>[^\s"'-][^\s"']{2,})`, notPlaceholder),
	newShape("password", "redis-cli mosquitto mongo ldap unzip zip 7z smbclient expect sqlcmd",
		`\b(?:redis-cli[^\n|;]*?\s-a|mosquitto_\w+[^\n|;]*?\s-P|mongo\w*[^\n|;]*?\s-p|ldap\w+[^\n|;]*?\s-w|`+
			`(?:un)?zip[^\n|;]*?\s-P|7z\w?[^\n|;]*?\s-p`+
			`|sqlcmd[^\n|;]*?\s-P|smbclient[^\n|;]*?\s(?:-U)\s*["']?[\w\\]+%)\s*["']?`+
			`(?P<v>[^\s"'-][^\s"']{2,})`, optionPassword),
	newShape("password", "chpasswd sudo -s", `\becho\s+["']?(?:[\w.-]+:)?(?P<v>[^\s"'|$]{3,})["']?\s*\|\s*`+
		`(?:sudo\s+)?(?:chpasswd|sudo\s+-S|passwd\b)`, notPlaceholder),
	newShape("password", "htpasswd", `\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+(?P<v>\S{3,})`, notPlaceholder),
	newShape("password", "identified password", `(?i)\b(?:identified\s+(?:with\s+\w+\s+)?by|(?:with|role\s+\w+`+
		`|user\s+\w+)(?:\s+\w+)*?\s+password)\s+["'](?P<v>[^"'\n]{3,})["']`, notPlaceholder),
	newShape("password", "requirepass masterauth storepass keypass pass:", `(?i)(?:\b(?:requirepass`+
		`|masterauth)\s+|-(?:store|key)pass\s+|-pass(?:in|out)\s+pass:)["']?(?P<v>[^\s"']{3,})`,
		notPlaceholder),
	newShape("password", "net use", `(?i)\bnet\s+use\s+\S+(?:\s+\\\\\S+)?\s+`+
		`(?P<v>[^\s/\\*][^\s/]{2,})\s+/user:`, notPlaceholder),
	newShape("password", "machine", `(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<v>\S{3,})`, notPlaceholder),
	newShape("password", "login", `(?i)\blogin\s+[\w.@-]+\s+password\s+(?P<v>\S{3,})`, mixedPassword),
	newShape("password", "5432 3306 1433 5433", `(?m)(?:^`+
		`|[\s"'`+"`"+`])[\w.*-]+:(?:5432|3306|1433|5433):[\w*-]+:[\w.*-]+:(?P<v>[^\s:"']{4,})(?:\s|["'`+"`"+`]`+
		`|$)`, notPlaceholder),
	newShape("password", "password secret username", `(?i)\b(?:username\s+\S+\s+(?:privilege\s+\d+\s+)?`+
		`(?:password|secret)|enable\s+(?:password|secret))\s+\d\s+(?P<v>\S{4,})`, notPlaceholder),
	newShape("secret", "--token --secret key --auth", `(?i)--(?:[a-z-]*-)?(?:token|secret|api-?key|access-?key`+
		`|auth(?:-?token)?)[ =]+["']?(?P<v>[^\s"'-][^\s"']{7,})`, bareSecret),
	newShape("jwk", `"d" "k" "kty`, `"kty"\s*:[^{}]*?"(?:d|k)"\s*:\s*"(?P<v>[\w-]{16,})"`, nil),
}
