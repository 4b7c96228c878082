package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// reference is the category of pointers to what lies outside of the project, as agents with one file for each memory
// know it.
const reference = "reference"

const (
	// What a project has at a certain time, one of each.
	occasionNoun = `(?:freeze|release|launch|deadline|demo|go-live|audit|workshop|offsite|handover|cutover|beta|rollout` +
		`|presentation|interview|exam|kick-?off|inspection|delivery|hackathon|maintenance window|review|migration` +
		`|shutdown|pilot|trial|certificate|contract|license|licence|domain|support)`
	occasionZh = `(?:冻结|上线|发布会|发版|截止|演示|答辩|验收|评审|停机|断电|检修|切换|审计|交付|开工|试运行|到期|过期|搬家|面试|考试|体检)`
	// Systems outside of the code where a team keeps what it knows.
	outside = `(?:Grafana|Jira|Linear|Confluence|Notion|Slack|Sentry|Kibana|Datadog|Figma|Miro|Trello|Asana|Basecamp` +
		`|PagerDuty|Opsgenie|SharePoint|Google (?:Docs|Drive|Sheets)|Teams|Zendesk|Airtable|Bugzilla|YouTrack|Redmine` +
		`|Prometheus|New Relic|Splunk|Looker|Metabase|Dropbox|wiki` +
		`|飞书|钉钉|语雀|石墨|企业微信|腾讯文档|蓝湖|墨刀|禅道|TAPD|内网|知识库|共享盘|网盘|云盘)`
	// Those who want something of a project.
	stakeholder = `(?:customers?|clients?|sponsors?|partners?|vendors?|auditors?|regulators?|legal|compliance|management` +
		`|investors?|board|sales|security|finance|procurement|marketing)`
)

var (
	// A date, in words or digits.
	dated = lazyregexp.New(`(?i)\b(?:today|tonight|tomorrow|yesterday|next (?:week|month|quarter|year|sprint)|monday` +
		`|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august` +
		`|september|october|november|december|\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)|end of (?:the )?(?:month|year` +
		`|quarter|week)|q[1-4])\b|[今明后昨前]天|[今明]晚|[上下本这]?个?(?:周|星期|礼拜)[一二三四五六日天末]|下个?周|[下本上]个?月|[0-9一二三四五六七八九十]+[月号日]|月底|年底|年初|季度`)
	// An occasion, which a day of the week names once, unlike what recurs.
	occasion = lazyregexp.New(`(?i)^(?:(?:the|our|my) )?(?:[\p{L}-]+ ){0,3}` + occasionNoun + `\b(?: (?:of|for|with|at) ` +
		`[^.,]{1,40}?)? (?:is|starts|begins|ends|takes place|happens|has (?:been )?moved|was moved|moved)\b` +
		`|^[^,]{3,60}? (?:moves?|relocates?|arrives?|leaves?|joins?|launches|closes|retires?|expires?|returns|comes back|goes live` +
		`|is (?:off|away|out|due|visiting))(?: [^.,]{1,30})? (?:on|by|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day$` +
		`|^[^，,每]{0,12}` + occasionZh + `[^，,每]{0,4}(?:在|是|改到|定在|挪到|推迟到|提前到)`)
	recurs = lazyregexp.New(`(?i)\b(?:every|each|always|usually|normally|weekly|monthly|daily)\b|每|通常|一般`)
	// How a thing is now, rather than where it is.
	momentary = lazyregexp.New(`(?i)\b(?:down|slow|broken|failing|missing|wrong|right now|currently|today|again|still)\b|看一下|看看|正在`)
	// Small decisions of a day.
	privateMatter = lazyregexp.New(`(?i)\b(?:lunch|dinner|breakfast|coffee|break|home|bed|walk|holiday|vacation)\b|午饭|晚饭|吃饭|休息|散步`)
	// What did not work, rather than what is planned.
	trouble = lazyregexp.New(`(?i)\b(?:fail(?:s|ed|ing|ures?)?|broken|crash\w*|errors?|bugs?|hang\w*|stuck|weird)\b|报错|挂了|崩了|失败`)
)

