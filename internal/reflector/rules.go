package reflector

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// finding is what a rule read out of a sentence.
type finding struct {
	rule     string
	category string
	source   string
	salience float64
	// masked, as it is to be stored
	content string
	// it speaks of "that": what that was has to be added
	vague bool
}

// rule reads one kind of statement. It is matched against a statement without greeting and closing punctuation.
type rule struct {
	name     string
	category string
	salience float64
	re       *lazyregexp.Pattern
	// "" when it is no such statement after all
	phrase func(m []string) string
}

// newRule makes a rule. The expression is compiled at its first use.
func newRule(name, category string, salience float64, re string, say func(m []string) string) rule {
	return rule{name, category, salience, lazyregexp.New(`(?i)` + re), say}
}

// findStatements reads a sentence. An explicit request or a correction takes the sentence whole, statements are
// looked for in its clauses.
func findStatements(s *sentence) (out []finding) {
	text := trimLeadingFiller(s.text)
	if m := saidNo.FindString(text); m != "" && len(m) < len(text) {
		s.afterRefusal = true
	}
	if f, ok := rememberRequest(s, text); ok {
		return []finding{f}
	}
	if s.question || oneOff.MatchString(text) {
		return nil
	}
	if f, ok := correction(s, text); ok {
		return []finding{f}
	}
	if s.hypothetical && !wishes.MatchString(text) {
		return nil
	}
	for _, c := range clauses(text) {
		if f, ok := statement(trimLeadingFiller(strings.TrimSpace(c))); ok {
			out = append(out, f)
		}
	}
	return out
}

var (
	// "Remember, the …" is a request to keep a statement; "Remember, just do it" is not.
	rememberComma = lazyregexp.New(`(?i)^remember, ((?:the|our|we|my|all|every|each)\b.+)$`)
	// A refusal before the correction.
	saidNo = lazyregexp.New(`(?i)^(?:no|nope|wrong|incorrect)[,.!;:\s-]+(?:(?:that's|that is` +
		`|this is) (?:wrong|not right|incorrect|not what i meant)[,.!;:\s-]+)?`)
	// A "would" that expresses a wish, not a hypothesis.
	wishes = lazyregexp.New(`(?i)^i(?:'d| would) (?:much |really |generally )?(?:prefer|rather)\b`)
	// A request to remember; group 2 is the content.
	remember = lazyregexp.New(`(?i)^(?:(?:can|could|would|will) you (?:please )?|please |i want you to ` +
		`|i'd like you to |you should |always )?` +
		`(?:(?:remember|note|keep in mind|don't forget|do not forget|make a note|take note` +
		`|memorize)(?: for (?:the future|later|next time|future reference))?(?: that\b| this\s*[:,]|\s*:| (i|i'm` +
		`|my|we|our)\b))[:,]?\s*(.+)$`)
	// The polite forms of a request.
	rememberPlain = lazyregexp.New(`(?i)^(?:can|could|would|will) you |^please |^i want you to |^i'd like you to `)
	// "Note that …", which often only explains.
	noteThat = lazyregexp.New(`(?i)^note\b`)
	// A Chinese request to remember; group 1 is the content.
	rememberZh = lazyregexp.New(`^(?:请|请你|麻烦你?|帮我|你要|你得|一定要|务必|千万要|要|都?给我)*(?:记住|记一下|记下来|记下|牢记|备注一下|请注意` +
		`|记录一下)(?:以下|这一点|这点|一下)?[：:，,、\s]*(.+)$`)
	// 别忘了 with a statement; group 1 is the statement.
	remindedZh = lazyregexp.New(`^(?:别忘了|不要忘了|别忘记|要知道)[，,：:]\s*(.+)$`)
	// Content that is no statement, such as 密码.
	notRememberZh = lazyregexp.New(`^(?:了|密码|我$|登录|吗|的|不|用户名|单词)|^(?:这个|那个|它|这些|那些)$`)
	// An instruction.
	imperative = lazyregexp.New(`(?i)^(?:please )?(?:always|never|don't|do not|use|run|avoid|make sure|only` +
		`|you (?:should|must|need to)|stop)\b|^(?:请)?(?:必须|不要|别|总是|永远|一定要|务必|禁止|先|只能|只用)|一律|必须|务必|[，,；;]\s*(?:不要|别` +
		`|禁止|先)`)
	// A complete statement with subject and verb.
	declares = lazyregexp.New(`(?i)^(?:the|our|we|all|every|each|there|my|any|most|some|no` +
		`|(?-i:\p{Lu})[\p{L}-]+)\b.* (?:\p{L}{3,}s|\p{L}{2,}ed|can|can't|cannot|must|will|have|don't|never|always` +
		`|may|should)\b`)
	// A verb of a fact.
	definite = lazyregexp.New(`(?i)\b(?:is|are|was|has|uses?|runs?|lives?|means|=)\b|是|在|用|有|为`)
	// Words after "remember" that ask whether the agent remembers.
	recalled = lazyregexp.New(`(?i)^(?:when|the time|how we|what|where|why|who|if you|yesterday|last)\b`)
)

