package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// numberEnd is what follows a number that is a value of its own, not a count of things.
const numberEnd = `(?:[.,;!)](?:[\s"\\]|$)|\\*["'”」]|\s*\n|\\+n|\s*$|[.]?\s+[A-Z])`

// opened are things that a code opens.
const opened = `(?:door|gate|garage|alarm|safe|lock(?:er|box)?|padlock|keypad|entrance|entry|building|lift` +
	`|voicemail|mailbox|sim` +
	`|card|bank|phone|tablet|laptop|ipad|iphone|meeting|conference|suitcase|luggage|bike|house|flat|apartment|shed|gym` +
	`|printer|copier|box|intercom|turnstile|barrier|shutter|tv)`

// numbers are values without a letter, and values in places that no other rule looks at.
var numbers = []shape{
	newShape("pin", spokenPasswordHints, `(?i)\b`+spokenPasswords+`\b[^.\n;:=|@/\[\]\d]{0,60}?`+
		`(?:\s(?:is|was)\s(?:now\s|still\s)?|:\s+)`+opening+`(?P<v>\d{4,12})(?-i:`+numberEnd+`)`, noMeasure),
	newShape("pin", "|type| |enter| |press| |dial| |key~in| |punch~in| |use|", `(?i)\b(?:type|use|enter|press|dial`+
		`|key in`+
		`|punch in)\s+`+opening+`(?P<v>\d{4,8})["'”`+"`"+`]?\s+(?:on|at|into|in)\s+(?:the\s+)?(?:\w+\s+){0,2}?`+
		`(?:pad|keypad|door|gate|panel|lock|alarm|safe|intercom)\b`, nil),
	newShape("recovery-code", "|recovery~code |backup~code |rescue~code |scratch~code |recovery-code |backup-code",
		`(?i)\b(?:recovery|backup|rescue|scratch)[ -]codes?\b[^\n\d]{0,40}?(?::|\sis|\sare)\s*`+opening+
			`(?P<v>\d{4,10}(?:[ ,]+\d{4,10})*)`, nil),
	newShape("recovery-code", "|recovery~code |backup~code |rescue~code", `(?i)\b(?:recovery|backup|rescue)[ -]code\s+`+
		`(?P<v>(?-i:[A-Z]?\d{5,10}|[A-Z0-9]{6,16}))\b`, hasDigit),
	newShape("answer", "security~answer secret~answer", `(?i)\b(?:security|secret) answer\b[^\n.:]{0,60}?`+
		`(?:\s(?:is|was)|:)\s+`+opening+`(?P<v>[!-~]{3,}?)`+spokenEnd, notWord),
	// A mail address and behind it the password of the account, as in lists and in sasl_passwd.
	newMixedShape("password", "@", `[\w.+-]+@[\w-]+(?:\.[\w-]+)+[:|]`+opening+`(?P<v>[!-~]{6,}?)`+spokenEnd,
		listedPassword),
	// chap-secrets and pap-secrets: client, server, secret, addresses.
	newMixedShape("password", "*", `(?m)(?:^["']?[\w.@-]+["']?[ \t]+[\w.-]+`+
		`|(?:^|[\s"'`+"`"+`])["']?[\w.@-]+["']?[ \t]+\*)[ \t]+["']?(?P<v>[!-~]{4,}?)["']?[ \t]+\*`,
		mixedPassword),
	newShape("password", "rootpw", `\brootpw\s+(?:--?\w+\s+)*(?P<v>[^\s"'-][^\s"']{3,})`, notPlaceholder),
	newShape("pin", "pin~是 pin是 pin~码 pin码 pin~为 pin为 pin：",
		`(?i:\bpin)\s*(?:码\s*|码?\s*(?:是|为|改成|改为|：|:)\s*)(?P<v>\d{4,8})`, nil),
	// The environment of a container: a name, and a value of its own.
	newShape("password", "value", `(?i)name["']?\s*:\s*["']?\w*(?:pass(?:word|wd)?|pwd|secret|token|api_?key)["']?`+
		`\s*,?\s*["']?value["']?\s*:\s*["']?(?P<v>[^\s"'{}]{4,})`, notPlaceholder),
	newMixedShape("password", "|pass~", `(?i)\spass\s+["']?(?P<v>[a-z]{5,}\d{2,})["']?(?:[\s\\"]|$)`, mixedPassword),
	newShape("pin", "|tan|", `\bTAN\b[^.\n\d]{0,40}?(?::|\s(?:is|was|ist|lautet))\s+(?P<v>\d{4,8})\b`, nil),
	newShape("pin", "|lock~ |padlock~",
		`(?i)\b(?:pad)?lock\s(?:is|was)\s(?:now\s)?(?:set\sto\s)?(?P<v>\d{3,6})`+numberEnd, nil),
	newShape("license-key", "激活码 注册码",
		`(?:激活码|注册码)[^\n。!-~]{0,8}\s*[:：]?\s*["'“`+"`"+`]?(?P<v>[A-Za-z0-9-]{6,})`, hasDigit),
	newShape("pin", "安全码", `安全码\s*(?:是|为|：|:)?\s*(?P<v>\d{3})(?:[^\d.%]|$)`, nil),
	newShape("pin", "密码", `密码(?:是|为|：|:)\s*(?P<v>\d{3})(?:[，。；！,;.]|\s|["\\]|$)`, nil),
	newMixedShape("password", "passwort kennwort contrase mot~de~passe |senha|",
		`(?i)(?:passwort|kennwort|contrase\S{1,2}a|mot de passe|senha)`+
			`[^.\n:=|]{0,40}?(?:\s(?:ist|lautet|es|est|war|sei)\s|[:=]\s*|\s)`+opening+`(?P<v>[!-~]{5,}?)`+spokenEnd,
		mixedPassword),
	// A command or a dialogue that signs somebody in, and one that makes or changes an account.
	newMixedShape("password", "|auth |identify |authenticate |-auth ",
		`(?im)(?:^|[/>\s"'`+"`"+`])(?:auth|identify|authenticate)\s+`+
			`(?:[A-Za-z][\w.@-]*\s+)?["']?(?P<v>[!-~]{6,}?)["']?\s*(?:`+spokenEnd+`)`, bareArgument),
	newMixedShape("password", "|register~ add_user adduser add-user add~user create_user create-user "+
		"create~user user~create user~add user:add user:create set_password set-password set~password "+
		"change_password reset_password reset-password",
		`(?i)(?:\bregister|(?:add|create)[-_ ]?user|user[: ](?:add|create)|(?:set|change|reset)[-_ ]?password)\s+`+
			`(?:[A-Za-z][\w.@:/-]*\s+){1,3}["']?(?P<v>[!-~]{6,}?)["']?(?:\s*(?:$|\n|\\*")|[.]?\s+[A-Z])`, bareArgument),
	newShape("password", "|net~use|", `(?i)\bnet\s+use\s[^\n|;]*?/user:\S+\s+(?P<v>[^\s/"*][^\s"]{3,})`, optionPassword),
	newShape("answer", "security~question", `(?i)\bsecurity question\b[^\n]{0,60}?(?:\s(?:is|was)|:)\s+`+opening+
		`(?P<v>[!-~]{3,}?)`+spokenEnd, spokenPassword),
	newShape("password", "passwd", `\bopenssl\s+passwd\s+(?:-\w+\s+)*["']?(?P<v>[^\s"'$)-][^\s"')]{2,})`, notPlaceholder),
	newShape("password", "|unrar |rar", `\b(?:un)?rar\b[^\n|;]*?\s-h?p["']?(?P<v>[^\s"'-][^\s"']{2,})`, optionPassword),
	newShape("backblaze-key", "k00", `\bK00\d[A-Za-z0-9+/]{27}\b`, nil),
	// A variable of Terraform: its name, and its default in the block.
	newShape("password", "|variable|", `(?i)\bvariable\s+\\*"[\w-]*(?:pass(?:word|wd)?|pwd|secret|token|key)\\*"\s*\{`+
		`[^{}]{0,200}?\bdefault\s*=\s*\\*"(?P<v>[^"\\\n]{3,})\\*"`, quotedPassword),
	newMixedShape("password", "admin/ root/ administrator/", `(?i)[:：]\s+["'`+"`"+`]?(?:admin|root|administrator)/`+
		`(?P<v>[!-~]{6,}?)`+spokenEnd, pairPassword),
	// Names that end in "pass", and "the password's x".
	newAssigned("password", "pass|",
		`(?im)(?:^|[\s,;{"'$?&])[a-z]{2,}pass\s*[=:]\s*["']?(?P<v>[!-~]{4,}?)["']?(?:[\s,;&"]|$)`,
		mixedPassword),
	newMixedShape("password", "password's passphrase's", `(?i)\b(?:password`+
		`|passphrase)'s\s+`+opening+`(?P<v>[!-~]{4,}?)`+
		spokenEnd, mixedPassword),
	newMixedShape("password", "|unlock |decrypt", `(?i)\b(?:unlock|decrypt)(?:s|ed)?\s+(?:with|by|using)\s+`+
		opening+`(?P<v>[!-~]{6,}?)`+spokenEnd, mixedPassword),
	newShape("pin", "|press| |type| |enter| |dial|", `(?i)\b(?:disarm|unlock|open|alarm|door|gate)\b[^.\n\d]{0,30}\b`+
		`(?:press|type|enter|dial)\s+`+opening+`(?P<v>\d{4,8})\b(?: and|[,.;!]|\s*(?:$|\n)|\\*")`, nil),
	newShape("pin", "|code~for |code~of |code~to", `(?i)\b(?P<n>[\w-]+)\s+code\s+(?:for|of|to)\s+[^.\n\d:]{1,40}?`+
		`(?:\s(?:is|was)|:)\s+`+opening+`(?P<v>\d{4,8})(?-i:`+numberEnd+`)`, secretCode),
	newShape("pin", "|locker |lockbox |padlock |safe| |gate| |garage| |keypad|", `(?i)\b(?:keypad|locker|lockbox`+
		`|padlock|safe|gate`+
		`|garage)\b[^.\n\d:]{0,30}:\s+`+opening+`(?P<v>\d{4,8})(?-i:`+numberEnd+`|[#*])`, nil),
	// "Use code 123456 to sign in", "123456 is your verification code".
	newShape("pin", "|code~", `(?i)\b(?:use|enter)\s+(?:the\s+|this\s+)?code\s+`+opening+`(?P<v>\d{4,8})\b`, nil),
	newShape("pin", "is~your~ is~the~", `(?i)(?:^|[\s"-])(?P<v>\d{4,8})\s+is\s+(?:your|the)\s[\w -]{0,30}?\b(?:code`+
		`|passcode|otp|pin)\b`, nil),
	// "Grafana: viewer / x", "u: anna p: x", "open the file with x".
	newMixedShape("password", "~/~",
		`[:：]\s+["'`+"`"+`]?[A-Za-z][\w.@+-]{1,39}["'`+"`"+`]?\s+/{1,2}\s+`+opening+`(?P<v>[!-~]{7,}?)`+
			spokenEnd, drawnWord),
	newMixedShape("password", "u: user: usr:", `(?i)(?:^|\s)(?:u|user|usr):\s*\S+[\s,;]+(?:p|pw|pwd`+
		`|pass):\s*(?P<v>[!-~]{4,}?)`+spokenEnd,
		mixedPassword),
	newMixedShape("password", "|open |unzip |extract |unpack", `(?i)\b(?:open|unzip|extract`+
		`|unpack)\s+(?:[\w.'-]+\s+){1,4}(?:with|using)\s+`+
		opening+`(?P<v>[!-~]{7,}?)`+spokenEnd, drawnWord),
	newShape("pin", "pin:", `\*\*(?:PIN|[Pp]in)(?:\*\*:|:\*\*)\s+(?P<v>\d{4,8})\b`, nil),
	newShape("pin", "|pin |pin's |pincode", `\b(?:PIN|[Pp]in)(?:'s|s)?\b[^.\n\d:=]{0,30}?[:=]?\s+`+opening+
		`(?P<v>\d{4,8})(?:`+numberEnd+`|,|\s+(?:if|then|and|when|to|\())`, noYear),
	newShape("pin", "|pw| |pwd| |pass| |password| |passcode| |passwort| |kennwort|", `(?i)\b(?:pwd?|pass|password|passcode`+
		`|passwort|kennwort)[:=]?\s+`+
		opening+`(?P<v>\d{4,12})(?-i:`+numberEnd+`|,)`, noYear),
	newShape("pin", "pin code passcode password pw 密码 验证码", `(?i)(?:\bpin|code|passcode|password|\bpwd?|密码`+
		`|验证码)\b?[^\n]{0,60}[?？]\s*\n`+
		`[\s>*-]*(?:\[[\d:. -]+\]\s*)?(?:<?@?[\w.-]+>?:\s)?(?P<v>\d{4,8})(?:\s|["\\.!]|$)`, nil),
	// "Bike lock: 4711", "the key box left of the door, 4711", "the lock is set to 442", "opens on 4711".
	newShape("pin", "|lock| |locker| |lockbox| |padlock| |padlocker| |padlockbox| |bikelock| |bikelocker| |bikelockbox| "+
		"|doorlock| |doorlocker| |doorlockbox| |keypad| |key~box| |keybox| |garage| |gate| |safe| |alarm| |door| |atm| "+
		"|suitcase| |voicemail| |sim|",
		`(?i)\b(?:(?:pad|bike|door)?\s?lock(?:er|box)?|keypad|key\s?box|garage|gate|safe|alarm|door|atm|suitcase`+
			`|voicemail|sim)\b`+
			`[^.\n:=]{0,30}?(?:\s?[:=→]|,|\s[–—-]|\s(?:set to|opens? (?:on|with|at)|code|keypad))\s*`+opening+
			`#?(?P<v>\d{3,8})(?-i:[.,;!)](?:[\s"\\]|$)|\*?["'”」]|\s*\n|\\+n|\s*$|[.]?\s+[A-Z][a-z]`+
			`|\s+(?:then|and|if|to)\b|\s?[(#*])`, noYear),
	newShape("pin", "|code~", `(?i)\bcode\s(?:for|of|to|at`+
		`|on)\b[^.\n\d:]{0,30}?\b`+opened+`\b[^.\n\d:]{0,20}?(?:\s(?:is|was)|:)\s+`+
		opening+`(?P<v>\d{3,8})(?:`+numberEnd+`|,)`, openedBy),
	newShape("pin", "with~the~ by~the~", `(?i)\b(?:with|by)\sthe\s(?:code|pin|number`+
		`|combination)\s+`+opening+`(?P<v>\d{6,8})(?:`+numberEnd+`|,)`, noMeasure),
	newShape("pin", "|gate| |door| |lock| |safe| |alarm| |garage| |keypad|", `(?i)\b(?:gate|door|lock|safe|alarm|garage`+
		`|keypad)\b[^.\n\d]{0,30}\b`+
		`(?:then|press|enter|dial|type|push)\s+`+opening+`(?P<v>\d{4,8})(?:`+numberEnd+`|,)`, noMeasure),
	newShape("pin", "code", `(?i)\b`+opened+`(?:'s)?\b[^.\n\d]{0,30}?\bcode\b[^.\n\d:]{0,20}?(?:\s(?:is|was|to)`+
		`|:)\s+`+opening+
		`(?P<v>\d{4,8})(?:`+numberEnd+`|\s+(?:in|on|since|until|from|for|if|then|and|to)\b)`, openedBy),
	newShape("pin", "|off| |on| |disarmed| |armed|", `(?i)\b`+opened+`\b[^.\n\d]{0,20}\s(?:(?:switched|turned)\s(?:off`+
		`|on)|(?:dis)?armed)`+
		`\s(?:with|by|using)\s+`+opening+`(?P<v>\d{4,8})(?:`+numberEnd+`|,)`, noMeasure),
	newShape("pin", "code? pin? code it pin it", `(?i)\b`+opened+`\b[^.\n\d?]{0,20}\b(?:code`+
		`|pin)\b(?:[^.\n\d?]{0,12}[?]|[^.\n\d]{0,4}\s(?:it's|it\sis|its|that's))\s+`+
		opening+`(?P<v>\d{4,8})(?:`+numberEnd+`|,)`, openedBy),
	newShape("pin", "|use| |code| |pin| |enter| |type|", `(?i)\b(?:use|code|pin|enter`+
		`|type)\s+`+opening+`(?P<v>\d{4,8})["'”`+"`"+`*]*\s+`+
		`(?:for|at|on|to\s(?:open|unlock))\s(?:the|my|our|his|her)\s(?:[\w-]+\s){0,2}?`+opened+`\b`, openedBy),
	newShape("pin", "code: pin: code= pin= code~= code:**", `(?i)\b`+opened+
		`\b[^\n\d]{0,24}?(?:\n\s*[-*]?\s*)?\b(?:code|pin|combo)\s?[:=][*_]*\s*`+
		opening+`(?P<v>\d{4,8})(?:`+numberEnd+`|,)`, openedBy),
	newShape("pin", "code", `(?i)\b(?:one-time|verification|security|login|confirmation|2fa|sms|access`+
		`|unlock)[ -]code\s+`+opening+
		`(?P<v>\d{4,8})(?:`+numberEnd+`|,|\s+(?:to|for|when|at)\b)`, nil),
	newShape("pin", "combination combo", `(?i)\bcomb(?:o`+
		`|ination)\s+`+opening+`(?P<v>\d{1,2}(?:[ -]\d{1,2}){2,3})\b`, nil),
	newShape("pin", "code pin", `(?i)\b(?:login|log-in|user|account|customer|member)\b[^.\n]{0,40}?[,;/]\s*(?:code`+
		`|pin)\s+`+
		`(?P<v>\d{4,8})(?:`+numberEnd+`|,)`, nil),
	newShape("pin", "|keypad |padlock ", `(?i)\b(?:keypad|padlock)\s+(?P<v>\d{4,8})(?-i:`+numberEnd+`|\s+(?:then`+
		`|and)\b|\s?[#*(])`, nil),
	newShape("pin", "opens~with |opens~on", `(?i)\bopens\s+(?:with|on)\s+`+opening+`(?P<v>\d{4,8})(?:\b\s*\(`+
		`|`+numberEnd+`)`, noMeasure),
	newShape("pin", "setup~code pairing~code activation~code host~key join~code room~key meeting~key",
		`(?i)\b(?:setup|pairing|activation|join|host|room|meeting)\s(?:code|key)\b[^.\n\d]{0,30}?`+opening+
			`(?P<v>\d{3,8}(?:-\d{3,4}){0,2})(?:`+numberEnd+`|,)`, nil),
	newShape("wifi-password", "schl |wpa wpa-psk wlan", `(?i)\b(?:wlan|wpa2?|wi-?fi|netzwerk)(?:[- ]?(?:psk`+
		`|key))?[- ]?(?:schl(?:ü|ue)ssel|key|psk)\b`+
		`[^.\n:=]{0,40}?(?:[:=]|\s(?:ist|is|lautet))\s*`+opening+`(?P<v>[!-~]{8,63}?)`+spokenEnd, spokenPassword),
	newShape("pin", "密码", `密码\s+(?P<v>\d{3})(?:[，。；！,;.]|\s*\n|\s*$|\s[A-Z]|["\\])`, nil),
	// "PIN 4711", "passcode 25385", "the code of the lockbox by the stairs, 4711".
	newShape("pin", "|pin| |passcode |pin-code |pincode", `\b(?:PIN(?: code)?|[Pp]in[ -]?code`+
		`|[Pp]asscode)\s*[:#=–—-]?\s*`+opening+
		`(?P<v>\d{4,8})(?:`+numberEnd+`|,)`, nil),
	newShape("pin", "|code| |code# |pin| |combo| |combination| |passcode|",
		`(?i)\b`+opened+`\b[^.\n\d]{0,40}?\b(?:code|pin|passcode`+
			`|combo|combination)\b\s*(?:(?:is|was)\s)?[:#=→–—-]{0,2}\s*`+opening+`#?(?P<v>\d{3,8})(?-i:`+numberEnd+``+
			`|[,*#])`, openedBy),
	newShape("pin", "|unlock |open |opens |disarm", `(?i)\b(?:unlock|open|disarm)s?\s+(?:it\s+)?(?:with|by`+
		`|using)\s+(?:the\s+)?`+
		`(?:code|pin|number|combination)?\s*`+opening+`(?P<v>\d{3,8})(?-i:`+numberEnd+`|,|\s+(?:within|and|then)\b)`, nil),
	// A name and behind it the value, in lists, XML and lines of settings without a sign of assignment.
	newMixedShape("password", "passwords secrets tokens passwd", `(?i)(?:passwords|secrets|tokens`+
		`|passwd)\\*["']?:\s*\n\s*-\s*["']?`+
		`(?P<v>[!-~]{4,}?)["']?(?:\s|$)`, mixedPassword),
	newShape("password", "</key> </name>", `(?i)<(?:key|name)>[^<>\n]*(?:password|passwd|pass|pwd|secret|token`+
		`|key)</(?:key|name)>\s*`+
		`<(?:value|string)>(?P<v>[^<>\s]{3,})</`, notPlaceholder),
	newShape("secret", "|env~ |arg~ define~ |setenv~", `(?:^|[\s"'`+"`"+`])(?:ENV|ARG|#\s*define|setenv|SetEnv)\s+`+
		`\w*(?:PASS(?:WORD|WD|PHRASE|CODE)?|PWD|SECRET|TOKEN|API_?KEY`+
		`|SECRET_?KEY)\s+["']?(?P<v>[^\s"'=][^\s"']{5,})`, notPlaceholder),
	newShape("password", "password~ passphrase~ |pass~ |pw~", `(?i)\b(?:with|and|plus|,)\s+(?:the\s+`+
		`|a\s+)?(?:password|passphrase|pass|pw)\s+`+
		`["“'`+"`"+`](?P<v>[^"”'`+"`"+`\s]{4,})["”'`+"`"+`]`, quotedSentence),
	// Several words: "the passphrase is correct horse battery staple".
	phraseShape,
	// Commands that read a password, or set one.
	newShape("password", "|echo| |printf|", `\b(?:echo|printf)\s+(?:-\w+\s+)?["']?(?P<v>[^\s"'|$]{4,})["']?\s*\|\s*`+
		`(?:sudo\s+)?(?:cryptsetup|gpg|openssl|veracrypt|kinit|smbpasswd|docker\s+login)\b`, optionPassword),
	newShape("password", "|secret", `(?i)\bsecrets?\s[^\n|;]{0,80}?--value[ =]+`+argument, optionPassword),
	newShape("password", "|bw~unlock |add_user |wepkey", `(?i)\b(?:bw\s+unlock|add_user\s+[\w.@-]+|wepkey)\s+`+argument,
		optionPassword),
	newShape("password", "password-value", `(?i)password-value\s+`+argument, notPlaceholder),
	newMixedShape("password", "连接 登录 登陆 账号", `(?:连接|登录|登陆|账号)[^\n。:：!-~]{0,12}[:：]\s*[A-Za-z][\w.@+-]{1,39}\s*/\s*`+
		`(?P<v>[!-~]{4,}?)`+spokenEnd, chinesePair),
	newMixedShape("password", "登录 登陆", `(?:用|使用|拿)\s*["'“`+"`"+`]?(?P<v>[!-~]{4,}?)["'”`+"`"+`]?\s*(?:来|去)?`+
		`(?:登录|登陆)[^\n。!-~]{0,12}[，,]\s*(?:用户名|账号|帐号)`, chinesePair),
}

