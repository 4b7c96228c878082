package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The rule of this file knows no sentence and no command. A value that looks as if it was drawn by lot, in a sentence
// or line that speaks of passwords or of logging in, is taken for the password, whatever stands between the two.

// Lengths of drawn values in bytes. Shorter ones are abbreviations with a number, and longer ones are judged by
// highEntropy.
const (
	minDrawn = 7
	maxDrawn = 40
)

// maxContext is how far from a value, in bytes, the words are that make it suspect.
const maxContext = 120

// speaksOfSecrets is what a sentence or a line must hold, before or behind the value.
var speaksOfSecrets = lazyregexp.New(`(?i)pass(?:word|wd|phrase|code|wort)|(?:^|[^a-z])(?:pass|pwd|pw|psk|creds?` +
	`|credentials?|secrets?|tokens?|log(?:s|ged)?[ -]?in(?:to)?|log[ -]?on|sign(?:s|ed)?[ -]?in(?:to)?|sudo` +
	`|authenticat\w*` +
	`|auth|http-basic|unlock(?:s|ed)?|decrypt(?:s|ed)?|admin|root)(?:[^a-z]|$)` +
	`|(?:^|[\s"'])-[pPwWa]\s*$|(?:connect|database|\.begin)\([^()\n]*$` +
	`|(?:^|[^a-z])(?:(?:echo|printf)\s+["']?|(?:postgres|mysql|redis|mongo)\s+)$|(?:wi-?fi|wlan` +
	`|ssid)[^\n]*,\s+key\s+$|(?:radius|tacacs|isakmp)[^\n]*\skey\s+(?:\d\s+)?$|kennwort|contrase|mot de passe|senha` +
	`|[🔑🔐🔒🗝]|\b(?:with|using|the|its|my|our|this)\s+key\s+(?:is\s+)?["'` + "`" + `]?$` +
	`|(?:^|[^a-z])(?:(?:gets?|got|getting|lets?)(?: \w+)? in(?:to)?|encrypted|protected|` + secretKeys + `)(?:[^a-z]` +
	`|$)` +
	`|密码|密碼|口令|密钥|令牌|登录|登陆|登入|授权码|` + foreignNouns)

// drawnShape looks where a word of speaksOfSecrets is.
var drawnShape = func() shape {
	s := newMixedShape("password", "passw passphrase pass~phrase passcode |pass| pwd |pw| |psk| |cred |secret |login "+
		"|log~in |log-in |logs~in |logged~in |log~on |logon |sign~in |sign-in |signin |signs~in |signed~in |sudo| "+
		"|authenticat "+
		"|auth| http-basic |unlock |decrypt |admin| |root| 密码 密碼 口令 密钥 令牌 登录 登陆 授权码 "+
		"~-p~ ~-w~ ~-a~ |echo~ "+
		"|printf~ kennwort contrase mot~de~passe |senha| passwort |parola| wachtwoord |-p connect connection( "+
		"database( .begin( "+
		"mysqli( pdo( identified~by http-basic |alias~set ctl~register bindpw admin: root: admin/ root/ postgres~ "+
		"mysql~ redis~ mongo~ session( send_keys( |wifi |wi-fi |wlan |hotspot |ssid hmac fernet( jwt. cipher radius "+
		"tacacs isakmp |creds| dbpassword user_pass "+
		"|token _token _pass| _pwd| _pw| 🔑 🔐 🔒 🗝 "+serviceHints+" "+secretKeyHints+" |get~in |gets~in |got~in "+
		"|getting~in |lets~in let~me~in "+
		"lets~you~in |encrypted| |protected| 登入 "+foreignHints, `(?P<v>[!-~]{7,})`, nil)
	s.values = func(text string) []Finding { return suspectValues(text, inContext) }
	return s
}()

// inContext reports whether a piece is a drawn value where secrets are spoken of, or a chosen one that is pointed at.
func inContext(s string, start, end int) bool {
	v := s[start:end]
	return looksDrawn(v) && nearSecrets(s, start, end) || looksChosen(v) && pointedAt(s, start, end)
}

// suspectValues finds the pieces of words that are suspect where they stand.
func suspectValues(s string, suspect func(s string, start, end int) bool) (list []Finding) {
	for at := 0; at < len(s); {
		from, to := nextWord(s, at)
		if from == to {
			return list
		}
		at = to
		if word := s[from:to]; strings.Contains(word, "://") ||
			strings.IndexByte(word, '@') > 0 && mailAddress.MatchString(trimValue(word)) {
			continue
		}
		for from < to {
			start, end := nextPiece(s, from, to)
			if start == end {
				break
			}
			from = end
			if end-start < minDrawn || onlyLetters(s[start:end]) {
				continue // most words: every kind of value is longer, and has something else in it
			}
			start = behindUser(s, start, end)
			if start < end && !isTemplate(s, start, end) && suspect(s, start, end) {
				list = append(list, Finding{"password", start, end})
			}
		}
	}
	return list
}

