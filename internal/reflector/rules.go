package reflector

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
)

// finding is what a rule read out of a sentence.
type finding struct {
	rule     string
	category string
	source   string
	salience float64
	content  string // masked, as it is to be stored
	vague    bool   // it speaks of "that": what that was has to be added
}

// rule reads one kind of statement. It is matched against a statement without greeting and closing punctuation.
type rule struct {
	name     string
	category string
	salience float64
	re       *pattern.Pattern
	say      func(m []string) string // "" when it is no such statement after all
}

func on(name, category string, salience float64, re string, say func(m []string) string) rule {
	return rule{name, category, salience, pattern.New(`(?i)` + re), say}
}

// find reads a sentence. An explicit request or a correction takes the sentence whole, statements are looked for in its clauses.
func find(s *sentence) (out []finding) {
	text := trimLead(s.text)
	if m := saidNo.FindString(text); m != "" && len(m) < len(text) {
		s.afterNo = true
	}
	if f, ok := explicit(s, text); ok {
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
		if f, ok := statement(trimLead(strings.TrimSpace(c))); ok {
			out = append(out, f)
		}
	}
	return out
}

var (
	// "Remember, the …" asks to keep a statement; "Remember, just do it" does not.
	rememberComma = pattern.New(`(?i)^remember, ((?:the|our|we|my|all|every|each)\b.+)$`)
	saidNo        = pattern.New(`(?i)^(?:no|nope|wrong|incorrect)[,.!;:\s-]+(?:(?:that's|that is|this is) (?:wrong|not right|incorrect|not what i meant)[,.!;:\s-]+)?`)
	// "would" says here what is wanted, not what might be.
	wishes   = pattern.New(`(?i)^i(?:'d| would) (?:much |really |generally )?(?:prefer|rather)\b`)
	remember = pattern.New(`(?i)^(?:(?:can|could|would|will) you (?:please )?|please |i want you to |i'd like you to |you should |always )?` +
		`(?:(?:remember|note|keep in mind|don't forget|do not forget|make a note|take note|memorize)(?: for (?:the future|later|next time|future reference))?(?: that\b| this\s*[:,]|\s*:| (i|i'm|my|we|our)\b))[:,]?\s*(.+)$`)
	rememberPlain = pattern.New(`(?i)^(?:can|could|would|will) you |^please |^i want you to |^i'd like you to `)
	noteThat      = pattern.New(`(?i)^note\b`)
	rememberZh    = pattern.New(`^(?:请|请你|麻烦你?|帮我|你要|你得|一定要|务必|千万要|要|都?给我)*(?:记住|记一下|记下来|记下|牢记|备注一下|请注意|记录一下)(?:以下|这一点|这点|一下)?[：:，,、\s]*(.+)$`)
	remindedZh    = pattern.New(`^(?:别忘了|不要忘了|别忘记|要知道)[，,：:]\s*(.+)$`)
	notRememberZh = pattern.New(`^(?:了|密码|我$|登录|吗|的|不|用户名|单词)|^(?:这个|那个|它|这些|那些)$`)
	imperative    = pattern.New(`(?i)^(?:please )?(?:always|never|don't|do not|use|run|avoid|make sure|only|you (?:should|must|need to)|stop)\b|^(?:请)?(?:必须|不要|别|总是|永远|一定要|务必|禁止|先|只能|只用)|一律|必须|务必|[，,；;]\s*(?:不要|别|禁止|先)`)
	// A whole statement: of something, something is said.
	declares = pattern.New(`(?i)^(?:the|our|we|all|every|each|there|my|any|most|some|no|(?-i:\p{Lu})[\p{L}-]+)\b.* (?:\p{L}{3,}s|\p{L}{2,}ed|can|can't|cannot|must|will|have|don't|never|always|may|should)\b`)
	definite = pattern.New(`(?i)\b(?:is|are|was|has|uses?|runs?|lives?|means|=)\b|是|在|用|有|为`)
	recalled = pattern.New(`(?i)^(?:when|the time|how we|what|where|why|who|if you|yesterday|last)\b`)
)

