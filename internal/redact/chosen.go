package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The rules of this file are about values that people choose: a word with digits or symbols, such as Sunflower42 or
// P@ssw0rd, and several words. Products, hosts and files have such names, too. So a chosen value counts only where the
// text points at it: behind a sign of assignment, a quote or a verb, in a sentence or line that speaks of passwords.

// looksChosen reports whether v is a word with digits or symbols that is no name of a thing.
func looksChosen(v string) bool {
	v = trimValue(v)
	return len(v) >= minDrawn && len(v) <= maxDrawn && lettersAndMore(v) && chosenForm.MatchString(v) &&
		!namedVersion.MatchString(v) && !sizedType.MatchString(v) &&
		!(isIdentifier(v) && !wordAndNumber.MatchString(v)) && !thingName.MatchString(v) && isValue(v)
}

// wordAndNumber is a word, or several, with a number at its end.
var wordAndNumber = lazyregexp.New(`^[A-Za-z]+\d+$`)

// lettersAndMore reports whether v has three letters, digits or symbols of passwords, and nothing else.
func lettersAndMore(v string) bool {
	letters, others := 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case class(c) == 'l' || class(c) == 'u':
			letters++
		case class(c) == 'd' || strings.IndexByte("!#+%&$@_.-?*", c) >= 0:
			others++
		default:
			return false
		}
	}
	return letters >= 3 && others > 0
}

var (
	chosenForm = lazyregexp.New(`^[A-Za-z]{4,}[!#+%&$@_.-]?\d{2,}[!#+%&$@?*]*$` + // Sunflower42, dragon!2019
		`|^[A-Za-z]{3,}[!#+%&$@]{1,3}\d*[A-Za-z]*[!#+%&$@]*$` + // Kitten!!, Demo@x
		`|^\d{2,4}[!#+%&$@]?[A-Za-z]{4,}[!#+%&$@]*$` + // 42Sunflower
		`|^[!#+%&$@]*[A-Za-z]+(?:[0-9@$!][A-Za-z]+)+[!#+%&$@]?\d*[!#+%&$@?*]*$`) // P@ssw0rd9
	// A host, a release or a thing that is counted.
	thingName = lazyregexp.New(`(?i)^(?:(?:server|host|node|web|db|database|sql|nas|box|machine|vm|app|api|cluster` +
		`|worker` +
		`|proxy|router|switch|printer|desk|room|floor|gate|line|page|chapter|section|part|step|level|phase|sprint|week` +
		`|day|year|issue|ticket|bug|task|case|test|build|release|version|report|invoice|order|backup|dump|export` +
		`|gpio|port|channel|guest|tenant|team|group|user|client|account|shop|demo|project|python|java|node|php|ubuntu` +
		`|debian|fedora|centos|windows|postgres\w*|mysql|mariadb|oracle|redis|mongo\w*|kafka|elastic\w*|bitwarden` +
		`|keepass\w*|lastpass|grafana|okta|ldap|oauth|saml|openid|sha|aes|rsa|utf|base|iso|rfc|cve|wpa|ipv|http` +
		`|ed|curve|argon|bcrypt|scrypt|pbkdf|xxhash|murmur|blake|libx|crc|zstd|chacha)[_-]?\d+\w{0,4})$`)
)

// pointedAt reports whether the text points at the value s[start:end] as a password.
func pointedAt(s string, start, end int) bool {
	before, asked := lineBefore(s, start)
	if connectsWith.MatchString(before) || networkPair.MatchString(before) ||
		optionBefore.MatchString(before) && !otherOption.MatchString(before) {
		return true
	}
	if secretNoun.MatchString(before) && (asked || pointer.MatchString(before)) && !otherThing.MatchString(before) {
		return true
	}
	after, _, _ := strings.Cut(s[end:wordBreak(s, end+maxContext)], "\n")
	return usedAs.MatchString(after) || quoted(before) && secretNoun.MatchString(after) && !otherThing.MatchString(before)
}

// lineBefore returns the line before an offset, at most maxContext bytes of it. asked: the value begins its line, and
// what is returned is the line above, which asks for it or ends in a colon.
func lineBefore(s string, at int) (line string, asked bool) {
	line = s[wordStart(s, at-maxContext):at]
	i := strings.LastIndexByte(line, '\n')
	if i < 0 {
		return line, false
	}
	above, rest := strings.TrimRight(line[:i], " \r\t"), line[i+1:]
	for _, end := range []string{"?", "？", ":", "："} {
		if strings.HasSuffix(above, end) && speaker.MatchString(rest) {
			return above[strings.LastIndexByte(above, '\n')+1:], true
		}
	}
	return rest, false
}

