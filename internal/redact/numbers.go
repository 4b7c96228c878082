package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// numberEnd is what follows a number that is a value of its own, not a count of things.
const numberEnd = `(?:[.,;!)](?:[\s"\\]|$)|\\*["'”」]|\s*\n|\\+n|\s*$|[.]?\s+[A-Z])`

// numbers are values without a letter, and values in places that no other rule looks at.
var numbers = []shape{
	newShape("pin", spokenPasswordHints, `(?i)\b`+spokenPasswords+`\b[^.\n;:=|@/\[\]\d]{0,60}?`+
		`(?:\s(?:is|was)\s(?:now\s|still\s)?|:\s+)`+opening+`(?P<v>\d{4,12})(?-i:`+numberEnd+`)`, noMeasure),
	newShape("pin", "|type| |enter| |press| |dial| |key~in| |punch~in|", `(?i)\b(?:type|enter|press|dial|key in`+
		`|punch in)\s+`+opening+`(?P<v>\d{4,8})["'”`+"`"+`]?\s+(?:on|at|into|in)\s+(?:the\s+)?(?:\w+\s+){0,2}?`+
		`(?:pad|keypad|door|gate|panel|lock|alarm|safe|intercom)\b`, nil),
	newShape("recovery-code", "|recovery~code |backup~code |rescue~code |scratch~code |recovery-code |backup-code",
		`(?i)\b(?:recovery|backup|rescue|scratch)[ -]codes?\b[^\n\d]{0,40}?(?::|\sis|\sare)\s*`+opening+
			`(?P<v>\d{4,10}(?:[ ,]+\d{4,10})*)`, nil),
	newShape("answer", "security~answer secret~answer", `(?i)\b(?:security|secret) answer\b[^\n.:]{0,60}?`+
		`(?:\s(?:is|was)|:)\s+`+opening+`(?P<v>[!-~]{3,}?)`+spokenEnd, notWord),
	// A mail address and behind it the password of the account, as in lists and in sasl_passwd.
	newMixedShape("password", "@", `[\w.+-]+@[\w-]+(?:\.[\w-]+)+[:|]`+opening+`(?P<v>[!-~]{6,}?)`+spokenEnd,
		listedPassword),
	// chap-secrets and pap-secrets: client, server, secret, addresses.
	newMixedShape("password", "*", `(?m)^["']?[\w.@-]+["']?[ \t]+(?:\*|[\w.-]+)[ \t]+["']?(?P<v>[!-~]{4,}?)["']?[ \t]+\*`,
		mixedPassword),
	newShape("password", "rootpw", `\brootpw\s+(?:--?\w+\s+)*(?P<v>[^\s"'-][^\s"']{3,})`, notPlaceholder),
	newShape("pin", "pin~是 pin是 pin~码 pin码 pin~为 pin为 pin：",
		`(?i:\bpin)\s*码?\s*(?:是|为|改成|改为|：|:)\s*(?P<v>\d{4,8})`, nil),
	// The environment of a container: a name, and a value of its own.
	newShape("password", "value", `(?i)name["']?\s*:\s*["']?\w*(?:pass(?:word|wd)?|pwd|secret|token|api_?key)["']?`+
		`\s*,?\s*["']?value["']?\s*:\s*["']?(?P<v>[^\s"'{}]{4,})`, notPlaceholder),
	newMixedShape("password", "|pass~", `(?i)\spass\s+["']?(?P<v>[a-z]{5,}\d{2,})["']?(?:[\s\\"]|$)`, mixedPassword),
	newShape("pin", "|tan|", `\bTAN\b[^.\n\d]{0,40}?(?::|\s(?:is|was|ist|lautet))\s+(?P<v>\d{4,8})\b`, nil),
	newShape("pin", "|lock~ |padlock~",
		`(?i)\b(?:pad)?lock\s(?:is|was)\s(?:now\s)?(?:set\sto\s)?(?P<v>\d{3,6})`+numberEnd, nil),
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
	newAssigned("password", "pass|", `(?im)(?:^|[\s,;{"'$])[a-z]{2,}pass\s*[=:]\s*["']?(?P<v>[!-~]{4,}?)["']?(?:[\s,;]|$)`,
		mixedPassword),
	newMixedShape("password", "password's passphrase's", `(?i)\b(?:password|passphrase)'s\s+`+opening+`(?P<v>[!-~]{4,}?)`+
		spokenEnd, mixedPassword),
	newMixedShape("password", "|unlock |decrypt", `(?i)\b(?:unlock|decrypt)(?:s|ed)?\s+(?:with|by|using)\s+`+
		opening+`(?P<v>[!-~]{6,}?)`+spokenEnd, mixedPassword),
	newShape("pin", "|press| |type| |enter| |dial|", `(?i)\b(?:disarm|unlock|open|alarm|door|gate)\b[^.\n\d]{0,30}\b`+
		`(?:press|type|enter|dial)\s+`+opening+`(?P<v>\d{4,8})\b(?: and|[,.;!]|\s*$|\\*")`, nil),
	newShape("pin", "|code~for |code~of |code~to", `(?i)\b(?P<n>[\w-]+)\s+code\s+(?:for|of|to)\s+[^.\n\d:]{1,40}?`+
		`(?:\s(?:is|was)|:)\s+`+opening+`(?P<v>\d{4,8})(?-i:`+numberEnd+`)`, secretCode),
	newShape("pin", "|locker |lockbox |padlock |safe| |gate| |garage|", `(?i)\b(?:locker|lockbox|padlock|safe|gate`+
		`|garage)\b[^.\n\d:]{0,30}:\s+`+opening+`(?P<v>\d{4,8})(?-i:`+numberEnd+`)`, nil),
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
	return looksDrawn(v) || isValue(v) && looksMixed(v) && namedNumber.MatchString(v)
}

// namedNumber is a word with a year or three digits behind it, which people choose.
var namedNumber = lazyregexp.New(`^[A-Za-z]{4,}[!#+%&$]?\d{3,}[!?]?$|^[A-Za-z]{3,}[!#+%&$]\d{2,}\w*$`)

// measureWord names a property of passwords that has a number.
var measureWord = lazyregexp.New(`(?i)\b(?:length|minimum|maximum|max|min|expir|ttl|timeout|lifetime|port|attempts?` +
	`|count|limit|rounds|iterations|cost|size|age|since|until|year|policy|issue|ticket|version)`)

// noMeasure rejects a number that measures something.
func noMeasure(_, match string) bool { return !measureWord.MatchString(match) }