// nextWord returns the next sequence of printing ASCII bytes.
func nextWord(s string, at int) (from, to int) {
	for at < len(s) && kindsOfBytes[s[at]]&printKind == 0 {
		at++
	}
	from = at
	for at < len(s) && kindsOfBytes[s[at]]&printKind != 0 {
		at++
	}
	return from, at
}

// separators part the words of a command, a list or a call: NAME=VALUE, user:value, f("value").
const separators = "\"'`()[]{}<>=:,;|*\\"

// nextPiece returns the next piece of a word between separators, without the punctuation behind it.
func nextPiece(s string, from, to int) (start, end int) {
	for from < to && kindsOfBytes[s[from]]&separatorKind != 0 {
		from++
	}
	start = from
	for from < to && kindsOfBytes[s[from]]&separatorKind == 0 {
		from++
	}
	return start, from
}

// onlyLetters reports whether a piece is ASCII letters and nothing else.
func onlyLetters(s string) bool {
	for i := range len(s) {
		if kindsOfBytes[s[i]]&letterKind == 0 {
			return false
		}
	}
	return true
}

// behindUser returns the start of the password in "user/password" and "-ppassword", else the start itself.
func behindUser(s string, start, end int) int {
	if strings.HasPrefix(s[start:end], "-p") {
		return start + len("-p")
	}
	user, rest, ok := strings.Cut(s[start:end], "/")
	if !ok || user == "" || strings.Contains(rest, "/") || strings.ContainsAny(user, "0123456789.") {
		return start
	}
	return start + len(user) + 1
}

// passwordSymbols are symbols that passwords have, and encodings do not.
var passwordSymbols = func() (b byteSet) {
	for _, c := range []byte("!#%?$^") {
		b.add(c)
	}
	return b
}()

// everyClass reports whether a value looks drawn and has letters of both cases, a digit and a symbol of
// passwordSymbols. Nothing but a password has them all, so its surroundings do not matter.
func everyClass(s string, start, end int) bool {
	v := trimValue(s[start:end])
	return strings.ContainsAny(v, "!#%?$^") && looksDrawn(v) && v != strings.ToLower(v) && v != strings.ToUpper(v) &&
		rarePairs(v) > 0
}

// isTemplate reports whether a piece is the name of a variable.
func isTemplate(s string, start, end int) bool {
	return s[start] == '$' || s[start] == '%' || start > 0 && (s[start-1] == '{' || s[start-1] == '[') && start > 1 &&
		s[start-2] == '$'
}

// nearSecrets reports whether the sentence or line around a value speaks of secrets.
func nearSecrets(s string, start, end int) bool {
	before, _ := lineBefore(s, start)
	after := s[end:wordBreak(s, end+maxContext)]
	for _, stop := range []string{". ", "。", "! "} { // a question may ask for the value
		if i := strings.LastIndex(before, stop); i >= 0 {
			before = before[i+len(stop):]
		}
	}
	if speaksOfSecrets.MatchString(before) || connectsWith.MatchString(before) {
		return true
	}
	if count(s[start:end], isDigit) > 1 && nearService.MatchString(before) && !namesThing.MatchString(before) {
		return true
	}
	for _, stop := range []string{"\n", ". ", "。", "! ", "? "} {
		after, _, _ = strings.Cut(after, stop)
	}
	return speaksOfSecrets.MatchString(after)
}

var (
	// A service before the value, and a word directly before it that says that it is no password.
	nearService = lazyregexp.New(`(?i)(?:^|[^a-z])(?:` + services + `)(?:[^a-z]|$)`)
	namesThing  = lazyregexp.New(`(?i)(?:called|named|ssid|network|track|number|no\.|serial|id|model|version|type` +
		`|ref\w*` +
		`|build|release|tag|image|connect|user|login|name|host|order|ticket|case|key|commit|sha\d+|md5|h1|blake\w*|叫|为` +
		`|号|名|型号` +
		`|版本)\s*[:：=#]?\s*["'` + "`" + `]?$`)
)

