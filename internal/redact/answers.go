package redact

// The rules of this file are about what lets somebody in besides a password: a number that opens something, an answer
// that only its owner knows, the second column of a list of accounts.

// opens are verbs of letting in, and lets what stands before the number that does.
const (
	opens = `(?:unlock|open|disarm|arm|enter|log\s?(?:in|on)|sign\s?in|get\s?in)(?:s|ed|to)?`
	lets  = `(?:use|type|press|enter|dial|tap|key\s?in|punch\s?in|try|with|by|using|(?:code|pin|number` +
		`|combination)(?:\s(?:is|was))?)`
	// Between an account and its password in lists: dashes, slashes, bars, or a word.
	listed = `\s*(?:\s[–—/|+&-]{1,2}|\s[=-]>|→|\s·|\t|,?\s(?:with|and|plus|using)\s)\s*`
)

var answers = []shape{
	// "To unlock the tablet use 792139": whatever it opens.
	newShape("pin", "|unlock |open |opens |disarm |arm |enter |log~in |login |log~on |sign~in |get~in", `(?i)\b`+opens+
		`\b[^.\n\d:]{0,40}?\b`+lets+`\s+(?:the\s+)?`+opening+`#?(?P<v>\d{4,8})(?-i:`+numberEnd+`|[#*])`, noMeasure),
	newShape("pin", "unlocks opens disarms", `(?i)(?:^|[\s"'`+"`"+`*(])(?P<v>\d{4,8})["'`+"`"+`*]*\s+(?:un)?(?:opens`+
		`|unlocks|disarms)\s`,
		noMeasure),
	// Answers to the questions that banks ask.
	newShape("answer", "maiden~name first~pet first~school favourite~teacher favorite~teacher born~in",
		`(?i)\b(?:maiden\s+name|first\s+(?:pet|school|teacher|car)|favou?rite\s+teacher)\b[^.\n:]{0,40}?(?::|\s(?:is`+
			`|was))\s+`+
			opening+`(?P<v>(?-i:[A-Z])[\w'-]{2,}(?:\s(?-i:[A-Z])[\w'-]+)?)`, notWord),
	newShape("answer", "security~answer security~question secret~answer", `(?i)\b(?:security|secret)\s(?:answer`+
		`|question)\b[^\n]{0,60}?`+
		`(?:pet|school|teacher|car|city|street|food|mother|name)\s+(?P<v>(?-i:[A-Z])[\w'-]{2,})`, notWord),
	newShape("answer", "security~question secret~question", `(?i)\banswer\s(?:to|for)\s[^\n.:]{0,20}(?:security`+
		`|secret)\squestion\b`+
		`[^\n.:]{0,30}?(?:\s(?:is|was)|:)\s+`+opening+`(?P<v>(?-i:[A-Z]|\w*\d)[\w'-]{2,})`, notWord),
	newShape("recovery-code", "security~key recovery~key backup~key", `(?i)\b(?:security|recovery`+
		`|backup)\skey\b[^.\n\d:]{0,30}?(?::|\sis)\s+`+
		opening+`(?P<v>(?-i:[A-Za-z0-9]{4})(?:[ -](?-i:[A-Za-z0-9]{4})){3,14})\b`, hasDigit),
	// "Service – name@example.org – x".
	newMixedShape("password", "@", `[\w.+-]+@[\w-]+(?:\.[\w-]+)*`+listed+opening+`(?P<v>[!-~]{6,}?)(?:`+spokenEnd+``+
		`|[,;])`,
		listedPassword),
	// Words of a phrase behind the word "words", tokens that are a UUID, two lines of a file of OpenVPN.
	newSeedPhrase("words: words~are phrase:", `(?i)\b(?:words|phrase)(?::|\sare)\s+`+opening+
		`(?P<v>(?-i:[a-z]{3,8}(?:[ ,]+[a-z]{3,8}){11,23}))(?:[^\w]|$)`, seedPhrase),
	newShape("token", "key token secret", `(?i)\b(?:auth|api|access|secret|server|bearer|refresh|deploy|admin|master`+
		`|service|account`+
		`|license)[ _-]?(?:key|token|secret)["']?\s*(?:is|was|[:=])?\s*["'`+"`"+`]?`+
		`(?P<v>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?::fx)?)\b`, nil),
	newShape("token", "secret_ ::add-mask::", `(?:\bsecret_|::add-mask::)(?P<v>[A-Za-z0-9]{16,})\b`, hasDigit),
	newShape("authorization", "authorization", `(?i)authorization["']?\s+["']?(?:basic`+
		`|bearer)\s+(?P<v>[\w.=+/~-]{8,})`, headerValue),
	newShape("password", "auth-user-pass", `\bauth-user-pass\s*\n\s*[\w.@-]+\s*\n\s*(?P<v>[^\s"'\\]{4,})`, notPlaceholder),
	newMixedShape("password", "setuser check_", `(?i)\b(?:setuser\s[^\n]*?\s>`+
		`|check_\w+![^\s!]+!)(?P<v>[^\s"'!]{4,})`, mixedPassword),
	newMixedShape("password", "解压 解锁 解密 登录 登陆 开门", `(?:用|拿|以`+
		`|输入)\s*["'“「`+"`"+`]?(?P<v>[!-~]{6,}?)["'”」`+"`"+`]?\s*(?:来|去)?`+
		`(?:解压|解锁|解密|登录|登陆|开门)`, chineseMixed),
	newShape("password", "<<<", `(?i)\b(?:kinit|cryptsetup|gpg|openssl|passwd|su|smbpasswd|ssh`+
		`|login)\b[^\n]*?<<<\s*["']?(?P<v>[^"'$\s]{4,})`,
		notPlaceholder),
	// What is called the number of a card, also when its check digit is wrong.
	newShape("card-number", "card~ visa mastercard amex", `(?i)\b(?:visa|mastercard|amex`+
		`|card)\b[^.\n\d]{0,24}?\b(?:number|no\.?|is|nr\.?)`+
		`[\s:]+`+opening+`(?P<v>\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{1,7})\b`, nil),
	// A mnemonic of Chinese words (BIP 39): one character each.
	newShape("seed-phrase", "助记词 恢复词 助記詞", `(?:助记词|恢复词`+
		`|助記詞)[^\n]{0,12}?[:：是为]?\s*(?P<v>\p{Han}(?:[ 　,，、]+\p{Han}){11,23})`, nil),
	// A key or a password that is one letter's option of openssl.
	newShape("password", "|openssl|", `\bopenssl\s+\w[^\n|;]*?\s-k\s+`+argument, optionPassword),
}
