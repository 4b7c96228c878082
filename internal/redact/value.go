package redact

import (
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
	placeholder = lazyregexp.New(`(?i)^(?:[$%@]?[{<(\[].*|\$\w+|%\w*%?|[*.xX•_-]+|your[\w-]*|<.*|example\w*|redacted` +
		`|changeme|placeholder|null|nil|none|undefined|true|false|todo|tbd)[,;)}\]>"'` + "`" + `]*$`)
	// A type or a field name in a declaration.
	typeWord = lazyregexp.New(`(?i)^\[?\]?\*?(?:string|str|bytes?|text|char|varchar|int|integer|number|bool` +
		`|boolean|any|object|optional|required|secret\w*|password\w*|passwd|pwd|token\w*|hidden|field|input|value` +
		`|key|env|self|this)\b[\w.\[\]|?<>(){},;]*$`)
	// The name of an algorithm or protocol, as in "token: sha256".
	algorithm = lazyregexp.New(`(?i)^(?:base\d+|sha-?\d+|md5|bcrypt|scrypt|argon2\w*|pbkdf2|aes-?\d*|utf-?\d+` +
		`|oauth-?2?|rsa-?\d*|http2?|ed25519|x509|2fa|mfa|[ks]?8s?)\b`)
)

// isPlaceholder reports whether v is an example, a variable or a marker of Text.
func isPlaceholder(v string) bool {
	return placeholder.MatchString(v) || strings.Contains(v, markerOpen)
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
	v = strings.TrimRight(v, `,;.)}]`)
	if len(v) < 4 || isPlaceholder(v) || isCode(v) || !isASCII(v) || algorithm.MatchString(v) {
		return false
	}
	tight := strings.IndexByte(match, '=') > 0 && !strings.ContainsAny(match, " \t\n")
	return tight || strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol)
}

// spokenPassword accepts values in prose that contain a digit or symbol.
func spokenPassword(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]"'!?`)
	return len(v) >= 4 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v) &&
		(strings.ContainsFunc(v, isDigit) || strings.ContainsFunc(v, isSymbol))
}

// chinesePassword accepts any ASCII value in Chinese prose, where an ASCII word after "密码是" is the value itself.
func chinesePassword(v, _ string) bool {
	v = strings.TrimRight(v, `,;.)}]"'!?`)
	return len(v) >= 4 && !isPlaceholder(v) && !isCode(v) && !algorithm.MatchString(v)
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
	return count(v, isDigit) >= 2 && strings.ContainsFunc(v, unicode.IsLetter) || len(v) >= 20 && randomness(v) >= 0.3
}

// isASCII reports whether s has ASCII characters only.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