// rememberRequest recognises a request to remember. Its content is always kept; the other rules only determine the
// form.
func rememberRequest(s *sentence, text string) (finding, bool) {
	what := ""
	switch m := remember.FindStringSubmatch(text); {
	case s.listed:
		what = s.text
	case m != nil:
		what = m[2]
		if m[1] != "" {
			what = m[1] + " " + what
		}
		polite := rememberPlain.MatchString(text)
		// "Note that …" often only explains, and a question is a request only in polite form.
		if s.question && m[1] != "" || !polite &&
			(s.question || noteThat.MatchString(text) && !strings.Contains(strings.ToLower(text), "for ")) ||
			recalled.MatchString(what) {
			return finding{}, false
		}
	case !s.question && rememberComma.MatchString(text):
		what = rememberComma.FindStringSubmatch(text)[1]
	default:
		m := rememberZh.FindStringSubmatch(text)
		if m == nil {
			if m = remindedZh.FindStringSubmatch(text); m != nil && !definite.MatchString(m[1]) {
				m = nil // a task, not a fact
			}
		}
		if m == nil || s.question || notRememberZh.MatchString(m[1]) {
			return finding{}, false
		}
		what = strings.TrimPrefix(m[1], "了")
	}
	what = strings.TrimSpace(what)
	if letterWeight(what) < 4 {
		return finding{}, false
	}
	f, ok := correction(&sentence{text: what}, what)
	if !ok {
		f, ok = statement(what)
	}
	if !ok {
		f = finding{category: memory.General, content: capitalize(what)}
		switch {
		case imperative.MatchString(what):
			f.category = memory.Procedural
		case definite.MatchString(what), declares.MatchString(what):
			f.category = memory.Facts
		}
	}
	f.rule, f.source, f.salience = "EXPLICIT_REQUEST", memory.SourceReflection, max(f.salience, 0.85)
	return f, !f.vague
}

// letterWeight is the length of s in letters and digits; a Chinese character counts as two.
func letterWeight(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			n += 2
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Co, r):
			n++
		}
	}
	return n
}

const (
	verbs = `don't|do not|never|always|stop|use|run|ask|make|check|avoid|be|keep|write|put|remember|only|just|first` +
		`|start|test|read|tell|show|let|give|call|commit|format|answer|respond|reply|try|prefer|include|add|skip` +
		`|wait|confirm|explain|return|leave|name|create|follow|verify|look|search|get|push|before|after|when` +
		`|whenever|no`
	// Imperatives in Chinese.
	verbsZh = `不要|别|不用|不准|不许|禁止|先|必须|务必|一定要|一定|要|得|请|都用|都要|只用|只要|改用|避免|统一|直接|使用|用|记得|注意|优先|尽量|每次`
)