// backgroundRules recognise what neither the code nor its history tells of a project: why something is done, what was
// decided, when something is due, what went wrong in production, and where to look for what. They are tried against a
// whole sentence of which no clause is a statement.
var backgroundRules = []rule{
	// "Merge freeze starts next Tuesday because of the release"
	newRule("OCCASION", memory.Facts, 0.7, `^(?:(?:the|our|a) )?((?:[\p{L}\p{N}-]+ ){0,3}`+occasionNoun+`\b(?: (?:of|for`+
		`|with|at) .{1,40}?)? (?:is|starts|begins|ends|expires|happens|takes place|goes live|runs out|closes|opens|was moved`+
		`|has (?:been )?moved|moved|has been postponed|was postponed)\b.+)$`, onceDated),
	// "发布会改到下周三了"
	newRule("OCCASION", memory.Facts, 0.7, `^([^我你？]{0,14}`+occasionZh+`.{1,30}|.{2,14}[^我你？]{0,14}`+occasionZh+`.{0,12})$`,
		onceDated),
	// "We decided to drop support for Windows 8"
	newRule("DECISION", memory.Facts, 0.7,
		`^((?:we|the team|management|the board)(?:'ve| have| has)? (?:just |finally |already )?(?:decided|agreed|chose|settled`+
			`|committed)(?: (?:to|on|not to|against|that|for))? .+)$`, decision),
	// "我们决定放弃 Kafka，改用 NATS"
	newRule("DECISION", memory.Facts, 0.7,
		`^((?:我们|团队|公司|老板|大家)(?:已经|刚刚?|昨天|上周|最后|最终)?(?:决定|商定|敲定|选定|定下来|说好|一致同意).+)$`, decision),
	// "The rewrite is driven by the new tax law"
	newRule("PURPOSE", memory.Facts, 0.7, `^((?:the|our) (?:[\p{L}\p{N}-]+ ){1,6}?(?:is|was|are|were) (?:mainly |only |purely `+
		`|mostly )?(?:driven|motivated|required|requested|mandated|demanded|imposed|prompted|sponsored|funded|paid for) by .+)$`,
		lastingNews),
	// "The customer Halvorsen wants the export by 1 April"
	newRule("WANTED", memory.Facts, 0.7, `^((?:the |our )?(?:[\p{L}-]+ )?`+stakeholder+`\b(?: [\p{L}\p{N}-]+){0,2} (?:wants?`+
		`|needs?|pays?|expects?|asked|requires?|demands?|insists?|forbids?|signed|promised) .+)$`, wanted),
	// "客户要求六月之前上线"
	newRule("WANTED", memory.Facts, 0.7, `^((?:客户|甲方|法务|老板|监管|合规|财务|领导|安全部门?|市场部)[^，,你我]{0,8}?(?:要求|希望|坚持|规定|指定|承诺|不允许|禁止).+)$`,
		lastingNews),
	// "Yesterday we had an outage of the payment service"
	newRule("INCIDENT", memory.Facts, 0.7, `^((?:(?:yesterday|today|last (?:night|week|month)|on [\p{L}]+),? )?(?:there was|we had) `+
		`(?:an?|another) (?:[\p{L}-]+ ){0,2}(?:outage|incident|data loss|breach|downtime)\b.*)$`, incident),
	// "昨天线上出了事故"
	newRule("INCIDENT", memory.Facts, 0.7, `^([^我你，,]{0,10}(?:线上|生产环境|生产)(?:又)?(?:出了?|发生了?)(?:一次|个|起)?[^，,]{0,6}`+
		`(?:事故|故障|宕机|数据丢失).*)$`, incident),
	// "Only Matteo has the keys for the signing machine"
	newRule("OWNER", memory.Facts, 0.7, `^((?:only )?((?-i:\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?)) (?:owns|approves|signs off|leads`+
		`|is (?:responsible for|in charge of|on call for|the owner of)|has (?:the )?(?:keys?|access|admin rights)) .+)$`, owner),
	// "支付网关由林工负责"
	newRule("OWNER", memory.Facts, 0.7, `^([^我你，,]{2,16}(?:由|归)([^我你，,]{2,6}?)(?:来|全权)?(?:负责|管|审批|维护))$`, owner),
	// "Bugs of the scanner are tracked in the Linear project OPTIC"
	newRule("POINTER", reference, 0.7, `^((?:[\p{L}\p{N}-]+ ){1,8}?(?:is|are|gets?|goes|go|lives?|stays?|sits?) (?:all |always )?`+
		`(?:(?:tracked|reported|filed|documented|discussed|planned|recorded|collected|kept|maintained|stored|posted|announced) )?`+
		`(?:in|on|to) (?:the |our )?(?:[\p{L}-]+ ){0,2}?`+outside+`\b.*)$`, pointer),
	// "The runbook is at https://wiki.example.com/runbook"
	newRule("POINTER", reference, 0.7, `^((?:the|our) (?:[\p{L}\p{N}-]+ ){1,6}?(?:is|are|lives?|sits?|can be found) (?:at|on|under`+
		`|here:?) https?://.+)$`, pointer),
	// "线上监控看 Grafana 的 pay-latency 面板"
	newRule("POINTER", reference, 0.7, `^([^我你他她，,]{2,14}?(?:都)?(?:看|去|在|放在|放到|记在|记录在|写在|存在|提到|报到|汇总在|统一在)\s*`+
		outside+`.*)$`, pointer),
}

