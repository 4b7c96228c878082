package reflector

import (
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var (
	// "Remember, the …" is a request to keep a statement; "Remember, just do it" is not.
	rememberComma = lazyregexp.New(`(?i)^remember, ((?:the|our|we|my|all|every|each)\b.+)$`)
	// A refusal before the correction.
	saidNo = lazyregexp.New(`(?i)^(?:no|nope|wrong|incorrect)[,.!;:\s-]+(?:(?:that's|that is` +
		`|this is) (?:wrong|not right|incorrect|not what i meant)[,.!;:\s-]+)?|^(?:不对|错了|不是这样的?|不行|(?:不要|别|不能)这样[做写]?|不是这个意思)[，,。!！、\s]+`)
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
	rememberZh = lazyregexp.New(`^(?:请|请你|麻烦你?|帮我|你要|你得|一定要|务必|千万要|要|都?给我)*(?:记住|记一下|记下来|记下|记着|记好|牢记|备注一下|请注意` +
		`|记录一下)(?:以下|这一点|这点|一下)?[：:，,、\s]*(.+)$`)
	// 别忘了 with a statement; group 1 is the statement.
	remindedZh = lazyregexp.New(`^(?:别忘了|不要忘了|别忘记|要知道)[，,：:]\s*(.+)$`)
	// Content that is no statement, such as 密码.
	notRememberZh = lazyregexp.New(`^(?:了|密码|我$|登录|吗|的|不|用户名|单词)|^(?:这个|那个|它|这些|那些)$`)
	// An instruction.
	imperative = lazyregexp.New(`(?i)^(?:please )?(?:always|never|don't|do not|use|run|avoid|make sure|only` +
		`|you (?:should|must|need to)|stop)\b|^(?:请)?(?:必须|不要|别|总是|永远|一定要|务必|禁止|先|只能|只用)|一律|必须|务必|[，,；;]\s*(?:不要|别` +
		`|禁止|先)`)
	// A word of all requests to remember, which is found sooner than their whole form.
	rememberWord = lazyregexp.New(`(?i)remember|note|in mind|forget|记|忘`)
	// A request behind its content, which is one of the groups.
	rememberAfter = lazyregexp.New(`(?i)^(.{8,}?)\s*[,;:.–—-]+\s*(?:and |so |but )?(?:(?:please |pls |do ` +
		`|kindly )*(?:remember|note` +
		`|bear in mind|don't forget|do not forget)(?: (?:that|this|it|about it))?|(?:please )?keep (?:that|this` +
		`|it) in mind)` +
		`(?: please)?$|^(.{8,}?),? (?:please|pls) (?:remember|note|don't forget)(?: (?:that|this|it))?$` +
		`|^(.{4,}?)[，,；;]\s*` +
		`(?:请|麻烦你?|你|帮我|一定要?|务必|千万)*(?:记住|记一下|记下来?|记好|记牢|牢记|记着|别忘了?|不要忘了?|别忘记)(?:了|哦|啊|喔|噢|一下|这一点|这点)*$`)
	// A request that names no content: what was said before is meant.
	bareRequest = lazyregexp.New(`(?i)^(?:and |so )?(?:please |do |kindly )*(?:remember|note|bear in mind` +
		`|don't forget|memorize)` +
		` (?:that|this|it)(?: please)?$|^(?:please )?keep (?:that|this|it) in mind(?: please)?$|^(?:make a` +
		`|take) note of (?:that|this|it)$` +
		`|^(?:请|麻烦你?|你|帮我|一定要?|务必)*(?:记住|记一下|记下来?|牢记|记着|别忘了)(?:这一点|这点|这个|了|哦|啊|一下)*$`)
	// The start of a Chinese statement about the team and what belongs to it.
	declaresZh = lazyregexp.New(`^(?:我们|咱们|公司|项目|团队|客户|供应商|新的?|\p{Han}{1,6}的)`)
	// A complete statement with subject and verb.
	declares = lazyregexp.New(`(?i)^(?:the|our|we|all|every|each|there|my|any|most|some|no` +
		`|(?-i:\p{Lu})[\p{L}-]+)\b.* (?:\p{L}{3,}s|\p{L}{2,}ed|can|can't|cannot|must|will|have|don't|never|always` +
		`|may|should)\b|^we \p{L}{2,} `)
	// A verb of a fact.
	definite = lazyregexp.New(`(?i)\b(?:is|are|was|has|uses?|runs?|lives?|means|=)\b|是|在|用|有|为`)
	// Words after "remember" that ask whether the agent remembers.
	recalled = lazyregexp.New(`(?i)^(?:when|the time|how we|what|where|why|who|if you|yesterday|last)\b`)
)

// rememberRequest recognises a request to remember, before or behind what is to be remembered.
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
	case !s.question && rememberWord.MatchString(text) && rememberAfter.MatchString(text):
		m := rememberAfter.FindStringSubmatch(text)
		what = m[1] + m[2] + m[3]
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
	return requested(what)
}

// requested reads what the user asked to remember. It is always kept; the other rules only determine its form.
func requested(what string) (finding, bool) {
	what = withoutCourtesy(strings.TrimSpace(what))
	if letterWeight(what) < 4 {
		return finding{}, false
	}
	f, ok := reasoned(&sentence{text: what}, what)
	if !ok {
		f, ok = correction(&sentence{text: what}, what)
	}
	if !ok {
		f, ok = statement(what)
	}
	if !ok {
		f = finding{category: memory.General, content: capitalize(what)}
		switch {
		case imperative.MatchString(what):
			f.category = memory.Procedural
		case definite.MatchString(what), declares.MatchString(what), declaresZh.MatchString(what):
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
