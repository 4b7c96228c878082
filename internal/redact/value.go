package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The checks below tell a secret from other values in the same position: a type, a variable, a placeholder, a word.

// count counts the runes of s that satisfy is.
func count(s string, is func(rune) bool) (n int) {
	for _, r := range s {
		if is(r) {
			n++
		}
	}
	return n
}

// isDigit reports whether r is an ASCII digit.
func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// isSymbol reports whether r is a symbol that is common in passwords and rare in words.
func isSymbol(r rune) bool {
	return r < unicode.MaxASCII && strings.ContainsRune("!@#$%^&*+=~?", r)
}

// hasDigit accepts values with a digit: words that merely start like a token have none.
func hasDigit(value, _ string) bool { return strings.ContainsFunc(value, isDigit) }

// keyMaterial requires a base64 line behind the PEM header, so that code which only names the header is kept.
func keyMaterial(value, _ string) bool { return base64Line.MatchString(value) }

var (
	// A line of key material in PEM (RFC 7468).
	base64Line = lazyregexp.New(`[A-Za-z0-9+/=]{32,}`)
	// A selector or qualified name, such as os.Getenv or config::key.
	codeExpression = lazyregexp.New(`^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+;?$`)
	// A template variable, a masked value or an example.
	placeholder = lazyregexp.New(`(?i)^(?:!(?:vault|secret|env\w*|var|ref|sub|include|file)\b.*|[$%@]?[{<(\[].*` +
		`|\$\w+|%[~\w]*%?|[*.xX•_-]+` +
		`|(?:your|my|sua|seu|tu|su|mon|votre|dein|ihr)[_-]\w*(?:pass|pwd|senha|clave|mot|token|secret|key|user)\w*` +
		`|your[\w-]*|<.*|example\w*` +
		`|redacted` +
		`|changeme|placeholder|null|nil|none|undefined|true|false|todo|tbd)[,;)}\]>"'` + "`" + `]*$`)
	// The name of a variable that holds a secret, which examples have in its place.
	variableName = lazyregexp.New(`^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|KEY` +
		`|USERNAME` +
		`|HERE)[,;)}\]>"'` + "`" + `]*$`)
	// A type or a field name in a declaration.
	typeWord = lazyregexp.New(`(?i)^\[?\]?\*?(?:string|str|bytes?|text|char|varchar|int|integer|number|bool` +
		`|boolean|any|object|optional|required|secret[a-z_]*|password[a-z_]*|passwd|pwd|token[a-z_]*|hidden|field|input` +
		`|value\w*` +
		`|key|env|self|this)\b[\w.\[\]|?<>(){},;]*$`)
	// The name of an algorithm or protocol, as in "token: sha256".
	algorithm = lazyregexp.New(`(?i)^(?:base\d+|sha-?\d+|md5|bcrypt|scrypt|argon2\w*|pbkdf2|aes-?\d*|utf-?\d+` +
		`|oauth-?2?|rsa-?\d*|[rehp]s(?:256|384|512)k?|http2?|ed25519|x509|2fa|mfa|[ks]?8s?|gpio\d+)\b`)
)

// isPlaceholder reports whether v is an example, a variable or a marker of Text.
func isPlaceholder(v string) bool {
	return placeholder.MatchString(v) || isMasked(v) ||
		strings.IndexByte(v, '_') > 0 && variableName.MatchString(v) || strings.Contains(v, markerOpen)
}

// isMasked reports whether a part of v is hidden, as in sk_live_xxxxxxxx and whsec_***.
func isMasked(v string) bool {
	for _, mask := range []string{"xxxxxx", "XXXXXX", "***", "..."} {
		if strings.Contains(v, mask) {
			return true
		}
	}
	return false
}

// isCode reports whether v is an expression or a type rather than a value.
func isCode(v string) bool {
	return strings.ContainsAny(v, "()[]{}`<>") || strings.HasPrefix(v, "$") || strings.HasPrefix(v, "&") ||
		codeExpression.MatchString(v) || typeWord.MatchString(v)
}

// notPlaceholder accepts everything but placeholders.
func notPlaceholder(v, _ string) bool { return !isPlaceholder(v) }

// urlPassword rejects a port number followed by a path that contains an @.
func urlPassword(v, _ string) bool {
	port := strings.TrimLeft(v, "0123456789")
	if port != v && (port == "" && len(v) <= 5 || strings.HasPrefix(port, "/")) {
		return port == "" && len(v) > 3
	}
	return !isPlaceholder(v)
}