// notWord accepts any value that is no placeholder and says nothing about an answer.
func notWord(v, _ string) bool {
	return !isPlaceholder(v) && !isCode(v) && !plainWord.MatchString(trimValue(v))
}

// listedPassword accepts what stands directly behind an account, but no path of a remote file.
func listedPassword(v, _ string) bool {
	v = trimValue(v)
	return len(v) >= 6 && isValue(v) && looksMixed(v) && strings.ContainsFunc(v, isDigit) && !strings.ContainsAny(v, "/.")
}

// bareArgument accepts a word of letters and digits that is no name: drawn, or with digits at its end behind letters
// of a word and a symbol.
func bareArgument(v, _ string) bool {
	v = trimValue(v)
	return looksDrawn(v) || looksChosen(v) || isValue(v) && looksMixed(v) && namedNumber.MatchString(v)
}

// namedNumber is a word with a year or three digits behind it, which people choose.
var namedNumber = lazyregexp.New(`^[A-Za-z]{4,}[!#+%&$]?\d{3,}[!?]?$|^[A-Za-z]{3,}[!#+%&$]\d{2,}\w*$`)

// measureWord names a property of passwords that has a number.
var measureWord = lazyregexp.New(`(?i)\b(?:length|minimum|maximum|max|min|expir|ttl|timeout|lifetime|port|attempts?` +
	`|count|limit|rounds|iterations|cost|size|age|since|until|year|policy|issue|ticket|version)`)

// noMeasure rejects a number that measures something.
func noMeasure(_, match string) bool { return !measureWord.MatchString(match) }

// noYear is noMeasure, and rejects a year after a word of time.
func noYear(v, match string) bool { return noMeasure(v, match) && !ofTime.MatchString(match) }

// ofTime is a word of time and a year.
var ofTime = lazyregexp.New(`(?i)(?:\s(?:in|since|until|by|from|of|before|after|till)|版|年)\s+(?:19|20)\d\d\D*$`)

// openedBy rejects a code that everybody may know.
func openedBy(_, match string) bool { return !openKind.MatchString(match) }

// openKind is a kind of code that everybody may know, before the word "code".
var openKind = lazyregexp.New(`(?i)\b(?:area|zip|postal|post|country|error|exit|status|response|return|source` +
	`|dress|qr|colou?r` +
	`|product|bar|dialling|dialing|currency|language|branch|sort|model|part|discount|promo|voucher)\s+code\b`)

// drawnWord accepts a word that looks drawn by lot.
func drawnWord(v, _ string) bool { return looksDrawn(v) && count(v, isDigit) > 1 }