// explicit recognises a request to remember. What is asked is kept whatever it is; the other rules only give it its form.
func explicit(s *sentence, text string) (finding, bool) {
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
		// "Note that …" explains as often as it asks; a question asks only when it is polite.
		if s.question && m[1] != "" || !polite && (s.question || noteThat.MatchString(text) && !strings.Contains(strings.ToLower(text), "for ")) || recalled.MatchString(what) {
			return finding{}, false
		}
	case !s.question && rememberComma.MatchString(text):
		what = rememberComma.FindStringSubmatch(text)[1]
	default:
		m := rememberZh.FindStringSubmatch(text)
		if m == nil {
			if m = remindedZh.FindStringSubmatch(text); m != nil && !definite.MatchString(m[1]) {
				m = nil // something to do
			}
		}
		if m == nil || s.question || notRememberZh.MatchString(m[1]) {
			return finding{}, false
		}
		what = strings.TrimPrefix(m[1], "了")
	}
	what = strings.TrimSpace(what)
	if weight(what) < 4 {
		return finding{}, false
	}
	f, ok := correction(&sentence{text: what}, what)
	if !ok {
		f, ok = statement(what)
	}
	if !ok {
		f = finding{category: memory.General, content: capital(what)}
		switch {
		case imperative.MatchString(what):
			f.category = memory.Procedural
		case definite.MatchString(what), declares.MatchString(what):
			f.category = memory.Facts
		}
	}
	f.rule, f.source, f.salience = "EXPLICIT_REQUEST", memory.SourceUser, max(f.salience, 0.85)
	return f, !f.vague
}

// weight is a length in letters, a Chinese character counting for two.
func weight(s string) (n int) {
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
	verbs = `don't|do not|never|always|stop|use|run|ask|make|check|avoid|be|keep|write|put|remember|only|just|first|start|test|read|tell|show|let|give|call|commit|format|answer|respond|reply|try|prefer|include|add|skip|wait|confirm|explain|return|leave|name|create|follow|verify|look|search|get|push|before|after|when|whenever|no`
	// Imperatives in Chinese.
	verbsZh = `不要|别|不用|不准|不许|禁止|先|必须|务必|一定要|一定|要|得|请|都用|都要|只用|只要|改用|避免|统一|直接|使用|用|记得|注意|优先|尽量|每次`
)

var (
	vagueRest = pattern.New(`(?i)^(?:(?:do|doing|say|saying|use|using|make|making)(?:ing)? )?(?:that|this|it|so|these|those|like that|like this|the same)(?: (?:again|mistake|way|anymore))?$|^(?:再)?(?:这样|那样|这么|那么|这个|那个)(?:做|干|了|写|弄|搞|说|回答)?(?:了)?$|^(?:这样|那样)$`)
	idleRest  = pattern.New(`(?i)^(?:(?:don't|do not|be|do|just|(?:it|that|this|you) should(?: be)?) )?(?:worry|fine|ok|okay|good|work|works|possible|enough|right|great|sure|sorry|there|mind|bother|think so)\b|^(?:再说|再聊|见|再见|再看|再讨论|有空|有机会|会|可能|再试|说|继续|补充|要是)`)
	ownPlans  = pattern.New(`^(?:我|我们|咱们)(?:会|想|要|打算|可以|再|可能|得)`)
)