// headerValue accepts a value after an authentication scheme; without a scheme it must look like a credential.
func headerValue(v, match string) bool {
	return !isPlaceholder(v) && !isCode(v) && strings.ContainsFunc(v, isDigit) && len(v) >= 8 ||
		len(v) >= 16 && strings.ContainsFunc(match[:len(match)-len(v)], unicode.IsSpace) && !isPlaceholder(v) &&
			!isCode(v)
}

// quotedPassword accepts quoted values that are neither placeholders, types nor messages.
func quotedPassword(v, _ string) bool {
	if isPlaceholder(v) || typeWord.MatchString(v) {
		return false
	}
	// Several words without a digit are a message, such as "must not be empty".
	return strings.Count(v, " ") < 3 || strings.ContainsFunc(v, isDigit)
}

// barePassword accepts any value after "=" without spaces around it, and otherwise only values with a digit or symbol.
func barePassword(v, match string) bool {
	if strings.HasPrefix(v, "?") && strings.HasSuffix(v, "}") || strings.HasPrefix(v, "./") ||
		strings.HasPrefix(v, "../") || directory.MatchString(match) {
		return false // the message of ${NAME:?message}; a file
	}
	v = strings.TrimRight(v, `,;.)}]`)
	if len(v) < 4 || isPlaceholder(v) || isCode(v) || !isASCII(v) || algorithm.MatchString(v) {
		return false
	}
	if strings.Contains(match, "==") {
		return false // a comparison with a variable
	}
	tight := strings.IndexByte(match, '=') > 0 && !strings.ContainsAny(match, " \t\n")
	return tight || strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol)
}

// directory is the working directory, as programs print it.
var directory = lazyregexp.New(`(?i)^pwd\S*\s*[=:]\s*[/~]`)

// spokenPassword accepts values in prose that contain a digit or symbol.
func spokenPassword(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]"'!?`)
	return len(v) >= 4 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v) &&
		(strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol))
}

// chinesePassword accepts any ASCII value in Chinese prose, where an ASCII word after "密码是" is the value itself.
func chinesePassword(v, _ string) bool {
	v = trimValue(v)
	return isValue(v)
}

// quotedSecret accepts quoted values with two digits, or long random ones.
func quotedSecret(v, _ string) bool {
	return !isPlaceholder(v) && !isCode(v) && isASCII(v) &&
		(count(v, isDigit) >= 2 || len(v) >= 20 && randomness(v) >= 0.3)
}

// bareSecret accepts unquoted values that contain letters and two digits, or long random ones; no URLs or paths.
func bareSecret(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]`)
	if len(v) < 8 || isPlaceholder(v) || isCode(v) || !isASCII(v) || algorithm.MatchString(v) ||
		strings.Contains(v, "://") || strings.HasPrefix(v, "/") {
		return false
	}
	return count(v, isDigit) >= 2 && strings.ContainsFunc(v, unicode.IsLetter) ||
		len(v) >= 20 && (randomness(v) >= 0.3 || strings.ContainsFunc(v, isDigit) && rarePairs(v) > 0)
}

// isASCII reports whether s has ASCII characters only.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// plainWord is a word that says something about a password instead of being one: "is required", "is stored in …".
var plainWord = lazyregexp.New(`(?i)^(?:[a-z-]+(?:ed|ing|able|ible|ally|ly|ful|less|ent|ant|ive|ary|ory|ous` +
	`|ical|word|phrase|manager|only|free)` +
	`|wrong|correct|incorrect|invalid|valid|missing|empty|blank|unknown|known|secret|safe|weak|strong|long` +
	`|short|case|here|there|below|above` +
	`|that|this|what|which|when|where|with|from|like|just|only|also|very|more|less|than|then|them|they|have|has` +
	`|been|being|will|must|should|could|would` +
	`|never|always|often|same|different|kept|read|sent|shown|lost|known|given|taken|made|done|gone|good|fine` +
	`|okay|mine|yours|ours|theirs|hers` +
	`|public|private|default|static|dynamic|unique|random|plain|text|data|base|hash|hashes|env|file|files` +
	`|string|part|used|your|their|every|each` +
	`|some|none|null|set|unset|not|the|into|over|until|after|before|because|since|without|within|between|both` +
	`|either|about|changes?|expires?` +
	`|admin|user|root|login|logout|server|client|service|system|database|account|vault|keychain|bitwarden` +
	`|1password|keepass|lastpass|okta|azure` +
	`|aws|google|github|gitlab|oauth|saml|ldap|sso|https?|json|yaml|toml|python|postgres|mysql|redis|docker` +
	`|kubernetes|up|out|off|longer|shorter` +
	`|characters?|letters?|digits?|symbols?|minimum|maximum|exactly|least|most|true|false|yes|no|n/a|tbd|todo` +
	`|unsafe|insecure|secure)$`)

// trimValue removes the punctuation behind a value in prose.
func trimValue(v string) string { return strings.TrimRight(v, "`,;.)}]\"'!?*>") }

