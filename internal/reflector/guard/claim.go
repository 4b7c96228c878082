package guard

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// parsedClaim is what the rules understand of a statement.
type parsedClaim struct {
	// attribute with a single value at a time, such as "user.home"; "" if unknown
	slot string
	// value of the slot, lower case
	value  string
	words  []string
	tokens protectedTokens
	hasHan bool   // contains Chinese
	normal string // the statement, normalised
}

// slotPattern recognises a statement that assigns the value of a slot (slot filling as in dialogue systems). In its
// slot, $1 stands for the first group that is not the value, and $unit for what the value measures, so that an age does
// not replace a height; the value is the group "v".
type slotPattern struct {
	slot string
	re   *lazyregexp.Pattern
}

const (
	person  = `(?:the user|user|i)`
	persons = `(?:the user's|user's|my)`
	project = `(?:our|the|the project's|this project's|project's)`
	team    = `(?:we|the team|our team|the project|this project|our project)`
	single  = `(?:[\p{L}\d-]+ ){0,2}?(?:database|db|backend|frontend|api|server|stack|orm|framework|language` +
		`|package manager|branch|registry|message queue|queue|cache|build tool|test framework|test runner|ci|hosting` +
		`|cloud provider|domain|repo|repository|linter|formatter|deploy target|port|base url|url|endpoint|editor` +
		`|shell|domain name|version|timeout|time ?zone|timezone|region|service|cluster|owner|license|website|host)`
	singleZh = `(?:主|生产|线上|正式|测试|预发|默认|开发|本地)?(?:环境的?)?(?:数据库|后端|前端|接口|服务器|框架|语言|包管理器|主分支|分支|缓存|消息队列|构建工具|测试框架|域名` +
		`|仓库|端口|编辑器|API|api|接口地址|api ?地址|地址|超时时间|时区|负责人|机房)`
	projectZh = `(?:(?:我们|咱们|本项目|这个项目|该项目|项目|团队|公司)的?)?`
	userZh    = `(?:用户|我)`
)

