package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	// Lasting parts of a project. A statement about them with a number, a name or an address is worth keeping.
	part = `(?:database|db|backend|back end|frontend|front end|api|server|service|app|application|job|worker|cluster` +
		`|queue|cache|build|pipeline|ci|ci/cd|repo|repository|monorepo|codebase|branch|domain|importer|exporter` +
		`|parser|loader|` +
		`gateway|proxy|dashboard|website|site|registry|bucket|network|vpn|vm|machine|host|box|port|endpoint|url` +
		`|environment|env|staging|production|sandbox|account|webhook|scheduler|backups?|logs|monitoring` +
		`|test suite|office|` +
		`team|deploys?|deployments?|releases?|rollout|maintenance window|standup|stand-up|sprint|retro|timeout` +
		`|rate limit|limit|quota|budget|deadline|schema|migrations?|dataset|model|tests|unit tests` +
		`|integration tests|end-to-end tests|version|license|certificate|contract|project|product|library|cli` +
		`|sdk|client|daemon|stack|compiler|toolchain|runtime|docs|documentation|sla|slo)`
	// Up to three words before a part.
	modifiers = `(?:[\p{L}\p{N}\x{E000}-\x{F8FF}_-]+ ){0,3}?`
	// Deployment environments.
	environment = `(?:staging|production|prod|dev|qa|preprod|ci)`
	// Verbs of lasting facts.
	lasting = `(?:is|are|runs?|lives?|listens?|uses?|has|have|sits?|expects?|requires?|needs?|supports?` +
		`|only accepts?|accepts?|stores?|writes?|publish(?:es)?|resets?|expires?|renews?|restarts?|starts?|ends?` +
		`|happens?|takes place|stays?|goes|go|was (?:written|built|created|started|forked)|were (?:written|built))`
	// Recurring times.
	times = `(?:every|each) (?:(?:single|other|second|third|\d+) )?(?:minutes?|hours?|days?|nights?|mornings?` +
		`|evenings?|weeks?|weekends?|months?|quarters?|years?|sprints?|monday|tuesday|wednesday|thursday|friday` +
		`|saturday|sunday|release)s?\b`
	// Participles of storing and hosting.
	kept = `(?:stored|kept|hosted|deployed|served|built|written|generated|published|managed|configured|logged` +
		`|cached|documented|tracked|backed up|located|mirrored|signed|rotated|replicated)`
	// Verbs of a team's habits.
	weDo = `(?:deploy|release|ship|host|publish|store|build|track|log|monitor|back up|run|keep|write|target` +
		`|support|require|cut|tag|test)`
)