// speaker is what stands before an answer: marks, and in a chat the time and the name.
var speaker = lazyregexp.New("^[\\s>*`\"'-]*(?:\\[[\\d:. -]+\\]\\s*)?(?:<?@?[\\w.-]+>?:\\s)?[\\s*`\"']*$")

// quoted reports whether a text ends with the mark that opens a quotation.
func quoted(s string) bool { return s != "" && strings.IndexByte("\"'`", s[len(s)-1]) >= 0 }

var (
	// What a sentence or a line calls a password, before the value. The word may be the last part of a name.
	secretNoun = lazyregexp.New(`(?i)(?:p?assword|passwd|passphrase|passcode|pwd|passwort|kennwort|contrase` +
		`|mot de passe|senha|wachtwoord|(?:^|[^a-z])` + secretWords + `)s?(?:[^a-z]|$)|` + chineseNames + `|密碼` +
		`|` + foreignNouns)
	// What points at it: a sign, a verb, or the name of the secret itself.
	pointer = lazyregexp.New(`(?i)(?:[:=→>（(：＝?？~…]|->|\.\.\.|\s[/|·–—-]|["'“‘「『` + "`" + `*]` +
		`|(?:^|[^\w])(?:is|was|be|been|it's|its|as|use|uses|using|try|enter|type|put|now|still|but|to be|set to` +
		`|protected with|equals|reads|namely|(?:chang|set|reset|rotat|updat|switch)\w*\b[^\n]*\sto` +
		`|ist|lautet|est|es|é|är|er|и|und|is:|assword from)|[是为用填는은이가はを]|成了?|改回` +
		`|(?:^|[^a-z])` + secretWords + `(?:'?s)?\s*[|,]?|(?:` + foreignNouns + `)[^\s:]*|(?:passw(?:ord|d)|passphrase` +
		`|_pass|_pwd)s?` +
		`|` + chineseNames + `[^找问给发联管登由让在到和与从见看存放交\n，。！!-~]{0,6})\s*[*_]{0,2}$`)
	// What has to do with passwords and is named behind the sign: "password manager: Bitwarden2024".
	otherThing = lazyregexp.New(`(?i)(?:manager|store|vault|tool|app|generator|policy|provider|server|host|database|db` +
		`|user(?:\s?name)?|account|login|name|ssid|network|channel|model|version|id|url|path|file|hash|algorithm|until` +
		`|since` +
		`|by|用户名?|账号|帐号|名称?)\s*["'` + "`" + `]?\s*(?:is|was|as|[:=：→]|->)?\s*["'` + "`" + `*]*$`)
	// A wireless network and behind it what may be its password.
	networkPair = lazyregexp.New(`(?i)(?:^|[^a-z])(?:wi-?fi|wlan|hotspot|ssid)[^a-z\n][^\n]{0,60}(?:\s[/|]` +
		`|,\s+(?:key|pw|pass))\s+["'` + "`" + `]*$`)
	// A call that signs in, with the value behind another text.
	connectsWith = lazyregexp.New(`(?i)(?:connect\w*|\.begin|database|mysqli|pdo|login|logon|sign_?in|auth\w*` +
		`|credentials?|session` +
		`|send_?keys|basic_?auth)\s*\([^()\n]*["'][^"'\n]*["']\s*,\s*["']$` +
		// And one that signs or encrypts with a key.
		`|(?:hmac(?:\.new)?|createhmac|fernet|cipher\w*|jwt\.\w+)\s*\([^()\n]*b?["']$` +
		// And the key of a server that authenticates.
		`|(?:radius|tacacs|isakmp)[^\n]*\skey\s+(?:\d\s+)?$` +
		// And commands and lists in which a password follows a name.
		`|identified\s+by\s+$|(?:http-basic\S*|alias\s+set\s+\S+\s+\S+|ctl\s+register)\s+\S+\s+(?:\S+\s+)?$` +
		`|(?:log|sign)[ -]?in\s+[a-z][\w.-]*/$|(?:admin|root)[:/]$|(?:^|\s)bindpw\s+$` +
		`|["'](?:mysql|pgsql|jdbc|sqlsrv|oci|mongodb|amqp|ldap)\w*:[^"'\n]*["']\s*,\s*["'][^"'\n]*["']\s*,\s*["']$` +
		// And sentences and lists in which somebody signs in.
		`|(?:log|sign|connect|bind|authenticate|ssh|get)\w*\s[^\n]{0,40}?\bas\s+\S+\s+(?:with|using|and` +
		`|by)\s+["'` + "`" + `]?$` +
		`|(?:^|[^\w])(?:admin|administrator|root|sa|sys|system|ddic)\s*(?:→|->|=>|\s[–—|-]|,|\sboth` +
		`|\s)\s*["'` + "`" + `]?$` +
		`|(?:跳板机|堡垒机|服务器|后台|登录|账号|账户|远程|数据库|路由器|光猫|网关|主机)[^\n，。]{0,12}[:：]?\s*[A-Za-z][\w.-]*[/:]$` +
		`|\b(?:unlock|unzip|decrypt|unpack|protect|encrypt|lock)\w*\s+(?:it\s+|them\s+)?(?:with|by` +
		`|using)\s+["'` + "`" + `]?$` +
		`|(?:→|->|=>)\s+[A-Za-z][\w.-]*[/:]$|[🔑🔐🔒🗝]\x{FE0F}?\s*$`)
	// An option that is a password, but for programs where it is something else.
	optionBefore = lazyregexp.New(`(?:^|[\s"'])-[pPwW]\s*["']?$`)
	otherOption  = lazyregexp.New(`\b(?:mkdir|compose|cp|rsync|tar|ps|ssh|scp|nmap|patch|install|cargo|npm|pnpm` +
		`|yarn|pytest|go|gh|tmux|screen)\b`)
	// What follows a value that is used as a password.
	usedAs = lazyregexp.New(`(?i)^["'”` + "`" + `]?\s+(?:still\s+|also\s+)?(?:works?|serves?|is|was` +
		`|being)?\s*(?:used\s+)?(?:(?:as|for|is|was|at|into)\s+)?(?:(?:the|a|an|my|our|his|her|their|its)\s)` +
		`?(?:[\w'-]+\s){0,3}?` + secretWords + `(?:\s+(?:prompt|of|for|on|at|to)\b|[^\w\s-]|$)`)
)