// slotPatterns are tried in order against lower-case text without closing punctuation.
var slotPatterns = []slotPattern{
	newSlotPattern("user.name", `^`+persons+` (?:full )?name is (?P<v>.+)$`),
	newSlotPattern("user.name", `^`+person+`(?: is| am|'m) (?:called|named) (?P<v>.+)$`),
	newSlotPattern("user.name", `^`+userZh+`(?:的名字)?(?:叫做|名叫|叫)(?P<v>[\p{Han}·]{2,5}|[a-z][a-z .'-]*)$`),
	newSlotPattern("user.home", `^`+person+
		` (?:(?:(?:have |'ve |has )?(?:now |currently |just |recently )?(?:lives?|moved`+
		`|relocated)|is based|am based|'m based) (?:in|to)) (?P<v>.+?)(?: now)?$`),
	newSlotPattern("user.home", `^`+userZh+`(?:现在|目前)?(?:已经|刚刚?)?(?:住在|居住在|住|搬家?(?:到|去|至)了?)(?P<v>.+?)了?$`),
	newSlotPattern("user.employer", `^`+person+` (?:now |currently )?works? (?:at|for) (?P<v>.+?)(?: now)?$`),
	newSlotPattern("user.employer", `^`+userZh+`(?:现在|目前)?在(?P<v>.+?)(?:工作|上班|任职|就职)$`),
	newSlotPattern("user.job", `^`+person+` works? as (?:an? )?(?P<v>.+)$`),
	newSlotPattern("user.favorite $1", `^`+persons+` favou?rite ([\p{L} ]+?) (?:is|are) (?P<v>.+)$`),
	newSlotPattern("user.favorite $1", `^`+userZh+`最(?:喜欢|爱)的(\p{Han}+?)是(?P<v>.+)$`),
	newSlotPattern("user.$1", `^`+persons+
		` (birthday|e-?mail|email address|time ?zone|phone(?: number)?|job(?: title)?|role`+
		`|native language|editor|shell|os|operating system|github(?: username)?|username|hometown) is (?P<v>.+)$`),
	newSlotPattern("user.$1", `^`+userZh+`的(生日|邮箱|时区|电话|手机号|职业|职位|母语|编辑器|操作系统|用户名|家乡|昵称)(?:是|在)(?P<v>.+)$`),
	newSlotPattern("prefers for $1", `^`+person+` (?:always |usually )?prefers? (?P<v>[^,]+?) (?:for|as) (.+)$`),
	newSlotPattern("project.$1 port", `^`+project+` (`+single+`) (?:is|listens|runs) (?:now )?on port (?P<v>\d.*)$`),
	newSlotPattern("project.$1", `^`+project+` (`+single+`) (?:is|are|is called|is named) (?:now )?(?P<v>.+)$`),
	newSlotPattern("project.$1 on", `^`+project+` (`+single+
		`) (?:runs|lives|is hosted|is deployed|sits) (?:on|to|in) (?P<v>.+)$`),
	newSlotPattern("project.$1 at", `^(?:the|our) ([\p{L} ]{2,30}?) (?:is|lives|runs) at (?P<v>.+)$`),
	newSlotPattern("project.deploy", `^(?:(?:the|our) )?deploy(?:s|ment|ments)? (?:runs?|is|are|goes|go`+
		`|happens?) (?:out )?(?:on|to|hosted on|every) (?P<v>.+)$`),
	newSlotPattern("project.for $1", `^`+team+
		` (?:now )?uses? (?P<v>[^,]+?) (?:as|for) (?:(?:our|the|a|an|its) )?(.+)$`),
	newSlotPattern("project.$1端口", `^`+projectZh+`([\p{Han}a-z0-9 -]{1,10}?)(?:现在|目前|已经|已)?(?:监听|使用|用|改用|换到|跑在)了?(?:的是)?\s*(?P<v>\d{2,5})\s*端口了?$`),
	newSlotPattern("project.$1", `^`+projectZh+`(`+singleZh+`)(?:现在)?(?:用的是|使用的是|是|为|用|改成了?|换成了?|升级到了?)(?P<v>.+?)了?$`),
	newSlotPattern("project.$1 on", `^`+projectZh+`(`+singleZh+`)(?:现在)?(?:部署在|跑在|运行在|放在|在)(?P<v>.+)$`),
	newSlotPattern("project.$1", `^(?:把|将)?`+projectZh+`(`+attributeZh+`)`+becomesZh+`\s*(?P<v>.+?)了?$`),
	newSlotPattern("project.deploy", `^`+projectZh+`(?:每)?(?P<v>(?:周|星期|礼拜)[一二三四五六日天])(?:发布|发版|部署|上线)$`),
	newSlotPattern("project.deploy", `^`+projectZh+`(?:部署|发布|发版|上线)(?:时间)?(?:定)?(?:在|是|改到了?|改成了?|到)(?P<v>.+?)了?$`),

	// What is measured or dated has one value at a time, whatever it is called: ports, versions, limits, floors,
	// deadlines.
	newSlotPattern("project.$1 port", `^`+named+` (?:is|listens|runs) (?:now )?on port (?P<v>\d.*)$`),
	newSlotPattern("project.version $1", `^((?:the|our) [\p{L}][\p{L} -]{1,40}? (?:runs|uses|needs|requires|is on|targets) `+
		`[\p{L}][\p{L}.+# -]*?) v?(?P<v>\d[\w.]*)$`),
	newSlotPattern("project.$1 in $unit", `^(?:`+named+`|((?:max|min)[\p{L}]* [\p{L} -]{2,40}?)) (?:is|are) (?:now )?`+
		`(?P<v>\d[\d.,:]*(?: ?[\p{L}%][\p{L} %/]*)?)$`),
	newSlotPattern("project.$1 when", `^`+named+` (?:is|is held|takes place|starts) (?:now )?(?:on |every )`+
		`(?P<v>`+weekdayEn+`(?: (?:at|in the) .*)?)$`),
	newSlotPattern("due $1", `^(?:to do: )?(.{4,80}?) (?:by|before|until) (?P<v>(?:next )?`+weekdayEn+`|tomorrow|\d{4}-\d\d-\d\d)$`),
	newSlotPattern("project.$1 in $unit", `^`+projectZh+`(\p{Han}[\p{Han}a-z ]{1,12}?)(?:现在|目前|已)?(?:上限)?`+
		`(?:是|为|改为|改成|调到|调整为|设为)了?\s*`+
		`(?P<v>(?:每\p{Han}{1,3}\s*)?\d[\d.,:]*\s*[\p{Han}a-z%/]{0,4})$`),
	newSlotPattern("project.$1 floor",
		`^`+projectZh+`(\p{Han}{2,8}?)(?:现在|目前|已经)?(?:在|位于|搬到|移到|换到)了?\s*`+
			`(?P<v>[\d一二三四五六七八九十]+\s*(?:楼|层|号楼|室))$`),
	newSlotPattern("project.$1 when", `^`+projectZh+`([\p{Han}a-z]{1,8}?)(?:时间)?(?:定|安排|改|推迟|提前|挪|换)?(?:在|到)了?\s*`+
		`(?P<v>每?下?(?:周|星期|礼拜)[一二三四五六日天](?:上午|下午|早上|晚上|中午)?[\d一二三四五六七八九十两:：点半分]*)$`),
	newSlotPattern("due $1", `^(?:待办[:：])?(?P<v>下?(?:周|星期|礼拜)[一二三四五六日天]|明天|后天|月底|\d{1,2}月\d{1,2}[日号]|\d{4}-\d\d-\d\d)`+
		`(?:之前|以前|前)(.{2,40})$`),
}

