package guard

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// ReasonStated is the reason of an item whose text says of itself that it replaces something.
const ReasonStated = "STATED_REPLACEMENT"

// The cues by which a statement says that something known is over. In the first two groups of patterns the group "old"
// is what was replaced and "new" what replaces it; without "old", "new" names a thing and its version.
var (
	ended = []*lazyregexp.Pattern{
		lazyregexp.New(`\bno longer\b`),
		lazyregexp.New(`(?:\b(?:do|does|did|is|are|was|were|has|have|can|will)(?: not|n't)\b)(?P<rest>.*?)\b(?:any ?more|any longer)$`),
		lazyregexp.New(`\b(?:stopped|quit|gave up)\b`),
		lazyregexp.New(`不再|再也不`),
		lazyregexp.New(`(?:已经)?不(?P<rest>[^,，。]+)了$`),
	}
	exchanged = []*lazyregexp.Pattern{
		lazyregexp.New(`\b(?:switched|moved|migrated|changed|upgraded|went|converted)\b(?P<what>.*?) from (?P<old>.+?) to (?P<new>.+)$`),
		lazyregexp.New(`\breplaced (?P<old>.+?) (?:with|by) (?P<new>.+)$`),
		lazyregexp.New(`^(?P<old>.+?) (?:was|were|has been|is) replaced (?:with|by) (?P<new>.+)$`),
		lazyregexp.New(`^(?P<old>.+?) (?:was|were|has been|got|is) renamed (?:to|as) (?P<new>.+)$`),
		lazyregexp.New(`\brenamed (?P<old>.+?) (?:to|as) (?P<new>.+)$`),
		lazyregexp.New(`^(?P<new>.+?) instead of (?P<old>.+)$`),
		lazyregexp.New(`^(?P<what>.*?)从\s*(?P<old>.+?)\s*(?:改为|改成|改用|换成|换到|换为|变成|变为|迁移到|迁到|升级到|切换到)了?\s*(?P<new>.+?)了?$`),
		lazyregexp.New(`(?:把|将)\s*(?P<old>.+?)\s*(?:换成|换为)了?\s*(?P<new>.+?)了?$`),
		lazyregexp.New(`^(?P<old>.+?)\s*(?:改名为|改名叫|更名为|重命名为)了?\s*(?P<new>.+?)了?$`),
		lazyregexp.New(`(?:改用|使用|用)\s*(?P<new>.+?)\s*(?:代替|取代|替代|替换)了?\s*(?P<old>[^\p{Han}]+|\p{Han}+?)(?:$|\s*\p{Han}*$)`),
	}
	upgraded = []*lazyregexp.Pattern{
		lazyregexp.New(`^(?P<what>.*?)\b(?:upgraded|updated|bumped|migrated)\b(?: .*?)? to (?P<new>[\p{L}][\p{L} .+#-]*? v?\d[\w.]*)$`),
		lazyregexp.New(`^(?P<what>.*?)(?:升级到|升到|更新到|升级为)了?\s*(?P<new>[a-z][a-z .+#-]*? ?v?\d[\w.]*)\s*了?$`),
	}

	// What only thinks about a replacement, forbids one, or tells of one day, replaces nothing.
	notStated = lazyregexp.New(`\bno (?:longer|more|later) than\b|\bany more than\b|\b(?:if|whether|might|may|maybe|could|would|` +
		`should|plans?|planning|considers?|wants?|wonders?|asked|asks|thinks?|hopes?|going to|never|must|today|yesterday)\b|\?$|？$` +
		`|如果|要是|假如|打算|计划|考虑|可能|也许|想要|要不要|是否|会怎样|吗$|应该|建议|今天|昨天|超过`)
)

// replacedByStatement makes c an item that supersedes target if c says of itself that it replaces what target says. ok
// is false if it does not; when only a part agrees, a person is asked.
func replacedByStatement(c Item, target *memory.Memory) (Item, bool) {
	text, known := plainText(c.Memory.Content), plainText(target.Content)
	if notStated.MatchString(text) || notStated.MatchString(known) || negates(known) {
		return c, false
	}
	sure, unsure := endedBy(text, known)
	if !sure && !unsure {
		sure, unsure = exchangedBy(text, known)
	}
	if !sure && !unsure {
		return c, false
	}
	c.Action, c.Target, c.TargetRevision = Delete, target.ID, target.Revision
	c.Reason, c.Replaces, c.Unsure = ReasonStated, nil, !sure
	return c, true
}