// looksMixed reports whether v has a digit with a letter, or a symbol inside: what words do not have.
func looksMixed(v string) bool {
	letter := strings.ContainsFunc(v, unicode.IsLetter)
	return letter && strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol) || count(v, isDigit) >= 6
}

// measured is a number with a unit, a version, a range, a date, a time or a count, as in "is 12-character".
var measured = lazyregexp.New(`(?i)^(?:v?\d+(?:[.:/x-]\d+)+|\d+(?:[.,]\d+)?(?:-?[a-z%]{1,12})?|\d+(?:st|nd|rd` +
	`|th)|[a-z]+-\d{1,2}|\d+-[a-z-]+)$`)

// spokenSecret accepts a value in a sentence: one with digits or symbols, or a single word that describes nothing.
func spokenSecret(v, match string) bool {
	v = trimValue(v)
	return isValue(v) && looksMixed(v) && !aboutPasswords.MatchString(match) &&
		(looksDrawn(v) || !loginOf.MatchString(match) && !(loginIs.MatchString(match) && accountName.MatchString(v)))
}

var (
	// A thing that has to do with passwords and has a name of its own: "the password manager is Bitwarden2024".
	aboutPasswords = lazyregexp.New(`(?i)^(?:[!-~] )?(?:password|passphrase|credentials?|login|secret|token` +
		`|(?:[a-z]+[ -])?key)s?[ -]` +
		`(?:alias|id|size|length|rotation|owner|version|manager|store|vault|safe|app|tool|generator|policy|reset|file` +
		`|page|form|field|prompt|screen|database|db` +
		`|provider|service|server|host|url|shell|name|user|script|helper|hash|library|module|plugin|format|type)s?\b` +
		`|^(?:密码|口令|令牌|密钥|凭证)(?:管理|策略|库|本|工具|框|字段|长度|强度|规则|服务|页)`)
	// "The login of users of LDAP2", "login to Grafana11".
	// "The user's login is nuno@crumbtide": an account, not what it is opened with.
	loginIs     = lazyregexp.New(`(?i)^login\b`)
	accountName = lazyregexp.New(`^[A-Za-z][\w.+-]*(?:@[A-Za-z][\w-]*)?$`)
	loginOf     = lazyregexp.New(`(?i)^login\b.*(?:\s(?:of|to)|\sas:|\sname:)\s+[!-~]+\s*$`)
)

// maxQuoted is the length in bytes of the longest quoted value in a sentence; longer ones are quotations.
const maxQuoted = 64

// quotedSentence accepts a quoted value in a sentence: a word that describes nothing, or a few words with a digit.
func quotedSentence(v, match string) bool {
	if len(v) > maxQuoted || aboutPasswords.MatchString(match) || isPlaceholder(v) || isCode(v) ||
		algorithm.MatchString(v) || notValue(v) {
		return false
	}
	if words := strings.Count(v, " "); words > 0 {
		return words <= 4 && strings.ContainsFunc(v, isDigit)
	}
	return !plainWord.MatchString(v) && len(v) >= 6
}

// isValue reports whether v can be a password in a sentence: no example, code or word that says something about one.
func isValue(v string) bool {
	return len(v) >= 4 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v) && !plainWord.MatchString(v) &&
		!notValue(v)
}

// notValue reports whether v is a number with a unit, a path, an address of the web or of mail, or a name with dots.
func notValue(v string) bool {
	for _, path := range []string{"/", "~/", "./", "--"} {
		if strings.HasPrefix(v, path) {
			return true
		}
	}
	return measured.MatchString(v) && len(v) < 20 || camelName.MatchString(v) || strings.Contains(v, "://") ||
		mailAddress.MatchString(v) ||
		fileName.MatchString(v) || len(v) >= 25 && address.MatchString(v)
}

var (
	// A name of a product or a type with a version: FaceID2, PostgreSQL14.
	camelName   = lazyregexp.New(`^[A-Z][a-z]+[A-Z]{1,3}[a-z]*\d{0,2}$`)
	mailAddress = lazyregexp.New(`^[\w.+-]+@[\w-]+\.[\w.-]+$`)
	fileName    = lazyregexp.New(`(?i)^[\w./-]+\.(?:go|py|js|ts|json|ya?ml|toml|md|txt|env|sh|conf|cfg|ini|pem` +
		`|crt|sql|html?|com|org|net|io|dev|internal|local)$`)
)

