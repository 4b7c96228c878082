package redact

import "strings"

// The rules of this file know a value by what stands around it in English prose, in configuration and in commands.
// Rules for values with a form of their own are in shapes.go.

// Parts of the expressions.
const (
	// A value in prose ends with its word, or with the JSON string that contains the sentence.
	spokenEnd = `(?:\\*"\s*[,:}\]]|[^!-~]|$)`
	// Marks of Markdown and quotes before a value.
	opening = `(?:\\*["'“‘「『*_` + "`" + `])*`

	passwordNames = `(?:pass(?:words?|wd|[ _-]?(?:phrase|code))|pwd)`
	passwordHints = "password passwd passphrase pass~phrase pass_phrase pass-phrase passcode pass~code pass_code " +
		"pass-code pwd"
	nameHints = "|password |passwd| |passphrase |pass~phrase |pass_phrase |pass-phrase |passcode |pass~code |pass_code " +
		"|pass-code |pwd|"
	// Shorter names count only as the whole name or the last part of one: SMTP_PASS, db.pw.
	shortNames = `(?:^|[^\w-]|[\w.]*[_.-])(?:pass|psw|pw|PW|userPw)`
	shortHints = "pass pw psw"
	// The kinds of keys that are secret. A name must end in one of secretNames, which excludes token_count, secretName
	// and tokenizer.
	secretKinds = `(?:api|app|access|secret|private|auth|encryption|signing|account|shared|server|master|session` +
		`|admin|license|recovery)`
	secretNames = `(?:` + secretKinds + `[ _-]?key(?:[_-]?(?:id|base))?s?|secret|token|psk|client-key-data` +
		`|credentials?|_auth` +
		`|_authToken|auth[_-]?tok(?:en)?|bearer)`
	// What people call such a thing in a sentence.
	spokenPasswords     = `(?:pass(?:words?|wd| ?phrase| ?code)|pwd|credentials?|login)`
	spokenPasswordHints = "|password |passwd |passphrase |pass~phrase |passcode |pass~code |pwd| |credential |login"
	spokenSecrets       = `(?:` + secretKinds + `[ -]?key|secret|token|pin(?: code)?|psk` +
		`|(?:recovery|backup|one-time|verification|security)[ -]codes?|cvv|cvc|otp)`
	spokenNames = `(?:` + spokenPasswords + `|` + spokenSecrets + `)`
	assign      = `\\*["']?[*_` + "`" + `]*\s*(?:=>|:=|==|->|[=:：＝→|])\s*[*_` + "`" + `]*\s*`
)

// The hints of the names above.
var (
	secretHints       = keyHints() + "secret token psk client-key-data credential _auth bearer"
	spokenSecretHints = keyHints() + "|secret |token |pin| |psk| |recovery~code |backup~code |one-time~code " +
		"|verification~code |security~code |recovery-code |backup-code |verification-code |security-code |cvv| |cvc| |otp|"
	spokenHints = spokenPasswordHints + " " + spokenSecretHints
)

// keyHints are the hints of secretKinds: each kind of key with each way to join the two words.
func keyHints() string {
	var b strings.Builder
	for kind := range strings.FieldsSeq("api app access secret private auth encryption signing account shared server " +
		"master session admin license recovery") {
		for _, join := range []string{"", "~", "_", "-"} {
			b.WriteString(kind + join + "key ")
		}
	}
	return b.String()
}