// background reads a sentence that tells what is behind a project.
func background(text string) (finding, bool) {
	for _, i := range backgroundPatterns.Candidates(text) {
		r := backgroundRules[i]
		if m := r.re.FindStringSubmatch(text); m != nil {
			if content := r.phrase(m); content != "" {
				return finding{rule: r.name, category: r.category, source: memory.SourceReflection, salience: r.salience,
					content: content}, true
			}
		}
	}
	return finding{}, false
}

// news cleans a sentence that is kept whole, "" if it points to another one or is too long for news.
func news(s string) string {
	s = withoutCourtesy(s)
	if len([]rune(s)) > 300 || len(strings.Fields(s)) > 40 || pointing.MatchString(s) || vagueValue.MatchString(s) {
		return ""
	}
	return capitalize(s)
}

// onceDated accepts what happens at a date.
func onceDated(m []string) string {
	if !dated.MatchString(m[1]) || trouble.MatchString(m[1]) || strings.HasSuffix(m[1], "吧") {
		return ""
	}
	return news(m[0])
}

// decision accepts decisions about something specific or about the work.
func decision(m []string) string {
	_, work := topicOf(m[1])
	if !work && !specific(m[1]) && !containsHan(m[1]) || privateMatter.MatchString(m[1]) || suggestion.MatchString(m[1]) {
		return ""
	}
	return news(m[0])
}

// specific reports whether a sentence holds something concrete. The capital letter at its start is none.
func specific(s string) bool {
	return concrete.MatchString(strings.ToLower(firstWord(s)) + s[len(firstWord(s)):])
}

// lastingNews accepts what holds longer than the moment.
func lastingNews(m []string) string {
	if trouble.MatchString(m[1]) {
		return ""
	}
	return news(m[0])
}

// wanted accepts wishes that name something.
func wanted(m []string) string {
	if !specific(m[1]) && !dated.MatchString(m[1]) {
		return ""
	}
	return lastingNews(m)
}

// noPerson are words that start a sentence and own nothing.
var noPerson = lazyregexp.New(`(?i)^(?:this|that|it|he|she|they|who|what|which|everyone|everybody|nobody|someone|one|each|the|our|my` +
	`|a|an|now|here|there)$|^(?:谁|他|她|它|这|那|代码|函数|系统|服务)`)

// owner accepts who is in charge of something.
func owner(m []string) string {
	if noPerson.MatchString(firstWord(m[2])) || pointing.MatchString(m[1]) {
		return ""
	}
	return news(m[0])
}

// incident accepts what went wrong in production.
func incident(m []string) string { return news(m[0]) }

// pointer accepts where something outside of the code is.
func pointer(m []string) string {
	if passingZh.MatchString(m[1]) || momentary.MatchString(m[1]) {
		return ""
	}
	return news(m[0])
}