var (
	// An instruction that only refers to something ("don't do that").
	vagueRest = lazyregexp.New(`(?i)^(?:(?:do|doing|say|saying|use|using|make|making)(?:ing)? )?(?:that|this|it|so` +
		`|these|those|like that|like this|the same)(?: (?:again|mistake|way|anymore))?$|^(?:再)?(?:这样|那样|这么|那么|这个` +
		`|那个)(?:做|干|了|写|弄|搞|说|回答)?(?:了)?$|^(?:这样|那样)$`)
	// Consolation or small talk in the form of an instruction.
	idleRest = lazyregexp.New(`(?i)^(?:(?:don't|do not|be|do|just|(?:it|that|this|you) should(?: be)?) )?(?:worry` +
		`|fine|ok|okay|good|work|works|possible|enough|right|great|sure|sorry|there|mind|bother|think so)\b|^(?:再说` +
		`|再聊|见|再见|再看|再讨论|有空|有机会|会|可能|再试|说|继续|补充|要是)`)
	// Plans of the user in the form of an instruction.
	ownPlans = lazyregexp.New(`^(?:我|我们|咱们)(?:会|想|要|打算|可以|再|可能|得)`)
)

// correctionRules recognise instructions for future behaviour. Group 1 is the instruction.
var correctionRules = []rule{
	// "Next time run the tests first"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:please )?(?:next time|from now on|from here on|in (?:the )?future|going forward|moving forward`+
			`|henceforth)\b[,:]?\s*(?:please |you should |you must |you need to |i want you to |i'd like you to )?((?:`+
			verbs+`)\b.*)$`, nil),
	// "Don't push to main from now on"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:please )?((?:don't|do not|never|always|use|stop|ask|run|answer|write|keep|check|make sure|put`+
			`|name)\b.+?),? (?:next time|from now on|from here on|in (?:the )?future|going forward)((?:[,;]| and`+
			`| but) .+)?$`, nil),
	// "Don't do that again"
	newRule("NOT_AGAIN", memory.Procedural, 0.9,
		`^(?:please )?((?:don't|do not|never) (?:ever )?.+? (?:again|anymore|any more))$`, nil),
	// "Stop adding comments"
	newRule("STOP_DOING", memory.Procedural, 0.9,
		`^(?:please )?(stop (?:\w+ly )?(?:using|doing|adding|writing|making|asking|apologi[sz]ing|putting|creating`+
			`|deleting|committing|pushing|changing|editing|calling|suggesting|repeating|explaining|generating|mocking`+
			`|guessing|assuming|skipping|wrapping|formatting|renaming|refactoring|removing|saying|ignoring|including`+
			`|mentioning|summari[sz]ing)\b.*)$`, nil),
	// "Never commit to main"
	newRule("STANDING_RULE", memory.Procedural, 0.9,
		`^(?:please )?(?:you (?:should|must|have to|need to|can) )?((?:never|always) (?:ever )?(?:show|tell|give`+
			`|rewrite|open|review|squash|rebase|stage|log|name|pin|document|quote|sign|store|print|log|set|rename`+
			`|remove`+
			`|rely|build|bump|update|upgrade|stop|verify|validate|wrap|wait|use|run|push|commit|delete|edit|change|call`+
			`|write|add|touch|modify|deploy|force|skip|assume|guess|merge|mock|ask|mention|check|test|format|answer`+
			`|respond|reply|include|explain|confirm|keep|put|read|start|prefer)\b.+)$`, nil),
	// "Never deploy without asking me"
	newRule("NOT_WITHOUT", memory.Procedural, 0.9,
		`^(?:please )?((?:don't|do not|never) (?:ever )?.+ (?:without|unless|before|until) (?:asking|checking`+
			`|telling|confirming|my |a review|a backup|a test|i |you |running|showing|reading).*)$`, nil),
	// "Use tabs in all Go files"
	newRule("EVERYWHERE", memory.Procedural, 0.85,
		`^(?:please )?((?:use|write|name|prefer|avoid) (?:[^ ,]+ ){1,8}?(?:in (?:all|every|any) .+`+
			`|everywhere(?: else)?|throughout .+|by default))$`, nil),
	// "You keep breaking the build, always run the tests first"
	newRule("REMINDED", memory.Procedural, 0.9,
		`^(you (?:keep|kept|always|again|forgot|forget|never|should have`+
			`|did it again).{0,60}?[,;:] ?(?:please )?(?:always|never|don't|do not|use|next time) .+)$`, nil),
	// "Use pnpm instead of npm"
	newRule("INSTEAD", memory.Procedural, 0.9, `^(?:please )?(use .+? instead of .+)$`, nil),
	// "No, use pnpm"
	newRule("NO_INSTEAD", memory.Procedural, 0.9,
		`^(?:no|nope|wrong|that's wrong|that's not right|not right|incorrect)[,.!;:\s-]+(?:please )?((?:use|run|call`+
			`|put|write|you should|you must|you need to|it should be|that should be|(?:always|never|don't|do not) (?:`+
			verbs+`)|the correct)\b.+)$`, nil),
	// "以后提交前先跑测试"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请|麻烦)?你?(?:下次|以后|今后|从现在起|从现在开始|从今以后|往后|之后)(?:再)?(?:(?:遇到|碰到|看到|出现|发现)[^，,]{1,12}?)?(?:[^，,]{0,12}(?:的时候`+
			`|时|前|之前)[，,]?)?[，,\s]*(?:你|请你|麻烦你?|也|就|都)*((?:`+verbsZh+`).+)$`, nil),
	// "以后回答请用中文"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请)?(?:下次|以后|今后|从现在起|从现在开始|往后)[，,\s]*((?:你的?)?(?:回答|回复|解释|说明|输出|代码|注释|提交|文档|测试|日志|命名|变量名|函数|commit|PR|改动`+
			`|修改)[^，,]{0,8}?(?:`+verbsZh+`).+)$`, nil),
	// "不要每次都重写整个文件"
	newRule("STANDING_RULE", memory.Procedural, 0.9, `^(?:请)?((?:不要|别)(?:每次|总是|老是|动不动就?|一上来就).+)$`, nil),
	// "提交之前必须先跑测试"
	newRule("STANDING_RULE", memory.Procedural, 0.9,
		`^((?:每次)?[^，,我这那]{2,12}(?:之前|以前|前|之后|以后|后)[，,]?(?:你)?(?:一定要|必须|务必|都要|要先|一律|记得先|请先|先要)[^这那]+)$`, nil),
	// "不要再用 npm"
	newRule("NOT_AGAIN", memory.Procedural, 0.9, `^(?:请)?你?((?:不要再|别再|不许再|不准再|千万别再|永远不要|千万不要|务必).+)$`, nil),
	// "不对，应该用 pnpm"
	newRule("NO_INSTEAD", memory.Procedural, 0.9,
		`^(?:不对|不是这样的?|错了|不是)[，,。!！、\s]+(?:你|这里|这个)?((?:应该|应当|正确的是|要用|请用|改用|得用|要|用).+)$`, nil),
}