// prose is searched after shapes and the rules of gitleaks.
var prose = []shape{
	newShape("password", "://", `\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@"'<>]*:(?P<v>[^\s"'<>]+)@`, urlPassword),
	newShape("token", "://", `\b[a-z][a-z0-9+.-]*://(?P<v>[\w.=-]{16,})@(?:o\d+\.)?(?P<n>[\w-]*)`, urlToken),
	newShape("authorization", "authorization", `(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic`+
		`|token|apikey`+
		`|digest|negotiate|key)\s+)?(?P<v>[^\s"',;\\]{6,})`, headerValue),
	newShape("authorization", "bearer ", `(?i)\bbearer\s+(?P<v>[\w.=+/~-]{16,})`, hasDigit),
	newShape("cookie", "cookie:", `(?i)\bcookie:\s*(?P<v>[\w.-]+=[^\s;]{8,}(?:;\s*[\w.-]+=[^\s;]*)*)`, hasDigit),
	newMixedShape("password", "@", `(?:^`+
		`|[\s"'=`+"`"+`(])[\w.-]+:(?P<v>[^\s:@/"'<>]{4,})@(?:tcp|udp|unix)?[\w.(\[-]+(?::\d+|/|\))`, mixedPassword),
	newShape("password", "pass secret token key pwd", `(?i)["'][\w.-]*(?:passw(?:or)?d|pass|pwd|passphrase`+
		`|secret|token|api_?key|private_?key)["']\s*,\s*["'](?P<v>[^"'\n]{3,})["']`,
		quotedPassword),
	newShape("docker-auth", "auth", `"_?auth"\s*:\s*"(?P<v>[A-Za-z0-9+/]{8,}={0,2})"`, encodedPair),

	// Assignments, JSON, YAML, Markdown.
	newAssigned("password", passwordHints, `(?i)`+passwordNames+assign+`\\*"(?P<v>[^"\\\n]{3,})\\*"`, quotedPassword),
	newAssigned("password", passwordHints, `(?i)`+passwordNames+assign+`\\*'(?P<v>[^'\\\n]{3,})\\*'`, quotedPassword),
	newAssigned("password", passwordHints, `(?i)`+passwordNames+assign+`(?P<v>[^\s"'，。；、|`+"`"+`]{4,})`, barePassword),
	newAssigned("password", shortHints, `(?i:`+shortNames+`)(?:\[\w*\])?`+assign+`\\*["']`+
		`(?P<v>[^"'\\\n]{3,})\\*["']`, quotedPassword),
	newAssigned("password", shortHints, `(?i:`+shortNames+`)`+assign+`(?P<v>[^\s"'，。；、|`+"`"+`]{3,})`, shortPassword),
	newShape("password", "<pass <pwd <secret <token <api <key password> pwd> secret> token> key>",
		`(?i)<(?:\w+:)?\w*(?:password|passwd|passphrase|pwd|secret|token|api-?key|private-?key)\b[^<>]*>\s*`+
			`(?P<v>[^<>\s][^<>]{2,200}?)\s*</`,
		notPlaceholder),
	newShape("password", `value=`, `(?i)(?:name|key|id)=["'][\w.-]*(?:password|passwd|pwd|secret`+
		`|token)["'][^<>\n]{0,40}?value=["'](?P<v>[^"'\n]{3,})["']`,
		notPlaceholder),
	newAssigned("secret", secretHints, `(?i)`+secretNames+assign+`\\*["'](?P<v>[^"'\\\s]{8,})\\*["']`, quotedSecret),
	newAssigned("secret", secretHints, `(?i)`+secretNames+assign+`(?:bearer\s+)?(?P<v>[^\s"'，。；、,;&`+
		`|`+"`"+`]{8,})`, bareSecret),
	newShape("secret", "secret= token= key=", `(?:^|[\s"';])[A-Z][A-Z0-9_]*`+
		`(?:SECRET|TOKEN|API_?KEY|SECRET_KEY|ACCESS_KEY)=(?P<v>[^\s"'<>|;&]{6,})`,
		environmentSecret),
	newShape("secret", "?key= &key= ?sig= &sig= signature= token= &code= ?code=",
		`(?i)[?&#](?:key|sig|signature|x-amz-signature|code|\w*token|auth|sid)=(?P<v>[^\s"'&<>#]{12,})`, bareSecret),
	newShape("pin", "|pin| |pincode |pin-code |cvv |cvc |otp| |one-time~code |verification~code |security~code |2fa~code "+
		"|verification~number |security~number "+
		"|door~code |gate~code |alarm~code |safe~code |lock~code |unlock~code", `(?i)\b(?:pin(?:[ -]?code)?|cvv2?|cvc`+
		`|otp|one-time code`+
		`|(?:verification|security) (?:code|number)|2fa code|door code`+
		`|gate code|alarm code|safe code|lock code|unlock code)\b[^.\n;:=\d]{0,40}?(?:\s(?:is|was|to)\s`+
		`(?:now\s)?|[:=]\s*)`+opening+
		`(?P<v>\d{3,8})\b`, nil),
	newShape("recovery-code", "|recovery~code |backup~code |rescue~code |scratch~code |recovery-code |backup-code"+
		" |rescue-code |scratch-code", `(?i)\b(?:recovery|backup|rescue|scratch)[ -]codes?\b[^.\n\d]{0,24}?`+
		`(?P<v>[a-z0-9]{3,10}-[a-z0-9]{3,10}(?:-[a-z0-9]{3,10})*(?:[\s,]+[a-z0-9]{3,10}-`+
		`[a-z0-9]{3,10}(?:-[a-z0-9]{3,10})*)*)`, hasDigit),
	newShape("totp-secret", "|2fa| |totp| |mfa| |authenticator| |otp|", `(?i)\b(?:2fa|totp|mfa|authenticator`+
		`|otp)\b[^.\n]{0,40}?\b(?P<v>(?-i:[A-Z2-7]{4}(?: ?[A-Z2-7]{4}){3,15}[A-Z2-7]{0,3}))\b`, nil),
	newShape("ssn", "|ssn| |social~security", `(?i)\b(?:ssn|social security(?: number)?)\b[^\n\d]{0,20}`+
		`(?P<v>\d{3}-\d{2}-\d{4})\b`, nil),
	newShape("hex-key", "key secret seed token psk salt", `(?i)(?:\b|_)(?P<n>[\w-]*(?:\s[\w-]+)?)\s?(?:key|secret`+
		`|seed|token|psk|salt)\b[^.\n;]{0,30}?\b(?:0x)?(?P<v>[0-9a-f]{32,128})\b`, hexKey),
	newSeedPhrase("seed phrase mnemonic recovery backup wallet", `(?i)\b(?:seed|mnemonic|recovery`+
		`|backup|wallet|secret)\b[ \w]{0,24}?(?:phrase|words?|seed|mnemonic|is|:)?`+
		`[^\n.]{0,20}?[:=\-"'“]?\s*["'“`+"`"+`]?(?P<v>(?-i:(?:\d{1,2}[.)]\s*)?[a-z]{3,8}(?:[ ,]+(?:\d{1,2}[.)]`+
		`\s*)?[a-z]{3,8}){11,23}))(?:[^\w]|$)`, seedPhrase),

	// Sentences.
	newShape("password", nameHints, `(?i)\b`+passwordNames+`\s+(?:is|was|to|as)\s+(?:now\s+)?`+opening+``+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, spokenPassword),
	newMixedShape("password", spokenPasswordHints, `(?i)\b`+spokenPasswords+`\b[^.\n;:=|]{0,60}?`+
		`(?:\s(?:is|are|was|remains|becomes|reads|equals|to|of|set to|changed to|will be)|:)\s+(?:now\s+`+
		`|still\s+|just\s+|simply\s+|called\s+)?`+opening+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, spokenSecret),
	newMixedShape("secret", spokenSecretHints, `(?i)\b`+spokenSecrets+`\b[^.\n;:=|]{0,60}?`+
		`(?:\s(?:is|are|was|remains|becomes|reads|equals|to|of|set to|changed to|will be)|:)\s+(?:now\s+`+
		`|still\s+|just\s+|simply\s+|called\s+)?`+opening+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, spokenSecret),
	newMixedShape("password", spokenHints, `(?i)\b(?:use|using|enter|type|take|put`+
		`|set|with|give|try|accepts?|chose|choose)\s+`+opening+
		`(?P<v>[!-~]{4,}?)["'”`+"`"+`]?\s+(?:as|for|is)\s+(?:[\w'-]+\s+){0,5}?`+spokenNames+`\b`, spokenSecret),
	newMixedShape("password", spokenHints, `(?i)(?:^|\s)`+opening+``+
		`(?P<v>[!-~]{6,}?)["'”`+"`"+`]?\s+is\s+(?:the|my|our|your|his|her|their)\s+`+
		`(?:[\w'-]+\s+){0,4}?`+spokenNames+`\b`, spokenSecret),
	newShape("password", spokenHints, `(?i)\b`+spokenNames+`\b[^.\n;:=`+
		`|"“「`+"`"+`]{0,40}?(?:\s(?:is|was|to|reads|equals|as)|:)\s+(?:now\s+|still\s+)?`+
		`["“「`+"`"+`](?P<v>[^"”」`+"`"+`\n]{4,})["”」`+"`"+`]`, quotedSentence),
	newMixedShape("password", nameHints, `(?i)\b`+passwordNames+`\s+`+opening+``+
		`(?P<v>[!-~]{5,}?)`+spokenEnd, mixedPassword),
	newMixedShape("password", "|log~in |log~on |login| |logon| |sign~in |sign-in |signin |signed~in |signed-in |signedin |logged~in |credential |cred|"+
		" |creds| |account| |user| |username| |authenticate| |connect| |ssh| |access|",
		`(?i)\b(?:log ?[io]n|logon|sign(?:ed)?[ -]?in|login|logged in|credentials?|creds?|account|user(?:name)?`+
			`|authenticate|connect|ssh|access)\b[^\n]{0,40}?`+
			`(?:\b(?:with|as|using|are|is|via|by)\b|:|=)\s*`+opening+`[A-Za-z][\w.@+-]{1,39}["'`+"`"+`]?(?:\s+[`+
			`/|–—+&-]\s+|\s*/|:\s?|,? (?:and|with|using|by|plus)(?: the)? (?:password|pass|pw)?:?\s*|,\s*|\s+)`+opening+
			`(?P<v>[!-~]{4,}?)`+spokenEnd, pairPassword),

	newMixedShape("password", "|log |sign |connect |authenticate", `(?i)\b(?:use|using|with`+
		`|as)\s+`+opening+`[A-Za-z][\w.@+-]{1,39}["'`+"`"+
		`]?\s*(?:/|and|with|,)\s*`+opening+`(?P<v>[!-~]{4,}?)["'`+"`"+`]?\s+to\s+(?:log|sign|connect`+
		`|authenticate)`, pairPassword),

	// Commands and files of programs.
	newShape("password", "password(", `(?i)(?:\b|set_?|with_?|change_?|update_?)password\(`+
		`\s*["'](?P<v>[^"'\n]{3,})["']\s*\)`, notPlaceholder),
	newShape("password", "--pass", `--pass(?:word|wd|phrase|code)?[ =]+["']?`+
		`(?P<v>[^\s"'-][^\s"']{2,})`, bareOptionPassword),
	newShape("password", "|curl| |wget|", `\b(?:curl|wget)\b[^\n|]*?\s(?:-u|--user`+
		`|--proxy-user)\s*=?["']?[^\s:"']+:(?P<v>[^\s"']+)`, notPlaceholder),
	newShape("password", "|sshpass|", `\bsshpass\s+-p\s*["']?(?P<v>[^\s"']{3,})`, notPlaceholder),
	newShape("password", "|mysql |mariadb", `\b(?:mysql\w*|mariadb[\w-]*)\b[^\n|;]*?\s-p["']?`+
		`(?P<v>[^\s"'-][^\s"']{2,})`, notPlaceholder),
	newShape("password", "|login|", `\blogin\b[^\n|;]*?\s(?:-p|--password)[ =]*["']?`+
		`(?P<v>[^\s"'-][^\s"']{2,})`, notPlaceholder),
	newShape("password", "|redis-cli |mosquitto_ |mongo |ldap |unzip |zip |7z |smbclient |sqlcmd",
		`\b(?:redis-cli[^\n|;]*?\s-a|mosquitto_\w+[^\n|;]*?\s-P|mongo\w*[^\n|;]*?\s-p|ldap\w+[^\n|;]*?\s-w|`+
			`(?:un)?zip[^\n|;]*?\s-P|7z\w?[^\n|;]*?\s-p`+
			`|sqlcmd[^\n|;]*?\s-P|smbclient[^\n|;]*?\s(?:-U)\s*["']?[\w\\]+%)\s*["']?`+
			`(?P<v>[^\s"'-][^\s"']{2,})`, optionPassword),
	newShape("password", "chpasswd sudo passwd", `\becho\s+["']?(?:[\w.-]+:)?(?P<v>[^\s"'|$]{3,})["']?\s*\|\s*`+
		`(?:sudo\s+)?(?:chpasswd|sudo\s+-S|passwd\b)`, notPlaceholder),
	newShape("password", "htpasswd", `\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+["']?(?P<v>[^\s"']{3,})`, notPlaceholder),
	newShape("password", "identified |password", `(?i)\b(?:identified\s+(?:with\s+\w+\s+)?by|(?:with|role\s+\w+`+
		`|user\s+\w+)(?:\s+\w+)*?\s+password)\s+["'](?P<v>[^"'\n]{3,})["']`, notPlaceholder),
	newShape("password", "requirepass masterauth storepass keypass pass:", `(?i)(?:\b(?:requirepass`+
		`|masterauth)\s+|-(?:src|dest)?(?:store|key)pass\s+|-pass(?:in|out)\s+pass:)["']?(?P<v>[^\s"']{3,})`,
		notPlaceholder),
	newShape("password", "|net~use|", `(?i)\bnet\s+use\s+\S+(?:\s+\\\\\S+)?\s+`+
		`(?P<v>[^\s/\\*][^\s/]{2,})\s+/user:`, notPlaceholder),
	newShape("password", "|machine|", `(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<v>\S{3,})`, notPlaceholder),
	newMixedShape("password", "|login|", `(?i)\blogin\s+[\w.@-]+\s+password\s+(?P<v>\S{3,})`, mixedPassword),
	newShape("password", ":5432: :3306: :1433: :5433:", `(?m)(?:^`+
		`|[\s"'`+"`"+`])[\w.*-]+:(?:5432|3306|1433|5433):[\w*-]+:[\w.*-]+:(?P<v>[^\s:"']{4,})(?:\s|["'`+"`"+`]`+
		`|$)`, notPlaceholder),
	newShape("password", "|username| |enable|", `(?i)\b(?:username\s+\S+\s+(?:privilege\s+\d+\s+)?`+
		`(?:password|secret)|enable\s+(?:password|secret))\s+\d\s+(?P<v>\S{4,})`, notPlaceholder),
	newShape("secret", "-token -secret --token --secret key| --auth -auth", `(?i)--(?:[a-z-]*-)?(?:token|secret`+
		`|api-?key|access-?key`+
		`|auth(?:-?token)?)[ =]+["']?(?P<v>[^\s"'-][^\s"']{7,})`, bareSecret),
	newShape("jwk", `"d" "k" "kty`, `"kty"\s*:[^{}]*?"(?:d|k)"\s*:\s*"(?P<v>[\w-]{16,})"`, nil),
}