const (
	// named is a thing whose name holds no number, so that a number behind it is no part of the name.
	named     = `(?:the|our) ([\p{L}][\p{L} -]{1,40}?)`
	weekdayEn = `(?:mon|tues|wednes|thurs|fri|satur|sun)days?`
)

// unitOf returns what a measured value has beside its number: "request per minute" of "100 requests per minute". Its
// words have no plural s, since a number may pass 1.
func unitOf(value string) string {
	words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && r != '%' })
	for i, w := range words {
		if len(w) > 2 {
			words[i] = strings.TrimSuffix(w, "s")
		}
	}
	return strings.Join(words, " ")
}

// becomesZh stands between an attribute and its value in Chinese.
const becomesZh = `(?:现在|目前|已经|已)?(?:从[^,]{1,20}?)?(?:用的是|使用的是|是|为|用|:|(?:改|换|变|调整|更新|设|定|升级)(?:成|为|到)了?)`

// attributeZh is an attribute of a thing, such as 数据库的端口.
const attributeZh = `(?:[\p{Han}a-z0-9 -]{1,10}?的?)?(?:端口号?|版本号?|地址|域名|路径|超时时间|超时|时区|负责人|主机名?|机房|上限|限额|价格|房租|租金|预算|截止日期` +
	`|截止时间|会议时间|发布时间|电话|邮箱|会议室|区域|地点)`

// newSlotPattern compiles lazily; see package lazyregexp.
func newSlotPattern(slot, re string) slotPattern { return slotPattern{slot, lazyregexp.New(re)} }

var (
	// A product with its version: "we use postgres 14".
	versioned = lazyregexp.New(`^(?:` + team + ` (?:now )?uses? |` + projectZh +
		`(?:现在)?(?:用的是|使用的是|使用|采用|用)\s*)(?P<thing>[\p{L}][\p{L} .+#-]*?)[ -]*(?P<v>v?\d[\w.]*(?:(?:,| (?:with|via` +
		`|behind|and|on|plus|for|in)\b|，|加|和|带).*)?)$`)
	unversioned = lazyregexp.New(`^(?:` + team + ` (?:now )?uses? |` + projectZh +
		`(?:现在)?(?:用的是|使用的是|使用|采用|用)\s*)(?P<thing>[\p{L}.+#-]+(?: [\p{L}.+#-]+)?)$`)
	// A choice between two things: "prefers tabs over spaces".
	versus  = lazyregexp.New(`^` + person + ` prefers? (.+?) (?:over|to|rather than) (.+)$`)
	prefers = lazyregexp.New(`^(?:` + person +
		` (?:really |strongly |always |usually )?(?:prefers?|likes?|uses?) (?:to use |using )?|` + userZh +
		`(?:更|比较|一般|通常|习惯)*(?:喜欢|偏好|习惯|使用|用)(?:用|使用)?\s*)(.+)$`)
)