// secondClause matches the end of a first clause in a normalised text. A comma in a number is none.
var secondClause = lazyregexp.New(`[,;](?:[\s\p{Han}]|$)`)

// narrows matches what follows a clause and leaves a part of it true.
var narrows = lazyregexp.New(`^\s*(?:except|unless|apart|other than|only|just|at least|as|when|while|on|in|during|for now|but (?:still|only|sometimes)` +
	`|除|只|仅|但|至少|周|平时|有时|偶尔)`)

// plainText normalises a statement for the cues.
func plainText(s string) string {
	s = strings.ToLower(norm.NFKC.String(s))
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "’", "'")), " ")
	return strings.TrimRight(s, ".!。！ ")
}

// negates reports whether a statement has a negation.
func negates(s string) bool { return protectedTokensOf(s).Negations > 0 }

// endedBy compares a statement that something is over with a known one: without its cue it says the same, and about the
// same subject. A part of it in addition leaves it unsure: who no longer reads on the train may read elsewhere.
func endedBy(text, known string) (sure, unsure bool) {
	for _, p := range ended {
		at := p.FindStringIndex(text)
		if at == nil {
			continue
		}
		rest := text[:at[0]] + " " + text[at[1]:]
		if i := p.SubexpIndex("rest"); i > 0 {
			m := p.FindStringSubmatch(text)
			rest = text[:at[0]] + " " + m[i]
		}
		over, was := stems(rest), stems(known)
		if end := secondClause.FindStringIndex(text[at[1]:]); end != nil && !narrows.MatchString(text[at[1]+end[0]+1:]) {
			// what comes behind the clause does not narrow it: "no longer works at Acme, but at Globex"
			over = stems(text[:at[0]] + " " + text[at[1]:at[1]+end[0]])
			if subjectOf(rest) == subjectOf(known) && len(was) > 0 && slices.Equal(over, was) {
				return true, false
			}
			over = stems(rest)
		}
		switch {
		case subjectOf(rest) != subjectOf(known) || len(was) == 0:
			return false, false
		case slices.Equal(over, was):
			return true, false
		case containsInOrder(over, was) || containsInOrder(was, over) && len(over) > 1:
			return false, true
		}
		return false, false
	}
	return false, false
}

// exchangedBy compares a statement that one thing took the place of another with a known one, which holds the old thing
// and is about the same.
func exchangedBy(text, known string) (sure, unsure bool) {
	was := stems(known)
	for _, p := range exchanged {
		m := p.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		group := func(name string) string {
			if i := p.SubexpIndex(name); i > 0 {
				return strings.TrimSpace(m[i])
			}
			return ""
		}
		old, rest := stems(group("old")), stems(strings.Replace(text, group("old"), " ", 1))
		own := slices.DeleteFunc(slices.Clone(was), func(w string) bool { return slices.Contains(old, w) })
		held := slices.DeleteFunc(slices.Clone(old), func(w string) bool { return slices.Contains(was, w) })
		if len(old) == 0 || len(held) > 0 && len(held) == len(old) {
			return false, false
		}
		shared := shares(own, rest) || shares(own, old) && len(held) == 0
		same := sameSubject(text, known)
		return len(held) == 0 && same && (shared || plainSubject(known)), same && (shared || len(held) == 0)
	}
	for _, p := range upgraded {
		m := p.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		thing, version := splitVersion(m[p.SubexpIndex("new")])
		oldVersion := versionOf(known, thing)
		if oldVersion == "" || oldVersion == version {
			return false, false
		}
		if sameSubject(m[p.SubexpIndex("what")], known) {
			return true, false
		}
		return false, true
	}
	return false, false
}

// shares reports whether two lists have a word in common that is not only of use.
func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(w string) bool { return !commonVerb[w] && slices.Contains(b, w) })
}

// commonVerb are stems that say nothing about what a statement is about.
var commonVerb = wordSet("use us run work keep call name switch mov move send go hav have be 用 使 名 叫 在 放 跑")