var (
	// Something specific: a number, quoted text, a name, an address.
	concrete = lazyregexp.New(`[\p{N}\x{E000}-\x{F8FF}\p{Lu}]|[\p{L}\p{N}][._/:@][\p{L}\p{N}]|/\p{L}|\b(?:one|two` +
		`|three|four|five|six|seven|eight|nine|ten|twelve|every|each|daily|nightly|weekly|monthly|hourly)\b`)
	concreteZh = lazyregexp.New(`[\p{N}\x{E000}-\x{F8FF}A-Za-z]|机房|云|每[天周月晚日]|[一二两三四五六七八九十]+[个台天点]`)
	// A momentary state.
	transient = lazyregexp.New(`(?i)\b(?:currently|right now|at the moment|today|tonight|this (?:morning|time|run` +
		`|week)|still|again|already|yet|fail(?:s|ed|ing|ures?)?|broken|crash(?:es|ed|ing)?|errors?|bugs?|warnings?` +
		`|wrong|missing|hang(?:s|ing)?|stuck|slow|down|timing out|returning|throwing|throws|complain\w*|weird` +
		`|temporar\w*|line \d+|works?|working|looks?|seems?|should|todo|green|red|passing|passes|done|ready)\b|%`)
	transientZh = lazyregexp.New(`错|挂|失败|问题|异常|卡|慢|崩|超时了|好了|完了|不见|没有|空的|红的|绿的|现在的|满了|还没|正在|刚才|今天|这次|行代码|第.{1,4}行`)
	// A statement for one occasion only.
	oneOff = lazyregexp.New(`(?i)\b(?:for now|just (?:this )?once|this time|for the moment|for today|temporarily` +
		`|for th(?:is|e current) (?:run|pr|test|one|commit|session|task|branch|pull request|demo|release|file|change` +
		`|step))\b|暂时|这次|这一次|先这样|临时|这回|今天先`)
	// A part that refers to another one.
	elsewhere = lazyregexp.New(`(?i)\b(?:there|here|other|same|first|second|next|last|previous|current|new|old` +
		`|failing|wrong|one)$|^(?:the|our) (?:other|same|first|second|next|last|previous|current|wrong|failing)\b`)
	// A trailing explanation.
	reasonTail = lazyregexp.New(`(?i), (?:that|which) is (?:what|why|how|where|when)\b.*$`)
	// A trailing time of a past event.
	timeTail = lazyregexp.New(`(?i)[, ]+(?:(?:last|this|earlier this) (?:week|month|year|quarter|spring|summer` +
		`|autumn|fall|winter|sprint|monday|tuesday|wednesday|thursday|friday)|recently|yesterday|a (?:while|week` +
		`|month|year) ago|\w+ (?:days|weeks|months) ago)$`)
	// Chinese words that are no part of a project.
	notPartZh = lazyregexp.New(`^(?:这|那|他|她|它|你|客户|别|如|所|每|哪|把|被|给|在|用|改|看|跑|先|再|请)`)
	// Chinese values that are no lasting fact.
	offTopicZh = lazyregexp.New(`^(?:不是|否|不|哪|谁|啥|这|那|它|空|对|最|因|为了)`)
)

