package redact

// The rules of this file know classes of commands, calls and sentences, not single ones: any program with a user and a
// password among its options, any setter of a password, any verb between a thing and what it is the password of.

const (
	// Who logs in, in a command or a call.
	someUser = `["']?[A-Za-z][\w.@\\+-]{0,39}["']?`
	// A value in quotes or up to a space.
	argument = `["']?(?P<v>[^\s"'<>|;&]{3,})`
	// What a wireless network or a device is called before its password.
	places = `(?:wi-?fi|wlan|hotspot|ssid|network|router|modem|printer|nas|vpn|ftp|sftp|ssh|rdp|samba|smb|imap|smtp)`
	// Verbs between a password and its value, besides "is".
	stays = `(?:(?:stay|say|give|show|read|remain|become|begin|start)s|goes|(?:would|should|must) be` +
		`|has been|(?:went|changed|set) to|turned into)`
)

var forms = []shape{
	// Sentences: "x as the password" after any verb, "the password stays x", "wifi: Name / x".
	newMixedShape("password", spokenHints, `(?i)(?:^|[\s(])`+opening+
		`(?P<v>[!-~]{4,}?)["'”`+"`"+`]?\s+as\s+(?:(?:the|a|an|my|our|your|his|her|their|its)\s+)?`+
		`(?:[\w'-]+\s+){0,3}?`+spokenNames+`\b`, mixedPassword),
	newMixedShape("password", spokenHints, `(?i)\b`+spokenNames+
		`\b[^.\n;:=|]{0,40}?(?:\s`+stays+`|\s[=–—-])\s+(?:now\s+|still\s+)?`+opening+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, mixedPassword),
	newMixedShape("password", "|wifi| |wi-fi| |wlan| |hotspot| |ssid| |network| |router| |modem| |printer|"+
		" |nas| |vpn| |ftp| |sftp| |ssh| |rdp| |samba| |smb| |imap| |smtp|",
		`(?i)\b`+places+`\s*[:=]\s*[\w. -]{1,40}?\s+[/|]\s+`+opening+`(?P<v>[!-~]{4,}?)`+spokenEnd, mixedPassword),
	newShape("pin", "|puk", `(?i)\bpuk(?:[ -]?(?:code|number|1|2))?\b[^.\n;:=\d]{0,40}?(?:\s(?:is|was|to)\s`+
		`(?:now\s)?|[:=]\s*|\s)`+
		opening+`(?P<v>\d{8})\b`, nil),
	newShape("pin", "code~is code~was", `(?i)\b(?P<n>[\w-]+)\s+code\s+(?:is|was)\s+(?:now\s+|still\s+)?`+opening+``+
		`(?P<v>\d{4,8})\b`, secretCode),
	newShape("password", "app~pass app-pass application~pass application-pass specific~pass specific-pass", `(?i)\b(?:app(?:lication)?[ -]`+
		`(?:specific[ -])?pass(?:word|code))\b`+
		`[^.\n]{0,30}?\b(?P<v>(?-i:[a-z]{4}(?:[ -][a-z]{4}){3}))\b`, drawnWords),
	newSeedPhrase("seed mnemonic recovery wallet", `(?i)\b(?:seed|mnemonic|recovery|wallet)\b[ \w']{0,30}?`+
		`(?:\s(?:is|are|was|were)|[:=])\s+`+opening+`(?P<v>(?-i:[a-z]{3,8}(?:[ ,]+[a-z]{3,8}){11,23}))(?:[^\w]`+
		`|$)`, seedPhrase),
	// "The network is Name and the key is x", "the password, x,", "Service: admin / x".
	newMixedShape("password", "key~is key~was key:", `(?i)\b`+places+`\b[^.\n\d]{0,60}?\b(?:pass)?key(?:\s(?:is|was)`+
		`|:)\s+`+opening+
		`(?P<v>[!-~]{5,}?)`+spokenEnd, mixedPassword),
	newMixedShape("password", spokenPasswordHints, `(?i)\b`+spokenPasswords+`\s*,\s+`+opening+`(?P<v>[!-~]{5,}?)[,;]`+spokenEnd,
		mixedPassword),
	newMixedShape("password", "admin root user guest demo postgres @", `(?i)[:：]\s+["'`+"`"+`]?(?:admin\w*|root|user\w*|guest|demo|postgres`+
		`|[\w.+-]+@[\w.-]+)["'`+"`"+`]?\s+/\s+`+opening+`(?P<v>[!-~]{5,}?)`+spokenEnd, mixedPassword),
	// Numbers that open: "the combination of the safe is 295573", "the keypad takes 295573", "CVV 818".
	newShape("pin", "|combination| |combo|", `(?i)\bcomb(?:o|ination)\b[^.\n\d]{0,40}?(?:\s(?:is|was|to)|:)\s+`+opening+
		`(?P<v>\d{1,2}(?:[ -]\d{1,2}){2,3}|\d{3,8})\b`, nil),
	newShape("pin", "|keypad| |door| |gate| |alarm| |safe| |lock |padlock |garage| |entrance| |lift|", `(?i)\b(?:keypad|door|gate|alarm|safe`+
		`|(?:pad)?lock(?:er|box)?|garage|entrance|lift)\b[^.\n\d]{0,30}?\s(?:takes|wants|accepts|needs`+
		`|(?:opens|unlocks|is opened|is unlocked|is armed|is disarmed) (?:with|by))\s+`+opening+
		`(?P<v>\d{4,8})(?:[.,;!)](?:[\s"\\]|$)|\\*["'”」]|\n|$)`, nil), // no count of things: "accepts 1024 bytes"
	newShape("pin", "|cvv |cvc", `(?i)\b(?:cvv2?|cvc2?)\s+(?P<v>\d{3,4})\b`, nil),
	newMixedShape("password", "|pw| |pwd|", `(?i)\b(?:pw|pwd)\b[^.\n;:=|]{0,40}?\s(?:is|was)\s+(?:now\s+`+
		`|still\s+)?`+opening+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, mixedPassword),
	newMixedShape("password", "|pw| |pwd|", `(?i)(?:^|[\s,;(])(?:pw|pwd)\s+`+opening+`(?P<v>[!-~]{5,}?)(?:`+spokenEnd+``+
		`|[,;])`, mixedPassword),
	newShape("session", "sessid sessionid session_id connect.sid", `(?i)\b(?:\w*sess(?:ion)?_?id`+
		`|connect\.sid)=(?P<v>[\w%.-]{16,})`, hasDigit),

	// Options: a user, and behind it a password; a user and a password in one.
	newShape("password", "-u --user", `(?m)(?:^|\s)(?:-[uU]|--user(?:name)?)[ =]?\s*`+someUser+`\s`+
		`(?:[^\n|;]{0,60}?\s)?`+
		`(?:-[pPwAX]|--pw|--pwd|--pass)[ =]?\s*`+argument, longOption),
	newShape("password", "-u -a -auth --user --auth", `(?m)\s(?:-[uUaA]|-auth|--user|--auth`+
		`|--userpwd)[ =]\s*["']?[A-Za-z][\w.@\\+-]{0,39}[:,%]`+
		`(?P<v>[^\s"'<>|;&]{3,})`, optionPassword),
	newShape("password", "passphrase passwd", `(?m)(?:^|[\s;&|"'`+"`"+`])[\w./-]*(?:passphrase|passwd)\s+`+
		`(?:-\w+\s+)?`+someUser+`\s+`+
		argument+`(?:[\s"'\\]|$)`, optionPassword),
	newShape("password", "|net~user|", `(?i)\bnet\s+user\s+`+someUser+`\s+`+argument, optionPassword),
	newShape("password", "|sqlplus| |sqlldr| |expdp| |impdp| |rman| |exp| |imp| oracle:", `(?i)(?:\b(?:sqlplus`+
		`|sqlldr|expdp`+
		`|impdp|rman|exp|imp)\s[^\n]{0,60}?`+
		`|oracle:\w+:)\b[A-Za-z][\w.$-]{0,39}/(?P<v>[^\s/@"']{3,})@`, notPlaceholder),
	newMixedShape("password", "|expdp |impdp |sqlplus |sqlldr |rman",
		`(?i)\b(?:sqlplus|sqlldr|expdp|impdp|rman)\s+(?:-\w+\s+)*`+
			`[A-Za-z][\w.$-]{0,39}/(?P<v>[^\s/@"']{3,})(?:\s|$)`, optionPassword),
	newShape("password", "ssh-keygen", `\bssh-keygen\b[^\n|;]*?\s-[NP]\s*`+argument, notPlaceholder),
	newShape("password", "/p: /pass", `(?i)\s/p(?:ass(?:word)?)?:`+argument, notPlaceholder),
	newShape("password", "<<<", `(?i)(?:pass(?:wd|word|phrase)?|sudo)\b[^\n]*?<<<\s*`+argument, notPlaceholder),

	// Files of programs: "bindpw x", "community x", lists of name:password.
	newShape("password", "pw| passwd|", `(?m)^\s*\w+(?:pw|passwd)\s+["']?`+
		`(?P<v>[^\s"'|$<]{4,})["']?\s*$`, notPlaceholder),
	newShape("password", "|snmp community", `(?i)\b(?:snmp-server\s+community|r[ow]community6?`+
		`|snmp\w*\s[^\n]*?-c)\s+`+argument,
		notPlaceholder),
	newShape("password", "chpasswd", `\bchpasswd\b[^\n]*\n(?:\s+list:[^\n]*\n)?\s*`+
		`(?:-\s+)?["']?[A-Za-z][\w.-]*:(?P<v>[^\s"']{3,})`,
		notPlaceholder),
	newShape("new-relic-key", "nrak-", `\bNRAK-[A-Z0-9]{27}\b`, nil),
	newShape("private-key", "static~key", `(?i)-----BEGIN [\w ]*static key[\w ]*-----\s*`+
		`(?P<v>[0-9a-f\s]{32,}?)(?:-----END|$)`, nil),

	// Calls and dialogues.
	newShape("password", "securestring", `(?i)ConvertTo-SecureString\s+(?:-String\s+)?["']`+
		`(?P<v>[^"'\n$]{3,})["']`, notPlaceholder),
	newMixedShape("password", "pass pwd secret token key", `(?i)(?:^|[^\w])\w*?(?:password|passwd|passphrase|pwd`+
		`|secret|token`+
		`|api_?key)\w{0,12}\(\s*`+
		`["'](?P<v>[^"'\n]{4,})["']\s*\)`, givenPassword),
	newMixedShape("password", "auth credential login connect", `(?i)(?:auth\w*|credentials?|login|connect|signin`+
		`|sign_in)\s*=?\s*`+
		`\(\s*["'][^"'\n]{1,60}["']\s*,\s*["'](?P<v>[^"'\n]{4,})["']`, mixedPassword),
	newShape("password", "assword passphrase passwd", `(?i)(?:p?assword|passphrase`+
		`|passwd)[^\n"']{0,20}["']?[)\s;{]{0,8}[\w.$]{0,20}?`+
		`(?:send|sendline|write|type|answer)\w*[\s(]+(?:--\s+)?b?["'](?P<v>[^"'\n\\]{3,})`, notPlaceholder),

	// Chinese: "the password, type x", "**密码**：x", "log in with this password: x", "凭证：name / x".
	newMixedShape("password", chineseHints, chineseNames+`[^\n。；;!-~]{0,10}(?:输入|填写|填|敲|键入|打)(?:的是|的)?\s*[:：]?\s*`+
		`["'“「`+"`"+`]?(?P<v>[!-~]{4,}?)["'”」`+"`"+`]?`+spokenEnd, chineseMixed),
	newMixedShape("password", chineseHints, chineseNames+`[^\n。；;!-~]{0,10}[*_]{0,3}\s*[:：=]\s*[*_]{0,3}["'“「`+"`"+`]?`+
		`(?P<v>[!-~]{4,}?)["'”」`+"`"+`*]*`+spokenEnd, chineseMixed),
	newMixedShape("password", "凭证 凭据 登录信息 登陆信息 登录方式 账密 账户 帐密", `(?:凭证|凭据|登录信息|登陆信息|登录方式|账密|帐密|账户)`+
		`[^\n。!-~]{0,6}[:：]?\s*["'“「`+"`"+`]?[\w.@+-]{2,40}["'”」`+"`"+`]?\s*(?:[/|、,，:：]|\s)\s*`+
		`["'“「`+"`"+`]?(?P<v>[!-~]{4,}?)["'”」`+"`"+`]?`+spokenEnd, chinesePair),
}