// splitVersion splits "react 19" into thing and version.
func splitVersion(s string) (thing, version string) {
	i := strings.LastIndexAny(s, " ")
	if i < 0 {
		i = strings.IndexAny(s, "0123456789")
	}
	if i <= 0 {
		return s, ""
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i:])
}

// versionOf returns the version of a thing that a statement names, "" for none.
func versionOf(s, thing string) string {
	i := strings.Index(s, thing)
	if thing == "" || i < 0 || hasLatinEdge(s[:i], true) {
		return ""
	}
	rest := strings.TrimLeft(s[i+len(thing):], " v")
	return atNumber.FindString(rest)
}

// stems are the content words of a statement without endings, so that "watching" is "watches", and without its subject.
func stems(s string) (out []string) {
	for _, w := range contentWords(cutSubject(s)) {
		if aux[w] {
			continue
		}
		for _, end := range []string{"ing", "es", "s", "e", "ed"} {
			if t := strings.TrimSuffix(w, end); len(t) >= 3 && t != w {
				w = t
				break
			}
		}
		if len(w) > 3 && w[len(w)-1] == w[len(w)-2] && w[0] < 0x80 {
			w = w[:len(w)-1] // running
		}
		if s := strings.TrimSuffix(w, "i") + "y"; len(w) > 3 && strings.HasSuffix(w, "i") {
			w = s
		}
		out = append(out, w)
	}
	return out
}

// aux are words around a cue that do not count.
var aux = wordSet("now already any more has have had been")

// subjects are how a statement begins, and what it is about then.
var subjects = []struct {
	re   *lazyregexp.Pattern
	name string
}{
	{lazyregexp.New(`^(?:the user's|user's|my) (\w+)|^(?:用户|我)的(\p{Han}{1,3}?)(?:不|再|从|把|已|现|也|喜|$)`), "of the user"},
	{lazyregexp.New(`^(?:the user|user|i)\b|^(?:用户|我)(?:们)?`), "user"},
	{lazyregexp.New(`^(?:we|our team|the team|our project|the project|this project)\b|^(?:项目|团队|本项目)`), "we"},
	{lazyregexp.New(`^(?:our|the) `), "thing"},
}

// subjectOf classifies whom or what a statement is about.
func subjectOf(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "我们") || strings.HasPrefix(s, "咱们") {
		return "we"
	}
	for _, x := range subjects {
		if m := x.re.FindStringSubmatch(s); m != nil {
			if x.name == "of the user" {
				return x.name + " " + m[1] + m[2]
			}
			return x.name
		}
	}
	return ""
}

// foreign begins statements about others.
var foreign = lazyregexp.New(`\b(?:other|another|friends?|neighbou?r|customers?|colleagues?|somebody|someone|brother|sister|wife|` +
	`husband)\b|隔壁|别的|其他|同事|朋友|客户`)

// sameSubject reports whether two statements can be about the same: both about the user, or both about the project and
// its things, and neither about others.
func sameSubject(a, b string) bool {
	if foreign.MatchString(a) != foreign.MatchString(b) {
		return false
	}
	x, y := subjectOf(a), subjectOf(b)
	project := func(s string) bool { return s == "we" || s == "thing" || s == "" }
	switch {
	case x == y && x != "thing" && x != "":
		return true
	case (x == "we" || strings.TrimSpace(a) == "") && project(y), y == "we" && project(x):
		return x != "thing" || y != "we" || shares(stems(a), stems(b))
	case project(x) && project(y):
		return qualifiersAgree(a, b)
	}
	return false
}

// qualifiersAgree reports whether the first words of two statements about things are the same thing.
func qualifiersAgree(a, b string) bool {
	x, y := contentWords(a), contentWords(b)
	return len(x) > 0 && len(y) > 0 && x[0] == y[0]
}

// plainSubject reports whether a statement is about the user or the project as a whole.
func plainSubject(s string) bool { x := subjectOf(s); return x == "user" || x == "we" }

// cutSubject drops the user or the project from the beginning of a statement.
func cutSubject(s string) string {
	s = strings.TrimSpace(s)
	if x := subjectOf(s); x != "user" && x != "we" {
		return s
	}
	for _, p := range []string{"the user", "user", "our team", "the team", "our project", "the project", "this project", "we", "i",
		"用户", "我们", "咱们", "我", "团队", "本项目", "项目"} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest
		}
	}
	return s
}