// projectRules recognise lasting facts about a project. They are tried after statementRules.
var projectRules = []rule{
	// "The importer runs in eu-west-1"
	newRule("PROJECT_IS", memory.Facts, 0.7, `^((?:the|our|all|all of our) `+modifiers+part+`(?: [\p{L}-]+)?) `+lasting+
		` (.+)$`, lastingFact),
	// "Staging uses Redis 7"
	newRule("PROJECT_IS", memory.Facts, 0.7, `^(`+environment+`) (?:is|are|runs?|lives?|sits?|uses?) (.+)$`,
		lastingFact),
	// "Every request must finish within 200 ms"
	newRule("PROJECT_MUST", memory.Facts, 0.75,
		`^((?:the|our|every|all|each) (?:[\p{L}\p{N}\x{E000}-\x{F8FF}_/-]+ ){1,4}?)(?:must|has to|have to|needs to`+
			`|need to|may|can) (?:not |never |only |always )?(.+)$`, requirement),
	// "The backup job runs every night at 2"
	newRule("SCHEDULE", memory.Facts, 0.65, `^((?:(?:the|our|all) )?(?:[\p{L}\p{N}\x{E000}-\x{F8FF}-]+ ){1,5}?)`+
		`(?:\p{L}{2,}s?|\p{L}+)((?: [^ ,]+){0,6}? `+times+`.*)$`, schedule),
	// "The secrets are stored in Vault"
	newRule("PROJECT_KEEPS", memory.Facts, 0.65,
		`^((?:the|our|all(?: our)?) (?:[\p{L}\p{N}-]+ ){1,4}?)(?:is|are) (?:all |always )?(`+kept+
			` (?:in|on|with|by|at|via|from|to|behind|using|under) .+)$`, keptAt),
	// "There are three staging clusters"
	newRule("PROJECT_HAS", memory.Facts, 0.65, `^(there (?:is|are)|we have) ((?:only |exactly )?(?:one|two|three|four`+
		`|five|six|seven|eight|\d+) `+modifiers+part+`(?:e?s)?\b.*)$`, lastingFact),
	// "We migrated from MySQL to Postgres 16"
	newRule("PROJECT_MOVED", memory.Facts, 0.7,
		`^we(?:'ve| have)? (?:just |recently |already )?(?:moved|migrated|switched|upgraded`+
			`|changed)(?: over)? (.{0,60}?)\bto (.+)$`, projectMoved),
	// "We deploy to Fly.io"
	newRule("PROJECT_USES", memory.Facts, 0.65, `^we (?:also |usually |normally |only |always )?(`+weDo+`) (.+)$`,
		teamHabit),
	// "We always squash commits"
	newRule("TEAM_HABIT", memory.Facts, 0.65, `^we (always|never|only) ((?:squash|rebase|merge|deploy|release|tag|use`+
		`|write|run|test|review|format|ship|push|commit|pin|keep|name|log|document|sign|build|cut|version|store`+
		`|generate|lint)\b.*)$`, teamHabit),

	// "我们的默认分支是 develop"
	newRule("PROJECT_IS", memory.Facts, 0.7,
		`^(?:(?:我们|咱们|项目|本项目|这个项目|团队|公司)的?)?(\p{Han}{0,6}?(?:数据库|后端|前端|接口|服务器|服务|环境`+
			`|框架|域名|仓库|主分支|默认分支|分支|缓存|队列|端口|备份|日志|超时时间|超时|网关|集群|版本|地址|机房|证书|流水线|官网|时区|编号|上限|下限|限额|负责人))(?:用的是|使用的是|部署在`+
			`|放在|存在|存放在|跑在|运行在|托管在|都是|都在|是|在|叫|有|至少|最多)\s*(.+)$`, lastingZh),
	// "我们把数据库升级到了 Postgres 16"
	newRule("PROJECT_MOVED", memory.Facts, 0.7,
		`^(?:我们|咱们)(?:已经|刚刚?|上周|上个月)?(?:把|将)?(.{0,20}?)(?:升级|迁移|迁|搬|切换|换|切)(?:到|成|为|至)了?\s*(.+?)了?$`,
		func(m []string) string {
			if !concreteZh.MatchString(m[2]) || transientZh.MatchString(m[0]) || suggestion.MatchString(m[2]) ||
				vagueValue.MatchString(m[2]) {
				return ""
			}
			return m[0]
		}),
	// "生产环境部署在 eu-west-1"
	newRule("PROJECT_IS", memory.Facts, 0.7,
		`^((?:线上|生产|测试|预发|正式|开发|本地)(?:环境)?|staging|prod|production)(?:都)?(?:跑在|部署在`+
			`|运行在|托管在|用的是|在)\s*(.+)$`, lastingZh),
	// "我们团队一共 5 个人"
	newRule("PROJECT_HAS", memory.Facts, 0.65, `^((?:我们|咱们)(?:组|团队|公司|部门|项目|这边)(?:里)?)(?:一共|总共|共有|有)(.+)$`, lastingZh),
	// "日志每天凌晨备份一次"
	newRule("SCHEDULE", memory.Facts, 0.65, `^([^我你他她，,。]{1,10}?)((?:在)?每(?:天|周|月|年|晚|日|个月|个季度|小时|两周|隔).{1,24})$`,
		lastingZh),
	// "代码注释统一用英文"
	newRule("CONVENTION", memory.Preferences, 0.75,
		`^((?:所有)?(?:代码|代码里的?|文档|测试)?的?(?:注释|变量名|变量|函数名|类名|文件名|命名|文档|提交信息|提交说明|提交记录|日志|错误信息|报错信息|回答|回复|解释|缩进`+
			`|commit ?(?:message|信息)|PR ?(?:描述|标题)))(?:请|一律|都|统一|全部|必须|要|最好|尽量)*(?:用|使用|写成|采用|保持)(.+)$`,
		func(m []string) string {
			if transientZh.MatchString(m[0]) || suggestion.MatchString(m[2]) || vagueValue.MatchString(m[2]) {
				return ""
			}
			return m[0]
		}),
}

