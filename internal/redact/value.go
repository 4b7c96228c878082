package redact

import (
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

// The checks below tell a secret from what only stands where one could: a type, a variable, a placeholder, a word.

func count(s string, is func(rune) bool) (n int) {
	for _, r := range s {
		if is(r) {
			n++
		}
	}
	return n
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
func isSymbol(r rune) bool {
	return r < unicode.MaxASCII && strings.ContainsRune("!@#$%^&*+=~?", r)
}

func hasDigit(value, _ string) bool { return strings.ContainsFunc(value, isDigit) }

// keyMaterial asks for a line of base64 behind the header, so that code naming the header stays.
func keyMaterial(value, _ string) bool { return base64Line.MatchString(value) }

var (
	base64Line  = pattern.New(`[A-Za-z0-9+/=]{32,}`)
	code        = pattern.New(`^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+;?$`)
	placeholder = pattern.New(`(?i)^(?:[$%@]?[{<(\[].*|\$\w+|%\w*%?|[*.xX•_-]+|your[\w-]*|<.*|example\w*|redacted|changeme|placeholder|null|nil|none|undefined|true|false|todo|tbd)[,;)}\]>"'` + "`" + `]*$`)
	typeWord    = pattern.New(`(?i)^\[?\]?\*?(?:string|str|bytes?|text|char|varchar|int|integer|number|bool|boolean|any|object|optional|required|secret\w*|password\w*|passwd|pwd|token\w*|hidden|field|input|value|key|env|self|this)\b[\w.\[\]|?<>(){},;]*$`)
	algorithm   = pattern.New(`(?i)^(?:base\d+|sha-?\d+|md5|bcrypt|scrypt|argon2\w*|pbkdf2|aes-?\d*|utf-?\d+|oauth-?2?|rsa-?\d*|http2?|ed25519|x509|2fa|mfa|[ks]?8s?)\b`)
)

func isPlaceholder(v string) bool {
	return placeholder.MatchString(v) || strings.Contains(v, markerOpen)
}

func isCode(v string) bool {
	return strings.ContainsAny(v, "()[]{}`<>") || strings.HasPrefix(v, "$") || strings.HasPrefix(v, "&") || code.MatchString(v) || typeWord.MatchString(v)
}

func notPlaceholder(v, _ string) bool { return !isPlaceholder(v) }

// urlPassword spares a port followed by a path with an @ in it.
func urlPassword(v, _ string) bool {
	port := strings.TrimLeft(v, "0123456789")
	if port != v && (port == "" && len(v) <= 5 || strings.HasPrefix(port, "/")) {
		return port == "" && len(v) > 3
	}
	return !isPlaceholder(v)
}

// headerValue takes what follows a scheme; without one the value has to look like a credential.
func headerValue(v, match string) bool {
	return !isPlaceholder(v) && !isCode(v) && strings.ContainsFunc(v, isDigit) && len(v) >= 8 ||
		len(v) >= 16 && strings.ContainsFunc(match[:len(match)-len(v)], unicode.IsSpace) && !isPlaceholder(v) && !isCode(v)
}

func quotedPassword(v, _ string) bool {
	if isPlaceholder(v) || typeWord.MatchString(v) {
		return false
	}
	// A message for people ("must not be empty") is no password.
	return strings.Count(v, " ") < 3 || strings.ContainsFunc(v, isDigit)
}

// barePassword takes anything after a tight "=", elsewhere only what is no ordinary word.
func barePassword(v, match string) bool {
	v = strings.TrimRight(v, `,;.)}]`)
	if len(v) < 4 || isPlaceholder(v) || isCode(v) || !isASCII(v) || algorithm.MatchString(v) {
		return false
	}
	tight := strings.IndexByte(match, '=') > 0 && !strings.ContainsAny(match, " \t\n")
	return tight || strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol)
}

func spokenPassword(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]"'!?`)
	return len(v) >= 4 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v) &&
		(strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol))
}

func chinesePassword(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]"'!?`)
	return len(v) >= 4 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v)
}

func quotedSecret(v, _ string) bool {
	return !isPlaceholder(v) && !isCode(v) && isASCII(v) && (count(v, isDigit) >= 2 || len(v) >= 20 && randomness(v) >= 0.3)
}

func bareSecret(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]`)
	if len(v) < 8 || isPlaceholder(v) || isCode(v) || !isASCII(v) || algorithm.MatchString(v) || strings.Contains(v, "://") || strings.HasPrefix(v, "/") {
		return false
	}
	return count(v, isDigit) >= 2 && strings.ContainsFunc(v, unicode.IsLetter) || len(v) >= 20 && randomness(v) >= 0.3
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