// correctionRules recognise what the user wants done otherwise from now on. Group 1 is the rule.
var correctionRules = []rule{
	on("NEXT_TIME", memory.Procedural, 0.9, `^(?:please )?(?:next time|from now on|from here on|in (?:the )?future|going forward|moving forward|henceforth)\b[,:]?\s*(?:please |you should |you must |you need to |i want you to |i'd like you to )?((?:`+verbs+`)\b.*)$`, nil),
	on("NEXT_TIME", memory.Procedural, 0.9, `^(?:please )?((?:don't|do not|never|always|use|stop|ask|run|answer|write|keep|check|make sure|put|name)\b.+?),? (?:next time|from now on|from here on|in (?:the )?future|going forward)((?:[,;]| and| but) .+)?$`, nil),
	on("NOT_AGAIN", memory.Procedural, 0.9, `^(?:please )?((?:don't|do not|never) (?:ever )?.+? (?:again|anymore|any more))$`, nil),
	on("STOP_DOING", memory.Procedural, 0.9, `^(?:please )?(stop (?:\w+ly )?(?:using|doing|adding|writing|making|asking|apologi[sz]ing|putting|creating|deleting|committing|pushing|changing|editing|calling|suggesting|repeating|explaining|generating|mocking|guessing|assuming|skipping|wrapping|formatting|renaming|refactoring|removing|saying|ignoring|including|mentioning|summari[sz]ing)\b.*)$`, nil),
	on("STANDING_RULE", memory.Procedural, 0.9, `^(?:please )?(?:you (?:should|must|have to|need to|can) )?((?:never|always) (?:ever )?(?:show|tell|give|rewrite|open|review|squash|rebase|stage|log|name|pin|document|quote|sign|store|print|log|set|rename|remove|rely|build|bump|update|upgrade|stop|verify|validate|wrap|wait|use|run|push|commit|delete|edit|change|call|write|add|touch|modify|deploy|force|skip|assume|guess|merge|mock|ask|mention|check|test|format|answer|respond|reply|include|explain|confirm|keep|put|read|start|prefer)\b.+)$`, nil),
	on("NOT_WITHOUT", memory.Procedural, 0.9, `^(?:please )?((?:don't|do not|never) (?:ever )?.+ (?:without|unless|before|until) (?:asking|checking|telling|confirming|my |a review|a backup|a test|i |you |running|showing|reading).*)$`, nil),
	on("EVERYWHERE", memory.Procedural, 0.85, `^(?:please )?((?:use|write|name|prefer|avoid) (?:[^ ,]+ ){1,8}?(?:in (?:all|every|any) .+|everywhere(?: else)?|throughout .+|by default))$`, nil),
	on("REMINDED", memory.Procedural, 0.9, `^(you (?:keep|kept|always|again|forgot|forget|never|should have|did it again).{0,60}?[,;:] ?(?:please )?(?:always|never|don't|do not|use|next time) .+)$`, nil),
	on("INSTEAD", memory.Procedural, 0.9, `^(?:please )?(use .+? instead of .+)$`, nil),
	on("NO_INSTEAD", memory.Procedural, 0.9, `^(?:no|nope|wrong|that's wrong|that's not right|not right|incorrect)[,.!;:\s-]+(?:please )?((?:use|run|call|put|write|you should|you must|you need to|it should be|that should be|(?:always|never|don't|do not) (?:`+verbs+`)|the correct)\b.+)$`, nil),
	on("NEXT_TIME", memory.Procedural, 0.9, `^(?:请|麻烦)?你?(?:下次|以后|今后|从现在起|从现在开始|从今以后|往后|之后)(?:再)?(?:(?:遇到|碰到|看到|出现|发现)[^，,]{1,12}?)?(?:[^，,]{0,12}(?:的时候|时|前|之前)[，,]?)?[，,\s]*(?:你|请你|麻烦你?|也|就|都)*((?:`+verbsZh+`).+)$`, nil),
	on("NEXT_TIME", memory.Procedural, 0.9, `^(?:请)?(?:下次|以后|今后|从现在起|从现在开始|往后)[，,\s]*((?:你的?)?(?:回答|回复|解释|说明|输出|代码|注释|提交|文档|测试|日志|命名|变量名|函数|commit|PR|改动|修改)[^，,]{0,8}?(?:`+verbsZh+`).+)$`, nil),
	on("STANDING_RULE", memory.Procedural, 0.9, `^(?:请)?((?:不要|别)(?:每次|总是|老是|动不动就?|一上来就).+)$`, nil),
	on("STANDING_RULE", memory.Procedural, 0.9, `^((?:每次)?[^，,我这那]{2,12}(?:之前|以前|前|之后|以后|后)[，,]?(?:你)?(?:一定要|必须|务必|都要|要先|一律|记得先|请先|先要)[^这那]+)$`, nil),
	on("NOT_AGAIN", memory.Procedural, 0.9, `^(?:请)?你?((?:不要再|别再|不许再|不准再|千万别再|永远不要|千万不要|务必).+)$`, nil),
	on("NO_INSTEAD", memory.Procedural, 0.9, `^(?:不对|不是这样的?|错了|不是)[，,。!！、\s]+(?:你|这里|这个)?((?:应该|应当|正确的是|要用|请用|改用|得用|要|用).+)$`, nil),
}