// lastingFact keeps the sentence when its value is concrete and nothing in it speaks of the moment.
func lastingFact(m []string) string {
	v := cleanValue(reasonTail.ReplaceAllString(m[2], ""))
	if elsewhere.MatchString(m[1]) {
		return ""
	}
	if v == "" || passingRe.MatchString(v) || transient.MatchString(m[0]) || !concrete.MatchString(v) ||
		len(strings.Fields(m[0])) > 30 || pointing.MatchString(v) {
		return ""
	}
	return capitalize(reasonTail.ReplaceAllString(m[0], ""))
}

var (
	// Words that start no schedule.
	notScheduled = lazyregexp.New(`(?i)^(?:i|it|you|he|she|they|we|that|this|these|those|what|why|who|let|please` +
		`|there|don't|do|run|make|check|add|use|log|print|call|so|if|when|in|on|at|for|of|and|to|with)\b`)
	// The start of a subject, not of a request.
	subjectFirst = lazyregexp.New(`(?i)^(?:(?:the|our|all)\b|[\p{L}\p{N}-]+s\b)`)
	// Values in code, which are stored only for a moment.
	notKept = lazyregexp.New(`(?i)\b(?:variable|value|result|function|response|error|line|object|field|string` +
		`|class|method|parameter|argument|pointer|struct|loop|button|screenshot)s?\b`)
)

// schedule accepts recurring events whose subject is not a person.
func schedule(m []string) string {
	if !subjectFirst.MatchString(m[1]) || notScheduled.MatchString(m[1]) || notKept.MatchString(m[1]) ||
		transient.MatchString(m[0]) || len(strings.Fields(m[0])) > 20 {
		return ""
	}
	return capitalize(reasonTail.ReplaceAllString(m[0], ""))
}

// keptAt accepts places of things, but not of values in code.
func keptAt(m []string) string {
	if notKept.MatchString(m[1]) || elsewhere.MatchString(strings.TrimSpace(m[1])) {
		return ""
	}
	return lastingFact(m)
}

// quantity is a measure, such as "within 5 minutes".
var quantity = lazyregexp.New(`(?i)\b(?:within|under|below|above|over|at least|at most|less than|more than` +
	`|no more than|fewer than|up to|every|until|after|before) (?:the )?\p{Sc}?\p{N}`)

// requirement accepts a "must" with a measure only. Without one it is often a task for now.
func requirement(m []string) string {
	if !quantity.MatchString(m[2]) || transient.MatchString(m[0]) {
		return ""
	}
	return capitalize(reasonTail.ReplaceAllString(m[0], ""))
}

// projectMoved accepts migrations to something specific.
func projectMoved(m []string) string {
	to := cleanValue(timeTail.ReplaceAllString(m[2], ""))
	if to == "" || !concrete.MatchString(to) || pointing.MatchString(m[1]) || transient.MatchString(to) {
		return ""
	}
	return capitalize(timeTail.ReplaceAllString(m[0], ""))
}

// teamHabit accepts habits ("always", "never", "only"), and other statements if they are specific.
func teamHabit(m []string) string {
	v := cleanValue(m[2])
	habit := strings.EqualFold(m[1], "always") || strings.EqualFold(m[1], "never") || strings.EqualFold(m[1], "only")
	if v == "" || transient.MatchString(m[0]) || pointing.MatchString(v) || !habit && !concrete.MatchString(v) {
		return ""
	}
	return capitalize(m[0])
}

// lastingZh accepts specific, lasting facts in Chinese.
func lastingZh(m []string) string {
	v := cleanValue(m[2])
	if v == "" || notPartZh.MatchString(m[1]) || !concreteZh.MatchString(v) || transientZh.MatchString(m[0]) ||
		suggestion.MatchString(v) || offTopicZh.MatchString(v) {
		return ""
	}
	return m[0]
}