// alternatives are groups of things of which people prefer one. A preference for another member of the group replaces
// the earlier one.
var alternatives = [][]string{
	{"tab", "tabs", "space", "spaces", "制表符", "空格", "tab 缩进", "空格缩进", "tab缩进"},
	{"dark mode", "light mode", "dark theme", "light theme", "dark themes", "light themes", "深色模式", "浅色模式", "暗色模式",
		"亮色模式", "深色主题", "浅色主题", "暗色主题", "亮色主题"},
	{"vim", "neovim", "emacs", "vs code", "vscode", "nano", "jetbrains", "goland", "pycharm"},
	{"npm", "yarn", "pnpm", "bun"},
	{"tea", "coffee", "喝茶", "喝咖啡", "茶", "咖啡"},
	{"short answers", "long answers", "detailed answers", "concise answers", "brief answers", "简短的回答", "详细的回答",
		"简洁的回答"},
	{"single quotes", "double quotes", "单引号", "双引号"},
	{"window seats", "aisle seats", "a window seat", "an aisle seat", "靠窗的座位", "靠过道的座位", "靠窗", "靠过道"},
	{"merge commits", "rebase", "rebasing", "squash merges"},
	{"metric units", "imperial units", "公制", "英制"},
	{"morning meetings", "afternoon meetings", "早上开会", "下午开会"},
}

// parseClaim parses a statement.
func parseClaim(content string) parsedClaim {
	s := strings.ToLower(norm.NFKC.String(content))
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "’", "'")), " ")
	s = strings.TrimRight(s, ".!。！ ")
	s = canonicalTerms.Replace(s)
	r := parsedClaim{tokens: protectedTokensOf(content), words: contentWords(s), hasHan: isHan(s),
		normal: memory.Normalize(content)}
	if m := versioned.FindStringSubmatch(s); m != nil {
		r.slot, r.value = "project.version "+strings.TrimSpace(m[1]), m[2]
		return r
	}
	if m := versus.FindStringSubmatch(s); m != nil {
		a, b := min(m[1], m[2]), max(m[1], m[2])
		r.slot, r.value = "prefers "+a+" or "+b, m[1]
		if g := alternativeGroup(m[1]); g != "" && g == alternativeGroup(m[2]) {
			r.slot = g
		}
		return r
	}
	if m := prefers.FindStringSubmatch(s); m != nil {
		if g := alternativeGroup(m[1]); g != "" && r.tokens.Negations == 0 {
			r.slot, r.value = g, m[1]
			return r
		}
	}
	if slot, value, ok := frequencyOf(s); ok {
		r.slot, r.value = slot, value
		return r
	}
	for _, p := range slotPatterns {
		m := p.re.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		v := 2 * p.re.SubexpIndex("v")
		r.value = strings.TrimSpace(s[m[v]:m[v+1]])
		if strings.HasPrefix(p.slot, "project.") && transientState.MatchString(r.value) {
			r.value = ""
			continue // a transient state replaces no lasting value
		}
		// below, the place of $1 is filled
		r.slot = strings.ReplaceAll(p.slot, "$unit", dimensionOf(unitOf(r.value)))
		for i := 1; i < len(m)/2; i++ { // the first group that is not the value
			if 2*i != v && m[2*i] >= 0 {
				r.slot = strings.ReplaceAll(r.slot, "$1", slotName.Replace(strings.TrimSpace(s[m[2*i]:m[2*i+1]])))
				break
			}
		}
		return r
	}
	if m := unversioned.FindStringSubmatch(s); m != nil {
		r.slot = "project.version " + m[1]
	}
	return r
}

