package reflector

import (
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

const (
	// Things that a project has one of and that are worth knowing.
	thing = `(?:main |primary |production |prod |staging |test |dev |default |internal |public )*(?:database|db` +
		`|backend|frontend|front end|back end|api|rest api|graphql api|server|servers|stack|tech stack|orm|framework` +
		`|web framework|language|package manager|branch|registry|message queue|queue|cache|build tool|build system` +
		`|test framework|test runner|ci|ci pipeline|hosting|cloud provider|domain|repo|repository|monorepo|linter` +
		`|formatter|deploy target|base url|url|endpoint|website|site|docs|documentation|cluster|environment|app` +
		`|service|codebase|project|coding standard|style guide|license|deployment|deploys)`
	// Momentary states of such a thing.
	passing = `(?:broken|down|failing|slow|fast|not|too|very|so|really|a (?:bit|mess|little|lot)|currently|still` +
		`|already|just|on fire|being|getting|having|working|ready|done|fine|ok|okay|up|back|great|good|bad|empty` +
		`|full|stuck|red|green|flaky|weird|hard|easy|in progress|unstable|crashing|throwing|returning|missing` +
		`|important|nice|better|worse|what|where|how|why|that|this|it|the (?:problem|issue|same|reason))`
	anaphor = `(?i)^(?:it|its|this|that|these|those|them|they|you|your|yours|him|her|one|ones|how|what|where|when` +
		`|why|who|which|the (?:first|second|third|last|latter|former|other|new|old|current|one|way|idea|look|sound` +
		`|approach|solution|result|plan|fact)|think|say|see|know|believe|to (?:think|see|say|believe|know|be|thank)` +
		`|not|so|each|both|either|neither|option|all of|some of|most of|everything|anything|nothing)\b|^(?:这|那|它|你|您` +
		`|他|她|上面|刚才|前面|以上|第[一二三]|的)`
)

var (
	// A value that refers to another sentence.
	vagueValue = lazyregexp.New(anaphor)
	// A momentary state.
	passingRe = lazyregexp.New(`(?i)^` + passing + `\b`)
	// Courtesies at the end of a sentence.
	trailing = lazyregexp.New(`(?i)[,，;；.!！~～–—\s]+(?:please|pls|plz|(?:many )?thanks(?: (?:a lot|so much|very much` +
		`|in advance|again))?|thank you(?: (?:so|very) much| in advance)?|cheers|okay|ok|alright|btw|though|too|as well` +
		`|by the way|谢谢(?:你们?|您|啦|了)?|多谢|感谢|拜托了?|麻烦了|辛苦了|哈|哦|啊|呢|呀|哈哈)$`)
	// "in the morning" is no place.
	vagueTime = lazyregexp.New(`(?i)^(?:the )?(?:morning|evening|afternoon|night|parallel|progress|general|fear` +
		`|peace|background|meantime|home)\b`)
	// A Chinese suggestion rather than a statement.
	suggestion = lazyregexp.New(`吧$|试试|一下|看看|^(?:这|那|它|什么|了)`)
	// Chinese characters after 我叫 that start no name.
	notName = lazyregexp.New(`^[你您他她它了不车外人醒出这那大谁什么做起得]`)
	// Words after 在 that are no place or employer.
	notPlaceZh = lazyregexp.New(`^(?:努力|认真|家|家里|周末|晚上|白天|这|那|忙|专心|加班|一起|正常|线上|远程|哪|想)|时候|的时`)
	// A due date, which makes a task of an intention.
	dueDate = lazyregexp.New(`(?i)\b(?:by|before|until|due|on) (?:the )?(?:tomorrow|today|tonight|eod|eow|cob` +
		`|noon|midnight|end of|next|this|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february` +
		`|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept` +
		`|oct|nov|dec|\d)|\b(?:by|before|until) (?:the )?(?:[\p{L}-]+ )?(?:release|launch|deadline|demo|meeting` +
		`|sprint|freeze|holidays?|weekend|handover|audit|review|migration)\b|\b(?:tomorrow|tonight|next (?:week` +
		`|month|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b`)
	// A proper name or a quotation.
	proper = lazyregexp.New(`^(?:the )?\p{Lu}|^[\x{E000}-\x{F8FF}]`)
	// The patterns below reject statements that depend on their context or state no lasting fact.
	notOpinion  = lazyregexp.New(`(?i)^(?:if|to (?:go|leave|do|wait)|the\b|not\b)`)
	notSubject  = lazyregexp.New(`(?i)^(?:the|to|you|a|an|my)\b`)
	pointing    = lazyregexp.New(`(?i)^(?:\S+ ){0,3}(?:them|him|this|these|those|his|her|hers|it)\b`)
	notEmployer = lazyregexp.New(`(?i)^(?:free|myself|hours|long|night|home|now|expected|intended)\b`)
	notLiked    = lazyregexp.New(`(?i)^(?:to$|the\b|to see|to know|to try|to have|to get\b|to ask\b)`)
	vagueUse    = lazyregexp.New(`(?i)^(?:the|a|an|to) `)
	passingZh   = lazyregexp.New(`^(?:坏|挂|不|有问题|好|慢|错|空|正常)`)
	recalledZh  = lazyregexp.New(`^(?:上次|以前|之前|你|小时候|当时|那|清|不|吗|很)`)
	// Verbs whose third person is irregular.
	lowerVerbs = map[string]string{"can't stand": "cannot stand", "cannot stand": "cannot stand"}
	// Occupations, in English and Chinese.
	occupations = `engineer|developer|programmer|designer|teacher|student|manager|doctor|nurse|lawyer|writer` +
		`|journalist|scientist|researcher|analyst|architect|founder|consultant|administrator|sysadmin|accountant` +
		`|professor|physicist|chemist|biologist|musician|artist|photographer|pilot|chef|translator|editor|freelancer` +
		`|contractor|intern|cto|ceo|lead|director|mathematician|economist|librarian|pharmacist|dentist|electrician` +
		`|carpenter|farmer`
	jobsZh = `工程师|程序员|开发者|开发|设计师|老师|教师|学生|大学生|研究生|博士生|医生|护士|律师|产品经理|项目经理|经理|研究员|科学家|分析师|架构师|运维|作家|记者|会计|翻译` +
		`|自由职业者|创始人|公务员|教授|摄影师|厨师`
)

// withoutCourtesy drops what is said for politeness at the end of a sentence.
func withoutCourtesy(v string) string {
	for v = strings.TrimSpace(v); ; {
		t := strings.TrimSpace(trailing.ReplaceAllString(v, ""))
		if t == v {
			return v
		}
		v = t
	}
}

// cleanValue trims the object of a statement. It returns "" for an object that refers to another sentence.
func cleanValue(v string) string {
	v = withoutCourtesy(v)
	v = strings.Trim(v, " ,，:：")
	if v == "" || vagueValue.MatchString(v) || len([]rune(v)) > 300 {
		return ""
	}
	return v
}

// statementRules recognise statements about the user, the project and tasks. They are tried in order against one
// clause; the first match wins.
var statementRules = slices.Concat(userRules, experienceRules, peopleRules, teamRules, taskRules)