// looksDrawn reports whether v looks drawn by lot: letters and digits with a symbol between them, frequent changes of
// the class, or letters in an order that words do not have.
func looksDrawn(v string) bool {
	v = trimValue(v)
	if len(v) < minDrawn || len(v) > maxDrawn {
		return false
	}
	var letters, capitals, digits, symbols, beyondHex int
	for i := range len(v) {
		c := v[i]
		switch {
		case class(c) == 'd':
			digits++
		case class(c) != 0:
			letters++
			if class(c) == 'u' {
				capitals++
			}
			if c|0x20 >= 'g' {
				beyondHex++
			}
		case strings.IndexByte("!#$%^&+~?@", c) >= 0:
			symbols++
		default:
			return false // a path, a name with dots or hyphens
		}
	}
	if letters < 3 || digits == 0 || beyondHex == 0 ||
		camelName.MatchString(v) || isIdentifier(v) || thingName.MatchString(v) {
		return false
	}
	if symbols > 0 {
		return !namedVersion.MatchString(v) && (rarePairs(v) > 0 || capitals > 0 && capitals < letters)
	}
	small := letters - capitals
	return rarePairs(v) > 0 || len(v) >= 12 && randomness(v) >= 0.45 ||
		len(v) >= 8 && small > 1 && capitals > 1 && digits > 1 && randomness(v) >= 0.55
}

// isIdentifier reports whether v is a number or a name of program code: 0x1f, float64, LoadX509KeyPair, endline+n.
func isIdentifier(v string) bool {
	if strings.HasPrefix(v, "0x") || strings.HasPrefix(v, "0X") || sizedType.MatchString(v) || expression.MatchString(v) {
		return true
	}
	words, run, vowel := 0, 0, false
	for i := range len(v) + 1 {
		if i < len(v) && class(v[i]) == 'l' {
			run++
			vowel = vowel || strings.IndexByte("aeiouy", v[i]) >= 0
			continue
		}
		if i < len(v) && class(v[i]) == 0 && v[i] != '_' {
			return false
		}
		if run >= 3 && vowel && (run > 3 || words > 0) {
			words++
		}
		run, vowel = 0, false
	}
	return words > 1 && v != strings.ToLower(v)
}

var (
	// A type with its size in bits.
	sizedType = lazyregexp.New(`(?i)^(?:u?int|float|complex|dwarf|elf|amd|arm|win|utf|word|byte|char|real|max\w*` +
		`|min\w*)` +
		`(?:8|16|32|64|128|256)[a-z]*$`)
	// A sum or a mask of names.
	expression = lazyregexp.New(`^[A-Za-z]\w*(?:[+&^]+(?:\d|[a-z]\w{0,3}|0[xob]\w+))+$`)
)

// namedVersion is a name or a number with a symbol in it: "react@18", "C++17", "50%", "PR#4711".
var namedVersion = lazyregexp.New(`^(?:[A-Za-z-]+@\^?\d[\d.a-z]*|[A-Za-z]\+\+\d+|\d[\d.]*%\w*` +
	`|[A-Za-z]{1,4}\+{1,2}\d[\d.:]*` +
	`|[A-Za-z]+#\d+|[\w?]*\?\w+&\w*)$`)

// rareBehind has, for each letter, those that hardly follow it in English words, names of programs, German or Pinyin.
// It was counted in the sources of Go: pairs in fewer than ten different words.
var rareBehind = [26]string{"hjoq", "ghkmnpqvwxz", "jwx", "hjkpwxz", "j", "ghjkmqvwxyz", "dfjkqvwxz", "bcfgjkpqvxyz",
	"hiquwy", "bcdfghklmnpqrtuvwxyz", "bcfghjkmpqtuvwxyz", "jqrwxz", "fghjkqrvwxz", "hjqwx", "hjqyz", "bgjmqvwxyz",
	"abcdefghjklmnopqrstvwxyz", "hjqx", "gjqvx", "bjkqv", "hjquvwxy", "bcdfghjkqrtuvwxyz", "bcdfgjkmpqtuvwxyz",
	"ghjklmnoqrsuvwyz", "bcdfghjkqrvwxyz", "bcdfgjklmnpqrstuvwx"}

// rarePairs is the share of pairs of adjacent letters that words do not have, 0 when it is below a fifth. A capital
// behind a small letter begins another word.
func rarePairs(v string) int {
	pairs, rare := 0, 0
	for i := 1; i < len(v); i++ {
		a, b := class(v[i-1]), class(v[i])
		if (a != 'l' && a != 'u') || (b != 'l' && b != 'u') || a == 'l' && b == 'u' {
			continue
		}
		pairs++
		if strings.IndexByte(rareBehind[v[i-1]|0x20-'a'], v[i]|0x20) >= 0 {
			rare++
		}
	}
	if pairs >= 5 && !strings.ContainsAny(v, "aeiouyAEIOUY") {
		return pairs
	}
	if pairs < 3 || rare*5 < pairs {
		return 0
	}
	return rare
}