// mixedPassword accepts a value directly behind the word "password", without a verb.
func mixedPassword(v, match string) bool {
	v = trimValue(v)
	if loginIs.MatchString(match) && accountName.MatchString(v) && !looksDrawn(v) {
		return false
	}
	if strings.HasPrefix(match, "passwd ") && !looksDrawn(v) {
		return false // the account whose password is changed
	}
	return len(v) >= 5 && spokenSecret(v, "") && strings.ContainsFunc(v, isDigit) && !strings.ContainsAny(v, "/=(")
}

// givenPassword is mixedPassword for what a call is given. A call that fetches a secret is given its name.
func givenPassword(v, match string) bool {
	return mixedPassword(v, match) && !fetches.MatchString(match)
}

// fetches is the name of a call that fetches or looks for something.
var fetches = lazyregexp.New(`(?i)^[^\w]?_?(?:load|get|read|fetch|find|look_?up|resolve|delete|remove|list|has|is` +
	`|from)_?[a-z]\w*\(`)

// pairPassword accepts the second half of "admin / x".
func pairPassword(v, match string) bool {
	v = trimValue(v)
	return len(v) >= 4 && !naming.MatchString(match) && spokenSecret(v, "") && !strings.ContainsAny(v, "=(:/")
}

// naming precedes the name of an account, not a password.
var naming = lazyregexp.New(`(?i)\s(?:called|named|renamed|titled|user(?:\s?name)?|for|on|at|from|of|by|in|to` +
	`|via)\s+[!-~]+\s*$|\b(?:sha\d+|md5):`)

// shortPassword is barePassword for names like "pass", which tests and people use for other things, too.
func shortPassword(v, match string) bool {
	v = trimValue(v)
	if len(v) < 3 || isPlaceholder(v) || isCode(v) || !isASCII(v) || algorithm.MatchString(v) ||
		plainWord.MatchString(v) || strings.Contains(match, "|") {
		return false
	}
	name := match[:len(match)-len(v)]
	if strings.Contains(name, "_") && strings.Contains(name, "=") {
		return true
	}
	return looksMixed(v) && !notValue(v) && !strings.HasPrefix(v, "Test")
}

// bareOptionPassword is barePassword for the value of an option.
func bareOptionPassword(v, _ string) bool {
	v = trimValue(v)
	return len(v) >= 3 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v) && !plainWord.MatchString(v)
}

// urlToken accepts a user of a URL that is a token.
func urlToken(v, match string) bool {
	// The key in an address of Sentry is public.
	if strings.HasSuffix(match, "@ingest") || strings.HasSuffix(match, ".ingest") {
		return false
	}
	return !isPlaceholder(v) && count(v, isDigit) >= 2 && (len(v) >= 20 || randomness(v) >= 0.3) &&
		!strings.Contains(v, ".")
}

// encodedPair accepts the base64 of "user:password".
func encodedPair(v, _ string) bool {
	text, err := base64.StdEncoding.DecodeString(v)
	return err == nil && bytes.IndexByte(text, ':') > 0
}

// privateDER accepts the base64 of a private key in PKCS #1 or #8; certificates and public keys begin otherwise.
func privateDER(v, _ string) bool {
	text, err := base64.StdEncoding.DecodeString(v[:min(len(v), 64)/4*4])
	// Both forms have a version, the integer 0, directly behind the outer sequence's header.
	return err == nil && len(text) > 8 && bytes.Contains(text[:8], []byte{2, 1, 0})
}

// publicKeyName is a kind of key that is no secret.
var publicKeyName = lazyregexp.New(`(?i)(?:public|cache|primary|foreign|idempotency|partition|sort|object|s3` +
	`|dedup\w*|unique|hash|commit|row|map|etag|index|file|lookup|storage)[ _-]?$`)

// hexKey accepts a hexadecimal value behind a name like "encryption key".
func hexKey(v, match string) bool {
	name, _, _ := strings.Cut(match, v)
	low := strings.ToLower(name)
	if len(v) == 40 && strings.HasSuffix(low, "0x") {
		return false // an address of Ethereum
	}
	for _, word := range []string{"public", "fingerprint", "cache", "hash", "digest", "sha", "commit", "checksum", "md5",
		"idempotency", "primary", "object",
		" id", "_id", "etag", "partition"} {
		if strings.Contains(low, word) {
			return false
		}
	}
	return !publicKeyName.MatchString(low) && strings.ContainsFunc(v, isDigit)
}

