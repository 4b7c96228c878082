package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The rules of this file know a password by the account before it: "Grafana: admin / x", "use ops with x".

// Parts of the expressions: names that only accounts have, what may stand before a name, and what joins a name with its
// password.
const (
	adminName = `(?:admin\w*|administrator|root|sa|sys\w*|ddic|postgres|oracle|guest|demo|test\w*|operator|viewer|ops` +
		`|deploy\w*|svc[-_]\w+|service|pi|ubuntu|[\w.+-]+@[\w-]+\.[\w.-]+)`
	beforeName = `(?:^|[-*]\s|` + afterSign + `)`
	afterSign  = `(?:[:：(（>→–—|]\s*|\b(?:takes|wants|needs|is|are|use|uses|using|with|as|via|on|for)\s+|[用是]\s*)`
	joint      = `["'` + "`" + `]?\s*(?:` + signs + `|` + joins + `)\s*["'` + "`" + `]?$`
	signs      = `\s/{1,2}\s|[,，、]|\s[–—|+-]`
	joins      = `\s(?:and|with|using|plus)|\s[和加]`
)

var (
	// "use ops with", "in as kiosk with": a word that says what an account or a network is, and its name.
	accountUsed = lazyregexp.New(`(?i)\b(?:use|as|user|login|account)\s+["'` + "`" + `]?([A-Za-z][\w.@-]+)["'` + "`" +
		`]?\s*(?:\s(?:with|and|using)|/|,|\+)\s+["'` + "`" + `]?$`)
	// "admin / ", "root:", "kim@example.org, .
	accountNamed = lazyregexp.New(`(?:` + beforeName + `|\s)` + adminName + joint +
		`|(?:` + beforeName + `|\s)(?:admin|administrator|root|sa|[\w.+-]+@[\w-]+\.[\w.-]+)/$` +
		`|` + beforeName + adminName + `["'` + "`" + `]?(?::\s?|\s(?:后台\s?)?|\sboth\s)$` +
		`|(?:登录|登陆|账密|账号)[^\n]{0,30}[:：]\s*[a-z][\w.@-]{1,30}[,，]\s*$` +
		`|\b(?:re)?set\s(?:[\w' -]{0,20}\s)?` + adminName + `\s(?:[^\n]{0,30}\s)?to\s$`)
	// Any name in small letters, before a value that no list of words has.
	smallName = lazyregexp.New(beforeName + `[a-z][\w.@-]{1,30}\s/\s["'` + "`" + `]?$`)
	// Any name before a value that looks drawn by lot.
	followsName = lazyregexp.New(`(?:` + beforeName + `[A-Za-z][\w.@+-]{0,40}["']?\s*(?:` + signs + `)\s*["']?$` +
		`|` + afterSign + `[A-Za-z][\w.@+-]{0,40}["']?\s*(?:` + joins + `)\s*["']?$` +
		`|[:：(（]\s*[A-Za-z][\w.@+-]{0,40}[\s:]$|[:：(（]\s*[a-z][a-z0-9.@_-]{1,40}/$|(?:^|\s)[a-z][\w.-]{1,30}:$` +
		`|后台\s[\w.@-]+\s$|\s[a-z][\w.@-]{1,30}\s/\s$` +
		`|\breset\s[^\n]{1,60}\sto\s$)`)
)

// followsAccount reports whether a text ends with an account and what joins it with its password.
func followsAccount(s string) bool {
	if accountNamed.MatchString(s) {
		return true
	}
	m := accountUsed.FindStringSubmatch(s)
	return m != nil && !functionWord.MatchString(m[1]) && !plainWord.MatchString(m[1])
}

// inPair reports whether a value follows an account, or looks drawn and follows any name that is joined with it.
func inPair(s string, start, end int) bool {
	drawn := looksDrawn(s[start:end])
	if !drawn && !looksChosen(s[start:end]) {
		return false
	}
	before, _ := lineBefore(s, start)
	v := s[start:end]
	return followsAccount(before) ||
		v != strings.ToLower(v) && smallName.MatchString(before) || drawn && count(s[start:end], isDigit) > 1 &&
		followsName.MatchString(before) && !namesThing.MatchString(before)
}