// insteadRules apply only after a refusal.
var insteadRules = []rule{
	// "Use pnpm instead"
	newRule("NO_INSTEAD", memory.Procedural, 0.9, `^(?:please )?((?:use|run|call|try) .+? instead)$`, nil),
	// "应该用 pnpm"
	newRule("NO_INSTEAD", memory.Procedural, 0.9, `^(?:你)?((?:应该|应当|请用|改用|要用).+)$`, nil),
}

// correction recognises an instruction of the user for the future.
func correction(s *sentence, text string) (finding, bool) {
	rules := correctionRules
	if s.afterRefusal {
		rules = append(rules[:len(rules):len(rules)], insteadRules...)
	}
	for _, r := range rules {
		m := r.re.FindStringSubmatch(text)
		if m == nil && s.afterRefusal {
			m = r.re.FindStringSubmatch(saidNo.ReplaceAllString(text, ""))
		}
		if m == nil {
			continue
		}
		what := strings.TrimSpace(m[1])
		if len(m) > 2 {
			what += m[2] // "don't … next time, do … instead": drop the time only
		}
		rest := strings.TrimSpace(negation.ReplaceAllString(what, ""))
		if r.name == "EVERYWHERE" && pointedAt.MatchString(what) {
			return finding{}, false
		}
		if idleRest.MatchString(what) || idleRest.MatchString(rest) || ownPlans.MatchString(what) ||
			strings.HasSuffix(what, "吧") || letterWeight(what) < 4 {
			return finding{}, false
		}
		if i := strings.Index(text, m[1]); i > 0 && containsHan(what) { // keep the condition: 以后提交前先跑测试
			if c := circumstance.FindString(text[:i]); c != "" {
				what = c + what
			}
		}
		f := finding{rule: r.name, category: r.category, salience: r.salience, source: memory.SourceUserCorrection,
			content: ruleOf(what)}
		f.vague = vagueRest.MatchString(rest)
		return f, true
	}
	return finding{}, false
}