// insteadRules hold only after a sentence that said no.
var insteadRules = []rule{
	on("NO_INSTEAD", memory.Procedural, 0.9, `^(?:please )?((?:use|run|call|try) .+? instead)$`, nil),
	on("NO_INSTEAD", memory.Procedural, 0.9, `^(?:你)?((?:应该|应当|请用|改用|要用).+)$`, nil),
}

// correction recognises a rule given by the user.
func correction(s *sentence, text string) (finding, bool) {
	rules := correctionRules
	if s.afterNo {
		rules = append(rules[:len(rules):len(rules)], insteadRules...)
	}
	for _, r := range rules {
		m := r.re.FindStringSubmatch(text)
		if m == nil && s.afterNo {
			m = r.re.FindStringSubmatch(saidNo.ReplaceAllString(text, ""))
		}
		if m == nil {
			continue
		}
		what := strings.TrimSpace(m[1])
		if len(m) > 2 {
			what += m[2] // "don't … next time, do … instead": the time goes, the rest stays
		}
		rest := strings.TrimSpace(negation.ReplaceAllString(what, ""))
		if r.name == "EVERYWHERE" && pointedAt.MatchString(what) {
			return finding{}, false
		}
		if idleRest.MatchString(what) || idleRest.MatchString(rest) || ownPlans.MatchString(what) || strings.HasSuffix(what, "吧") || weight(what) < 4 {
			return finding{}, false
		}
		if i := strings.Index(text, m[1]); i > 0 && isHan(what) { // keep the circumstances: 以后提交前先跑测试
			if c := circumstance.FindString(text[:i]); c != "" {
				what = c + what
			}
		}
		f := finding{rule: r.name, category: r.category, salience: r.salience, source: memory.SourceUserCorrection, content: ruleOf(what)}
		f.vague = vagueRest.MatchString(rest)
		return f, true
	}
	return finding{}, false
}

var (
	pointedAt    = pattern.New(`(?i)^\S+ (?:the|this|that|these|those|it|them)\b`)
	negation     = pattern.New(`(?i)^(?:don't|do not|never|stop|always|use|(?:请)?(?:不要再?|别再?|不许再?|不准再?|永远不要|千万不要|千万别再?|禁止))\s*(?:ever )?`)
	circumstance = pattern.New(`(?:遇到|碰到|看到|出现|发现)[^，,]{1,12}$|[^，,次后在起始来]{1,12}(?:的时候|时|之前|前)[，,]?\s*$`)
)

func ruleOf(what string) string {
	if isHan(what) {
		return "用户的规则：" + what
	}
	return "The user's rule: " + what
}

// bareNote is a request to take note that explains as often as it asks: what follows has to stand for itself.
var bareNote = pattern.New(`(?i)^(?:please )?(?:note|be aware|keep in mind|mind you|heads up|notice)(?: that\b|[:,])\s*`)

var allStatements = slices.Concat(statementRules, projectRules)

// statement reads one clause in the user's own words.
func statement(c string) (finding, bool) {
	c = bareNote.ReplaceAllString(c, "")
	for _, r := range allStatements {
		m := r.re.FindStringSubmatch(c)
		if m == nil {
			continue
		}
		content := r.say(m)
		if content == "" || weight(content) < 6 {
			continue
		}
		if strings.HasPrefix(content, "The user") && firstEn.MatchString(content) || strings.HasPrefix(content, "用户") && strings.Contains(content, "我") {
			content = capital(c) // more than one first person: the sentence as it stands
		}
		return finding{rule: r.name, category: r.category, source: memory.SourceReflection, salience: r.salience, content: content}, true
	}
	return finding{}, false
}

func isHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// capital makes the first letter a capital one.
func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if unicode.IsLower(r) && !strings.ContainsAny(firstWord(s), "._/0123456789") {
		return string(unicode.ToUpper(r)) + s[size:]
	}
	return s
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}
