package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
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
	trailing = lazyregexp.New(`(?i)[,，\s]+(?:please|thanks|thank you|btw|though|too|as well|by the way|谢谢|哈|哦|啊|呢` +
		`|呀|哈哈)$`)
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

// cleanValue trims the object of a statement. It returns "" for an object that refers to another sentence.
func cleanValue(v string) string {
	v = strings.TrimSpace(v)
	for {
		t := strings.TrimSpace(trailing.ReplaceAllString(v, ""))
		if t == v {
			break
		}
		v = t
	}
	v = strings.Trim(v, " ,，:：")
	if v == "" || vagueValue.MatchString(v) || len([]rune(v)) > 300 {
		return ""
	}
	return v
}

// statementRules recognise statements about the user, the project and tasks. The comment above a rule is an example.
// They are tried in order against one clause; the first match wins.
var statementRules = []rule{
	// "My full name is Ann Lee"
	newRule("USER_NAME", memory.Facts, 0.8, `^my (?:full |first |real )?name(?: is|'s) (.+)$`, userName),
	// "You can call me Ann"
	newRule("USER_NAME", memory.Facts, 0.8, `^(?:you can |please )?call me (.+)$`, userName),
	// "我叫王伟"
	newRule("USER_NAME", memory.Facts, 0.8, `^我(?:的名字)?(?:叫做|名叫|叫|的名字是|名字是)\s*([\p{Han}·]{2,5}`+
		`|[\p{Latin}][\p{Latin} .'-]{0,40})(?:[，,].*)?$`, func(m []string) string {
		if notName.MatchString(m[1]) {
			return ""
		}
		return "用户叫" + m[1]
	}),
	// "我的名字是王伟"
	newRule("USER_NAME", memory.Facts, 0.8, `^我的名字是\s*([\p{Han}·]{2,5}|[\p{Latin}][\p{Latin} .'-]{0,40})$`,
		func(m []string) string { return "用户叫" + m[1] }),
	// "I'm Ann Lee, the data engineer"
	newRule("USER_NAME", memory.Facts, 0.8,
		`^i(?: am|'m) ((?-i:\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'.-]+){0,3}))(?:, (?:the`+
			`|an?) (.+))?$`, introduction),
	// "I maintain the billing service"
	newRule("USER_WORK", memory.Facts, 0.7, `^i(?: also)? (maintain|own|lead|manage|run|develop|built|wrote|created`+
		`|operate) (.+)$`, responsibility),
	// "I'm responsible for the CI pipeline"
	newRule("USER_WORK", memory.Facts, 0.7, `^i(?: am|'m) ((?:mostly |mainly |also )?(?:responsible for|in charge of`+
		`|on call for|the (?:owner|maintainer|author|lead) of) .+)$`, func(m []string) string {
		if pointing.MatchString(m[1]) || transient.MatchString(m[1]) {
			return ""
		}
		return toThirdPerson("The user is " + m[1])
	}),
	// "This is Ann Lee from the platform team"
	newRule("USER_NAME", memory.Facts, 0.8, `^this is ((?-i:\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'.-]+){0,2})) from `+
		`(the .{1,40}?(?:team|department|office|group|desk))$`, func(m []string) string {
		return "The user's name is " + m[1] + ", from " + m[2]
	}),
	// "I mostly use macOS"
	newRule("USER_USES", memory.Facts, 0.65,
		`^i(?: mostly| mainly| usually| normally| always)? ?(use|work on|develop on`+
			`|am on|'m on|code on|run) ((?-i:macOS|Mac|Linux|Windows|Ubuntu|Debian|Fedora|Arch|NixOS|WSL|FreeBSD`+
			`|a Mac)\b.*)$`, func(m []string) string {
			return toThirdPerson("The user " +
				map[string]string{"use": "uses", "work on": "works on", "develop on": "develops on",
					"am on": "is on", "'m on": "is on", "code on": "codes on", "run": "runs"}[strings.ToLower(m[1])] +
				" " +
				cleanValue(m[2]))
		}),
	// "I work at Acme"
	newRule("USER_WORK", memory.Facts, 0.65, `^i(?: am|'m)?(?: currently| now)? (work|working) (at|for|as) (.+)$`,
		func(m []string) string {
			v := cleanValue(m[3])
			if v == "" || vagueTime.MatchString(v) || notEmployer.MatchString(v) {
				return ""
			}
			return toThirdPerson("The user works " + m[2] + " " + v)
		}),
	// "I'm a backend engineer"
	newRule("USER_WORK", memory.Facts, 0.65, `^i(?: am|'m) (an? (?:[\w/+#-]+ ){0,4}(?:`+occupations+`)s?\b.*)$`,
		func(m []string) string { return toThirdPerson("The user is " + m[1]) }),
	// "I live in Berlin"
	newRule("USER_HOME", memory.Facts, 0.65,
		`^i(?: am|'m)? ?(?:currently |now )?(?:live|living|based|located) in (.+)$`,
		func(m []string) string { return place("The user lives in ", m[1]) }),
	// "I recently moved to Oslo"
	newRule("USER_HOME", memory.Facts, 0.65, `^i(?: have|'ve)? (?:just |recently )?moved to (.+)$`,
		func(m []string) string {
			return place("The user lives in ", m[1])
		}),
	// "I'm from Brazil"
	newRule("USER_HOME", memory.Facts, 0.6, `^i(?: am|'m| come) from (.+)$`, func(m []string) string {
		return place("The user is from ", m[1])
	}),
	// "My time zone is UTC+2"
	newRule("USER_FACT", memory.Facts, 0.65, `^my (birthday|e-?mail(?: address)?|time ?zone|phone(?: number)?`+
		`|job(?: title)?|role|native language|mother tongue|editor|shell|os|operating system|github(?: username`+
		`| handle)?|username|hometown|company|employer|wife|husband|partner|son|daughter|dog|cat|girlfriend`+
		`|boyfriend|boss|manager)(?:'s name)? is(?: called| named)? (.+)$`, personalFact),
	// "My favorite editor is Helix"
	newRule("USER_FAVOURITE", memory.Preferences, 0.7, `^my favou?rite ([\p{L} ]{2,30}?) (is|are) (.+)$`,
		func(m []string) string {
			if v := cleanValue(m[3]); v != "" {
				return toThirdPerson("The user's favorite " + m[1] + " " + m[2] + " " + v)
			}
			return ""
		}),
	// "I have two cats"
	newRule("USER_FACT", memory.Facts, 0.6, `^i (?:have|own) ((?:a|an|one|two|three|four|\d+) (?:[\p{L}]+ )?(?:dogs?`+
		`|cats?|sons?|daughters?|kids?|child(?:ren)?|brothers?|sisters?|siblings|pets?)\b.*)$`,
		func(m []string) string { return toThirdPerson("The user has " + m[1]) }),
	// "I'm allergic to peanuts"
	newRule("USER_FACT", memory.Preferences, 0.75,
		`^i(?: am|'m) ((?:allergic to|lactose intolerant|vegetarian|a vegetarian|vegan|a vegan|colou?r[- ]blind`+
			`|left-handed|gluten intolerant)\b.*)$`, func(m []string) string {
			return toThirdPerson("The user is " + m[1])
		}),

	// "I really prefer short answers"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i (?:also )?(really |strongly |generally |usually |always |definitely |absolutely |personally `+
			`|much )?(prefer|like|love|enjoy|hate|dislike|can't stand|cannot stand) (.+)$`, func(m []string) string {
			v := cleanValue(m[3])
			verb := strings.ToLower(m[2])
			if v == "" || pointing.MatchString(v) || verb != "prefer" && notLiked.MatchString(v) {
				return ""
			}
			if say, ok := lowerVerbs[verb]; ok {
				verb = say
			} else {
				verb += "s"
			}
			return toThirdPerson("The user " + strings.ToLower(m[1]) + verb + " " + v)
		}),
	// "I'm not a fan of mocks"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i(?:'m| am) (not (?:really )?an?|not (?:really )?much of an?|an?) (big |huge |great )?fan of (.+)$`,
		func(m []string) string {
			if v := cleanValue(m[3]); v != "" && !pointing.MatchString(v) && !notLiked.MatchString(v) {
				return toThirdPerson("The user is " + m[1] + " " + m[2] + "fan of " + v)
			}
			return ""
		}),
	// "I find emojis distracting"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i (?:generally |usually |always )?find (.+?) ((?:really |very |too |more |quite )?(?:useless|useful`+
			`|helpful|annoying|confusing|distracting|unreadable|noisy|ugly|hard to (?:read|follow)|easier to (?:read`+
			`|follow|review)|readable|unhelpful))$`, func(m []string) string {
			v := cleanValue(m[1])
			if v == "" || pointing.MatchString(v) || strings.HasPrefix(strings.ToLower(v), "the ") {
				return ""
			}
			return toThirdPerson("The user finds " + v + " " + m[2])
		}),
	// "I'd rather have tests first"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i(?:'d| would) (?:much |really |generally )?(prefer|rather (?:you |we )?(?:have|had|see|saw|keep|kept|use`+
			`|used|write|wrote|avoid|avoided|not)) (.+)$`, func(m []string) string {
			v := cleanValue(m[2])
			if v == "" || pointing.MatchString(v) || notOpinion.MatchString(v) {
				return ""
			}
			if strings.EqualFold(m[1], "prefer") {
				return toThirdPerson("The user prefers " + v)
			}
			return toThirdPerson("The user would " + strings.ToLower(m[1]) + " " + v)
		}),
	// "I don't want emojis in commit messages"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i (?:really )?(?:don't|do not) want ((?:any )?[\p{L}\p{N} -]+? (?:in|on|for|anywhere|as)\b.*)$`,
		func(m []string) string {
			v := cleanValue(m[1])
			if v == "" || pointing.MatchString(v) || transient.MatchString(v) || notSubject.MatchString(v) {
				return ""
			}
			return toThirdPerson("The user does not want " + v)
		}),
	// "I never use semicolons"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i (?:really )?(don't|do not|never) (?:really )?(like|enjoy|eat|drink|use|want to use) (.+)$`,
		func(m []string) string {
			v := cleanValue(m[3])
			if v == "" || strings.HasPrefix(strings.ToLower(v), "the ") {
				return ""
			}
			verb := strings.ToLower(m[2])
			if strings.EqualFold(m[1], "never") {
				first, rest, _ := strings.Cut(verb, " ")
				return toThirdPerson("The user never " + strings.TrimSpace(first+"s "+rest) + " " + v)
			}
			return toThirdPerson("The user does not " + verb + " " + v)
		}),
	// "I always squash commits"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^i (always|usually|normally|typically|only|exclusively) (use|write|squash|rebase|indent|format|name|drink`+
			`|eat|wear) (.+)$`, func(m []string) string {
			if v := cleanValue(m[3]); v != "" {
				return toThirdPerson("The user " + strings.ToLower(m[1]+" "+m[2]) + "s " + v)
			}
			return ""
		}),

	// "我更喜欢简短的回答"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^我((?:们)?(?:个人|平时|通常|一般|一直|其实|真的|也|都|还是|总是|比较|更|最|很|非常|特别|超级|挺)*)(喜欢|偏好|偏爱|习惯于|习惯用|习惯|讨厌|不喜欢|不太喜欢|不习惯|不爱吃`+
			`|不爱喝|受不了|更倾向于|倾向于|不吃|不喝|从不用|只用|总是用|一直用|爱吃|爱喝|爱看|爱听|对)(.+)$`, preferenceZh),
	// "写代码的时候我喜欢用深色模式"
	newRule("PREFERENCE", memory.Preferences, 0.7,
		`^([^，,我]{1,8}我?[^，,我]{0,6}(?:的时候|时))[，,]?\s*我((?:个人|平时|通常|一般|也|都|还是|总是|比较|更|最|很)*)(喜欢|偏好|习惯|希望|不喜欢|讨厌)(.+)$`,
		func(m []string) string {
			v := cleanValue(m[4])
			if v == "" || suggestion.MatchString(v) {
				return ""
			}
			return toThirdPersonZh(strings.ReplaceAll(m[1], "我", "用户") + "，用户" + m[2] + m[3] + v)
		}),
	// "我希望回答简短一些"
	newRule("PREFERENCE", memory.Preferences, 0.7, `^我(希望|要求)(?:你的?)?((?:回答|回复|解释|代码|注释|提交|文档|测试|函数|日志|输出|报告|命名).+)$`,
		func(m []string) string {
			if suggestion.MatchString(m[2]) || transientZh.MatchString(m[2]) {
				return ""
			}
			return toThirdPersonZh("用户" + m[1] + m[2])
		}),
	// "我负责支付系统"
	newRule("USER_WORK", memory.Facts, 0.7, `^我(主要|现在)?(负责|维护)(.+)$`, func(m []string) string {
		v := cleanValue(m[3])
		if v == "" || strings.Contains(v, "你") || suggestion.MatchString(v) || transientZh.MatchString(v) {
			return ""
		}
		return toThirdPersonZh("用户" + m[1] + m[2] + v)
	}),
	// "我用的是 Helix"
	newRule("USER_USES", memory.Facts, 0.65, `^我(?:现在|目前|平时)?用的是\s*(.+)$`, func(m []string) string {
		v := cleanValue(m[1])
		if v == "" || !concreteZh.MatchString(v) || transientZh.MatchString(v) {
			return ""
		}
		return toThirdPersonZh("用户用的是 " + v)
	}),
	// "我平时用 Mac 写代码"
	newRule("USER_USES", memory.Facts, 0.65,
		`^我(平时|通常|一般|日常|一直|主要|现在)*(用|使用)\s*((?:macOS|Mac|Linux|Windows|Ubuntu|Debian`+
			`|Fedora|Arch|WSL|苹果|.{1,20}(?:开发|办公|写代码|电脑|笔记本|系统)).*)$`, func(m []string) string {
			if suggestion.MatchString(m[3]) || vagueValue.MatchString(m[3]) || transientZh.MatchString(m[3]) {
				return ""
			}
			return toThirdPersonZh("用户" + m[0][len("我"):])
		}),
	// "我一直用 pnpm"
	newRule("PREFERENCE", memory.Preferences, 0.65, `^我(平时|通常|一般|日常|一直|习惯|总是)+(?:都)?(用|使用|写|先写|先|只用|只写)\s*(.+)$`,
		func(m []string) string {
			if suggestion.MatchString(m[3]) || vagueValue.MatchString(m[3]) || transientZh.MatchString(m[3]) {
				return ""
			}
			return toThirdPersonZh("用户" + m[0][len("我"):])
		}),
	// "我最喜欢的编辑器是 Helix"
	newRule("USER_FAVOURITE", memory.Preferences, 0.7, `^我最(?:喜欢|爱)的(\p{Han}{1,8}?)(?:是|就是)(.+)$`,
		func(m []string) string {
			if v := cleanValue(m[2]); v != "" {
				return toThirdPersonZh("用户最喜欢的" + m[1] + "是" + v)
			}
			return ""
		}),
	// "我在腾讯工作"
	newRule("USER_WORK", memory.Facts, 0.65,
		`^我(?:现在|目前)?在(.+?)(工作|上班|任职|就职|上学|读书|读研|实习|做(?:\p{Han}{0,4}(?:运维|开发|测试|设计`+
			`|研究|产品|架构|数据|安全|运营|前端|后端|算法)))(?:了)?$`, func(m []string) string {
			v := cleanValue(m[1])
			if v == "" || notPlaceZh.MatchString(v) {
				return ""
			}
			return "用户在" + v + m[2]
		}),
	// "我是后端工程师"
	newRule("USER_WORK", memory.Facts, 0.65, `^我(?:现在|目前)?是(?:一?[名个位]|做)?([^，,说想问指看要在]{0,12}(?:`+jobsZh+
		`))(?:[，,].*)?$`,
		func(m []string) string { return "用户是" + m[1] }),
	// "我住在上海"
	newRule("USER_HOME", memory.Facts, 0.65, `^我(?:现在|目前|家)?(?:住在|居住在|家在|住)(.+)$`, placeZh("用户住在")),
	// "我搬到了杭州"
	newRule("USER_HOME", memory.Facts, 0.65, `^我(?:已经|刚)?搬到了?(.+?)(?:了)?$`, placeZh("用户住在")),
	// "我来自成都"
	newRule("USER_HOME", memory.Facts, 0.6, `^我来自(.+)$`, placeZh("用户来自")),
	// "我的时区是 UTC+8"
	newRule("USER_FACT", memory.Facts, 0.65, `^我的(生日|邮箱|时区|电话|手机号|职业|职位|母语|编辑器|操作系统|用户名|家乡|昵称|公司|女儿|儿子|妻子|丈夫|狗|猫)(是|在`+
		`|叫)(.+)$`, func(m []string) string {
		if v := cleanValue(m[3]); v != "" {
			return toThirdPersonZh("用户的" + m[1] + m[2] + v)
		}
		return ""
	}),
	// "我吃素"
	newRule("USER_FACT", memory.Preferences, 0.75, `^我(是素食者|吃素|是左撇子|是色盲|乳糖不耐受.*)$`, func(m []string) string {
		return "用户" + m[1]
	}),

	// "We use Postgres 16"
	newRule("PROJECT_USES", memory.Facts, 0.7, `^(?:we|the team|our team|our project|this project|the project`+
		`|our company)(?: are| is|'re)?(?: now| currently| always)? (?:use|uses|using) (.+)$`, func(m []string) string {
		v := cleanValue(m[1])
		if v == "" || vagueUse.MatchString(v) {
			return ""
		}
		return capitalize(strings.TrimSpace(m[0]))
	}),
	// "Our database is Postgres 16"
	newRule("PROJECT_IS", memory.Facts, 0.7, `^(?:our|the project's|this project's) (`+thing+
		`) (?:is|are|runs?|lives?|uses?)(?: (?:on|at|in|hosted on|called|named|deployed (?:on|to)|located at))? (.+)$`,
		projectFact),
	// "The staging server runs on port 8443"
	newRule("PROJECT_IS", memory.Facts, 0.7, `^(?:the|this) (`+thing+
		`) (?:is|are|runs?|lives?|goes|go) (?:on|at|hosted (?:on|at|in)|deployed (?:on|to)|located (?:at|in)`+
		`|available at|written in|built with) (.+)$`, projectFact),
	// "Deploys run on Thursdays"
	newRule("PROJECT_IS", memory.Facts, 0.7,
		`^(deploy(?:s|ments?)?) (?:runs?|is|are|goes|go|happens?) (?:on|to|through`+
			`|via) (.+)$`, projectFact),
	// "我们用的是 Postgres 16"
	newRule("PROJECT_USES", memory.Facts, 0.7,
		`^(?:我们|咱们|本|这个|该|我们的|我们这个)?(?:公司|团队|项目|项目组|组)?(?:里|中|现在|目前)*(?:用的是|使用的是`+
			`|采用的是|使用|采用|基于|统一用|都用|用)\s*(.+)$`, func(m []string) string {
			if strings.HasPrefix(m[0], "用") || strings.HasPrefix(m[0], "使用") || strings.HasPrefix(m[0], "采用") ||
				strings.HasPrefix(m[0], "基于") || strings.HasPrefix(m[0], "统一") || strings.HasPrefix(m[0], "都用") {
				return "" // no subject: an instruction
			}
			if v := cleanValue(m[1]); v == "" || suggestion.MatchString(v) {
				return ""
			}
			return m[0]
		}),
	// "我们的数据库是 Postgres 16"
	newRule("PROJECT_IS", memory.Facts, 0.7,
		`^(?:我们|咱们|项目|本项目|这个项目|团队)的?((?:主|生产|测试|默认|开发|线上|正式|内部)?(?:环境)?(?:测试环境|生产环境`+
			`|开发环境|数据库|后端|前端|接口|接口地址|服务器|框架|技术栈|语言|包管理器|主分支|分支|缓存|消息队列|构建工具|测试框架|域名|仓库|仓库地址|代码库|文档|部署环境|编码规范|api`+
			`|api ?地址`+
			`|官网|集群))(?:用的是|使用的是|部署在|跑在|运行在|放在|是|在|为|叫|用)\s*(.+)$`, func(m []string) string {
			if v := cleanValue(m[2]); v == "" || suggestion.MatchString(v) || passingZh.MatchString(v) {
				return ""
			}
			return m[0]
		}),
	// "接口地址是 https://api.example.com"
	newRule("PROJECT_IS", memory.Facts, 0.7, `^(?:api|接口|数据库|服务|测试环境|生产环境|文档|部署)(?:的)?(?:地址|部署|运行|跑)?(?:是`+
		`|在)\s*([\x21-\x7E\x{E000}-\x{F8FF}].*)$`, func(m []string) string { return m[0] }),

	// "To do: renew the certificate"
	newRule("TASK", memory.Tasks, 0.6, `^(?:to[- ]?do|one more thing to do|another task|action item)\s*[:：]\s*(?:(?:i`+
		`|we)(?:'ll)? (?:still )?(?:need|have|must|ought)(?: to)? )?(.+)$`, task("To do: ")),
	// "Put it on my list: renew the certificate"
	newRule("TASK", memory.Tasks, 0.65, `^(?:please )?(?:put|add|write) (?:(?:it|this|that|one) )?(?:on|to) (?:the|my`+
		`|our) (?:to[- ]?do )?list\s*[:：]\s*(.+)$`, task("To do: ")),
	// "Remind me to renew the certificate"
	newRule("TASK", memory.Tasks, 0.7, `^(?:please |can you |could you )?remind me (?:(?:on|next|this|in`+
		`|at) (?:[\p{L}\p{N}]+ ){1,3}?)?(?:to |about |that )(.+)$`, task("To do: ")),
	// "Don't forget to renew the certificate"
	newRule("TASK", memory.Tasks, 0.6, `^(?:please )?(?:remember|don't forget|do not forget|don't let me forget`+
		`|do not let me forget) to (.+)$`, task("To do: ")),
	// "I need to send the report by Friday"
	newRule("TASK", memory.Tasks, 0.65, `^(?:(?:tomorrow|tonight|next week|on monday|on tuesday|on wednesday`+
		`|on thursday`+
		`|on friday|this weekend),? )?(?:i|we)(?: still| also)?(?: need| have| must| has|'ve got`+
		`| have got)(?: to)? (.+)$`, func(m []string) string {
		if !dueDate.MatchString(m[0]) || pointing.MatchString(m[1]) {
			return ""
		}
		return task("To do: ")(m)
	}),
	// "待办：续签证书"
	newRule("TASK", memory.Tasks, 0.6, `^(?:待办|待办事项|todo|(?:还|另外)?有?一?[件个]?(?:事|事情|任务)(?:情)?(?:要|得|需要)(?:做|办|处理`+
		`|完成))\s*[，,:：]\s*(.+)$`, task("待办：")),
	// "提醒我续签证书"
	newRule("TASK", memory.Tasks, 0.7, `^(?:请|麻烦你?|到时候|记得|别忘了|到时)?(?:你)?提醒我(.+)$`, task("待办：")),
	// "别忘了续签证书"
	newRule("TASK", memory.Tasks, 0.6, `^(?:请|你要)?(?:记得|别忘了|不要忘了|别忘记)(.+)$`, func(m []string) string {
		if recalledZh.MatchString(m[1]) {
			return ""
		}
		return task("待办：")(m)
	}),
	// "我要在周五之前交报告"
	newRule("TASK", memory.Tasks, 0.65, `^(?:我|我们|咱们)还?(?:要|得|需要|必须)在?((?:\d{1,2}月\d{1,2}[日号]|\d{1,2}号`+
		`|[^，,]{0,6}[周月年底初末][^，,]{0,3}|明天|后天|今晚|发版|上线|下班)(?:之前|以前|前).+)$`, task("待办：")),
	// "明天下午我们要开评审会"
	newRule("TASK", memory.Tasks, 0.65, `^(?:我|我们|咱们)?((?:明天|后天|大后天|今晚|明晚|明早|下个?(?:周|星期)[一二三四五六日天]|(?:这|本)?周[一二三四五六日天]`+
		`|下个月|\d{1,2}月\d{1,2}[日号])[^，,]{0,10}?(?:之前|前|我|我们)?(?:要|得|需要|必须).+)$`, task("待办：")),
}