// slotName drops from an attribute what is said or left out at will.
var slotName = strings.NewReplacer("的", "", "端口号", "端口", "版本号", "版本", "超时时间", "超时")

// canonicalTerms maps synonyms of things to one term.
var canonicalTerms = strings.NewReplacer(" db ", " database ", " prod ", " production ", "production's", "production",
	"timezone", "time zone", "正式环境", "生产环境", "线上环境", "生产环境",
	"线上数据库", "生产数据库", "生产环境的数据库", "生产数据库", "生产环境数据库", "生产数据库", "测试环境的数据库", "测试数据库", "测试环境数据库", "测试数据库",
	"偏好", "喜欢", "偏爱", "喜欢", "喜爱", "喜欢", "热爱", "喜欢")

// transientState matches values that describe a momentary state or an action, and so replace no other value.
var transientState = lazyregexp.New(`^(?:not|too|very|so|really|quite|currently|still|down|up|back|broken|slow|fast` +
	`|full` +
	`|empty|ready|done|fine|ok|great|good|bad|stuck|red|green|flaky|unstable|important|easy|hard|offline|online` +
	`|under|about|almost|being|getting|(?:backed|hosted|deployed|located|managed|maintained|owned|written|built|used` +
	`|shared|replicated|stored|mounted|configured|updated|upgraded|migrated|restored|running|failing|returning` +
	`|throwing|crashing|working|timing|waiting)\b|on|in|at|behind|for|from|where|what|how|why|the (?:problem|issue` +
	`|bottleneck|same|reason))\b|^(?:坏|挂|不|没|有问题|好|慢|快|错|空|正常|崩|满|满的|空的)`)

// valueKind classifies a value. Values of different kinds do not contradict each other.
func valueKind(v string) string {
	switch {
	case weekday.MatchString(v):
		return "time"
	case strings.Contains(v, "://") || strings.HasPrefix(v, "/"):
		return "address"
	case v != "" && v[0] >= '0' && v[0] <= '9':
		return "number"
	}
	return "name"
}

// weekday matches days of the week, in English and Chinese.
var weekday = lazyregexp.New(`^(?:(?:every|each) )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|^(?:weekdays?` +
	`|weekends?)\b|^每?(?:周|星期|礼拜)[一二三四五六日天]`)

// isHan reports whether s contains a Chinese character.
func isHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// alternativeGroup returns the slot of the alternatives that contain thing, "" if none do.
func alternativeGroup(thing string) string {
	for _, g := range alternatives {
		if slices.Contains(g, thing) {
			return "prefers " + g[0]
		}
	}
	return ""
}

// fillers are ignored when the words of two statements are compared. Negations are fillers too: they are counted
// separately.
var fillers = wordSet("the a an is am are was were be do does did to of in on at it its that this user users user's i " +
	"i'm my me we our really very so just also and not don't doesn't didn't never no cannot isn't aren't won't can't")

// synonyms are words with one meaning for the rules.
var synonyms = map[string]string{"prefers": "like", "prefer": "like", "loves": "like", "love": "like", "enjoys": "like",
	"enjoy": "like"}

// contentWords splits s into Latin words without fillers and without a final s, and single CJK characters without
// negations.
func contentWords(s string) (out []string) {
	for _, w := range strings.FieldsFunc(notNegative.Replace(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune("'_-./#+@:", r)
	}) {
		var latin strings.Builder
		flush := func() {
			t := strings.Trim(latin.String(), "'.-:")
			latin.Reset()
			if t != "" && !fillers[t] {
				if same := synonyms[t]; same != "" {
					t = same
				}
				if len(t) > 3 && !strings.HasSuffix(t, "ss") {
					t = strings.TrimSuffix(t, "s")
				}
				out = append(out, t)
			}
		}
		for _, r := range w {
			if unicode.Is(unicode.Han, r) {
				flush()
				if !strings.ContainsRune("不没别勿无未的了很我", r) {
					out = append(out, string(r))
				}
				continue
			}
			latin.WriteRune(r)
		}
		flush()
	}
	return out
}