// chinesePair accepts the second half of "admin / x" in a Chinese sentence.
func chinesePair(v, match string) bool {
	return chineseMixed(v, match) && !strings.ContainsAny(v, "=(:/")
}

// consonants are more in a row than words have.
var consonants = lazyregexp.New(`[bcdfghjklmnpqrstvwxz]{5,}`)

// drawnLetters accepts letters that no word has in this order.
func drawnLetters(v, _ string) bool { return consonants.MatchString(v) || rarePairs(v) > 2 }

// chinesePIN rejects a number that somebody is called by.
func chinesePIN(_, match string) bool {
	return !strings.Contains(match, "联系") && !strings.Contains(match, "电话") && !strings.Contains(match, "拨打") &&
		!strings.Contains(match, "分机") && !strings.Contains(match, "端口")
}

// keyGroups accepts groups of capitals and digits, not words in capitals.
func keyGroups(v, _ string) bool {
	return strings.ContainsFunc(v, isDigit) && strings.ContainsFunc(v, unicode.IsLetter) || rarePairs(v) > 1
}

// shareCode accepts a short code of letters and digits.
func shareCode(v, _ string) bool {
	return strings.ContainsFunc(v, isDigit) || v != strings.ToLower(v) && v != strings.ToUpper(v) ||
		v == strings.ToUpper(v) && drawnLetters(strings.ToLower(v), "")
}

// chineseMixed accepts a value with digits or symbols.
func chineseMixed(v, match string) bool {
	v = trimValue(v)
	return isValue(v) && looksMixed(v) && !aboutPasswords.MatchString(match)
}

// optionPassword accepts what stands behind an option that means a port, a file or a number elsewhere.
func optionPassword(v, match string) bool {
	v = trimValue(v)
	letters := strings.ContainsFunc(v, unicode.IsLetter) && !strings.Contains(match, "-D ")
	return letters && bareOptionPassword(v, match) && (looksMixed(v) || strings.ContainsFunc(v, isSymbol)) &&
		!notValue(v) && !strings.Contains(v, "/")
}

// longOption is optionPassword for values of six characters or more: "mysql -u root -p shop2" names a database.
func longOption(v, match string) bool { return len(trimValue(v)) >= 6 && optionPassword(v, match) }

// drawnWords accepts groups of four letters of which some is no word: passwords that mail services draw.
func drawnWords(v, _ string) bool { return fewVowels.MatchString(v) }

// fewVowels is a group without a vowel, or with a pair of letters that no English word begins with.
var fewVowels = lazyregexp.New(`\b(?:[bcdfghjklmnpqrstvwxz]{4}|(?:[bdfgkpqvz][bcdfghjkmnpqtvwxz]` +
	`|[ckt][bdfgjkmpqvxz]` +
	`|j[^aeiou]|q[^u]|x[^aeiouy]|z[^aeioyh])[a-z]{2})\b`)

// openCode is a kind of code that everybody may know.
var openCode = lazyregexp.New(`(?i)^(?:area|zip|postal|post|country|error|exit|status|response|return|source` +
	`|dress|qr` +
	`|colou?r|product|bar|dialling|dialing|course|currency|language|branch|sort|char|key|machine|byte|unicode|http` +
	`|the|a|this)\s`)

// secretCode accepts the number behind "garage code is", unless the code is of an open kind.
func secretCode(_, match string) bool { return !openCode.MatchString(strings.TrimLeft(match, " ")) }

// randomSegment accepts the path of a URL with a segment that looks drawn by lot.
func randomSegment(v, match string) bool {
	if strings.Contains(match, "slack.com/") || strings.Contains(match, "/api/webhooks/") {
		return false // whose shapes are known
	}
	for segment := range strings.SplitSeq(v, "/") {
		if len(segment) >= 20 && count(segment, isDigit) >= 4 && randomness(segment) >= 0.3 {
			return true
		}
	}
	return false
}

// environmentSecret accepts the value of a variable such as SECRET_KEY, also of words, when it is no example, name or
// number.
func environmentSecret(v, _ string) bool {
	if isMasked(v) {
		return false
	}
	v = trimValue(v)
	return len(v) >= 6 && !isPlaceholder(v) && !isCode(v) && !notValue(v) && !exampleWord.MatchString(v) &&
		strings.ContainsFunc(v, unicode.IsLetter) && isASCII(v) && !algorithm.MatchString(v)
}

// exampleWord is what examples write in place of a secret.
var exampleWord = lazyregexp.New(`(?i)your|example|change|replace|dummy` +
	`|placeholder|insert|todo|here$|^(?:true|false|none|test)$`)