// maxPhrase is how many words a password can have.
const maxPhrase = 8

// wordPhrase accepts four words or more of lower-case letters that make no sentence: people take several words for a
// password that is to be long.
func wordPhrase(v, _ string) bool {
	words := strings.FieldsFunc(strings.TrimRight(v, ".,;!"), func(r rune) bool { return r == ' ' || r == '-' })
	if len(words) < 4 || len(words) > maxPhrase {
		return false
	}
	described := 0
	for _, w := range words {
		if len(w) < 3 || functionWord.MatchString(w) {
			return false
		}
		if plainWord.MatchString(w) {
			described++
		}
	}
	return described <= 1
}

// functionWord is a word that sentences need and passwords of several words do not have.
var functionWord = lazyregexp.New(`(?i)^(?:the|and|for|are|was|were|with|that|this|these|those|not|your|you|have` +
	`|has|had` +
	`|from|must|should|would|could|will|can|may|might|but|its|his|her|our|their|my|one|two|all|any|who|whom|whose` +
	`|which` +
	`|what|when|where|why|how|than|then|them|they|she|him|into|onto|over|under|again|also|always|never|often|now|soon` +
	`|today|tomorrow|yesterday|yet|still|already|just|only|even|very|too|here|there|before|after|until|since|because` +
	`|about|above|below|between|through|per|via|does|did|done|been|being|get|gets|got|use|uses|used|user|users|see|say` +
	`|says|ask|asks|please|each|every|some|none|same|other|another|more|most|less|least|many|few|own|such|new|old` +
	`|required|needed|stored|kept|set|sent|valid|invalid|password|passwords|passphrase|login|account)$`)

// phraseShape looks for several words where a sentence names a password.
var phraseShape = func() shape {
	s := newShape("password", nameHints+" passwort 密码 口令", `(?i)(?:\b(?:`+passwordNames+`|passwort)\b[^.\n;:=|]{0,40}?`+
		`(?:\s(?:is|was|to|ist|lautet)\s|[:=]\s*)`+
		`|\b(?:with|using|by|under)\s+(?:(?:the|a|this|my|our)\s+)?(?:`+passwordNames+`)\s+|(?:密码`+
		`|口令)[^\n。!-~]{0,8}\s*[:：]?\s*)`+opening+
		`(?P<v>(?-i:[a-z]{3,}(?:[ -][a-z]{3,}){3,7}))(?:\\*[.,;!"'”`+"`"+`]|\s*(?:\n|$)|\s(?-i:[A-Z]))`, wordPhrase)
	s.worth = namesValue
	return s
}()

// namesValue reports whether a text can say what something is.
func namesValue(s string) bool {
	return strings.ContainsAny(s, ":=") || strings.Contains(s, " is ") || strings.Contains(s, " was ") ||
		strings.Contains(s, " to ") || strings.Contains(s, "ist ") || strings.Contains(s, "lautet") ||
		strings.Contains(s, "with ") || strings.Contains(s, "using ") || strings.Contains(s, "by ") ||
		strings.Contains(s, "under ") || strings.Contains(s, "是") || strings.Contains(s, "：")
}