var (
	// An instruction about one specific thing.
	pointedAt = lazyregexp.New(`(?i)^\S+ (?:the|this|that|these|those|it|them)\b`)
	// The verb or negation that starts an instruction.
	negation = lazyregexp.New(`(?i)^(?:don't|do not|never|stop|always|use|(?:请)?(?:不要再?|别再?|不许再?|不准再?|永远不要|千万不要` +
		`|千万别再?|禁止))\s*(?:ever )?`)
	// A Chinese condition before an instruction.
	circumstance = lazyregexp.New(`(?:遇到|碰到|看到|出现|发现)[^，,]{1,12}$|[^，,次后在起始来]{1,12}(?:的时候|时|之前|前)[，,]?\s*$`)
)

// ruleOf phrases an instruction as a rule of the user.
func ruleOf(what string) string {
	if containsHan(what) {
		return "用户的规则：" + what
	}
	return "The user's rule: " + what
}

// bareNote introduces an explanation as often as a request, so a statement rule must match the rest.
var bareNote = lazyregexp.New(`(?i)^(?:please )?(?:note|be aware|keep in mind|mind you|heads up|notice)(?: that\b` +
	`|[:,])\s*`)

// allStatements are the rules for statements, in order of precedence.
var allStatements = slices.Concat(statementRules, projectRules)

// statement applies the statement rules to one clause.
func statement(c string) (finding, bool) {
	c = bareNote.ReplaceAllString(c, "")
	for _, r := range allStatements {
		m := r.re.FindStringSubmatch(c)
		if m == nil {
			continue
		}
		content := r.phrase(m)
		if content == "" || letterWeight(content) < 6 {
			continue
		}
		if strings.HasPrefix(content, "The user") && firstEn.MatchString(content) || strings.HasPrefix(content, "用户") &&
			strings.Contains(content, "我") {
			content = capitalize(c) // more than one first person: keep the sentence unchanged
		}
		return finding{rule: r.name, category: r.category, source: memory.SourceReflection, salience: r.salience,
			content: content}, true
	}
	return finding{}, false
}

// containsHan reports whether s contains a Chinese character.
func containsHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// capitalize makes the first letter a capital one.
func capitalize(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if unicode.IsLower(r) && !strings.ContainsAny(firstWord(s), "._/0123456789") {
		return string(unicode.ToUpper(r)) + s[size:]
	}
	return s
}

// firstWord returns s up to the first space.
func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}
