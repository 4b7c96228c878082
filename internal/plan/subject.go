package plan

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// reading is what the rules understand of a statement.
type reading struct {
	slot  string // what it is about, when that can hold only one value at a time; "" when unknown
	value string // of the slot, lower case
	words []string
	facts anchors
}

// subject recognises a statement that gives one thing its one value. In its slot, $1 and $2 stand for groups; the value is the group "v".
type subject struct {
	slot string
	re   *regexp.Regexp
}

const (
	person    = `(?:the user|user|i)`
	persons   = `(?:the user's|user's|my)`
	project   = `(?:our|the project's|this project's|project's)`
	team      = `(?:we|the team|our team|the project|this project|our project)`
	single    = `(?:main |primary |production |prod |staging |test |default )?(?:database|db|backend|frontend|api|server|stack|orm|framework|language|package manager|branch|registry|message queue|queue|cache|build tool|test framework|test runner|ci|hosting|cloud provider|domain|repo|repository|linter|formatter|deploy target|port|base url|url|endpoint|editor|shell)`
	singleZh  = `(?:主|生产|测试|默认|开发)?(?:数据库|后端|前端|接口|服务器|框架|语言|包管理器|主分支|分支|缓存|消息队列|构建工具|测试框架|域名|仓库|端口|编辑器|API|api|接口地址|API地址|api地址)`
	projectZh = `(?:我们|咱们|本项目|这个项目|该项目|项目|团队)`
	userZh    = `(?:用户|我)`
)

// subjects are matched against lower-cased text without closing punctuation.
var subjects = []subject{
	about("user.name", `^`+persons+` (?:full )?name is (?P<v>.+)$`),
	about("user.name", `^`+person+`(?: is| am|'m) (?:called|named) (?P<v>.+)$`),
	about("user.name", `^`+userZh+`(?:的名字)?(?:叫做|名叫|叫)(?P<v>[\p{Han}·]{2,5}|[a-z][a-z .'-]*)$`),
	about("user.home", `^`+person+` (?:(?:now |currently )?lives?|is based|am based|'m based) in (?P<v>.+?)(?: now)?$`),
	about("user.home", `^`+userZh+`(?:现在|目前)?(?:住在|居住在|搬到了?)(?P<v>.+)$`),
	about("user.employer", `^`+person+` (?:now |currently )?works? (?:at|for) (?P<v>.+?)(?: now)?$`),
	about("user.employer", `^`+userZh+`(?:现在|目前)?在(?P<v>.+?)(?:工作|上班|任职|就职)$`),
	about("user.job", `^`+person+` works? as (?:an? )?(?P<v>.+)$`),
	about("user.favorite $1", `^`+persons+` favou?rite ([\p{L} ]+?) (?:is|are) (?P<v>.+)$`),
	about("user.favorite $1", `^`+userZh+`最(?:喜欢|爱)的(\p{Han}+?)是(?P<v>.+)$`),
	about("user.$1", `^`+persons+` (birthday|e-?mail|email address|time ?zone|phone(?: number)?|job(?: title)?|role|native language|editor|shell|os|operating system|github(?: username)?|username|hometown) is (?P<v>.+)$`),
	about("user.$1", `^`+userZh+`的(生日|邮箱|时区|电话|手机号|职业|职位|母语|编辑器|操作系统|用户名|家乡|昵称)(?:是|在)(?P<v>.+)$`),
	about("prefers for $1", `^`+person+` (?:always |usually )?prefers? (?P<v>[^,]+?) (?:for|as) (.+)$`),
	about("project.$1", `^`+project+` (`+single+`) (?:is|runs on|is at|lives at|is hosted on|is deployed (?:on|to)) (?P<v>.+)$`),
	about("project.$1 at", `^(?:the|our) ([\p{L} ]{2,30}?) (?:is|lives|runs) at (?P<v>.+)$`),
	about("project.deploy", `^(?:(?:the|our) )?deploy(?:s|ment|ments)? (?:runs?|is|are|goes|go) (?:on|to|hosted on) (?P<v>.+)$`),
	about("project.for $1", `^`+team+` (?:now )?uses? (?P<v>[^,]+?) (?:as|for) (?:(?:our|the|a|an|its) )?(.+)$`),
	about("project.$1", `^`+projectZh+`的?(`+singleZh+`)(?:用的是|使用的是|部署在|跑在|运行在|是|在|为|用|改成了?|换成了?)(?P<v>.+)$`),
}

func about(slot, re string) subject { return subject{slot, regexp.MustCompile(re)} }

var (
	// A thing with its version: "we use postgres 14".
	versioned   = regexp.MustCompile(`^(?:` + team + ` (?:now )?uses? |` + projectZh + `(?:现在)?(?:用的是|使用的是|使用|采用|用)\s*)(?P<thing>[\p{L}][\p{L} .+#-]*?)[ -]*(?P<v>v?\d[\w.]*)$`)
	unversioned = regexp.MustCompile(`^(?:` + team + ` (?:now )?uses? |` + projectZh + `(?:现在)?(?:用的是|使用的是|使用|采用|用)\s*)(?P<thing>[\p{L}.+#-]+(?: [\p{L}.+#-]+)?)$`)
	// "prefers tabs over spaces": of two things one.
	versus  = regexp.MustCompile(`^` + person + ` prefers? (.+?) (?:over|to|rather than) (.+)$`)
	prefers = regexp.MustCompile(`^(?:` + person + ` (?:really |strongly |always |usually )?(?:prefers?|likes?|uses?) (?:to use |using )?|` + userZh + `(?:更|比较|一般|通常|习惯)*(?:喜欢|偏好|习惯|使用|用)(?:用|使用)?\s*)(.+)$`)
)

// alternatives are things of which people prefer one: a preference for another one of a group changes the first.
var alternatives = [][]string{
	{"tab", "tabs", "space", "spaces", "制表符", "空格", "tab 缩进", "空格缩进", "tab缩进"},
	{"dark mode", "light mode", "dark theme", "light theme", "dark themes", "light themes", "深色模式", "浅色模式", "暗色模式", "亮色模式", "深色主题", "浅色主题", "暗色主题", "亮色主题"},
	{"vim", "neovim", "emacs", "vs code", "vscode", "nano", "jetbrains", "goland", "pycharm"},
	{"npm", "yarn", "pnpm", "bun"},
	{"tea", "coffee", "喝茶", "喝咖啡", "茶", "咖啡"},
	{"short answers", "long answers", "detailed answers", "concise answers", "brief answers", "简短的回答", "详细的回答", "简洁的回答"},
	{"single quotes", "double quotes", "单引号", "双引号"},
	{"window seats", "aisle seats", "a window seat", "an aisle seat", "靠窗的座位", "靠过道的座位", "靠窗", "靠过道"},
	{"merge commits", "rebase", "rebasing", "squash merges"},
	{"metric units", "imperial units", "公制", "英制"},
	{"morning meetings", "afternoon meetings", "早上开会", "下午开会"},
}

// read finds what content is about.
func read(content string) reading {
	s := strings.ToLower(norm.NFKC.String(content))
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, "’", "'")), " ")
	s = strings.TrimRight(s, ".!。！ ")
	r := reading{facts: anchorsOf(content), words: contentWords(s)}
	if m := versioned.FindStringSubmatch(s); m != nil {
		r.slot, r.value = "project.version "+strings.TrimSpace(m[1]), m[2]
		return r
	}
	if m := versus.FindStringSubmatch(s); m != nil {
		a, b := min(m[1], m[2]), max(m[1], m[2])
		r.slot, r.value = "prefers "+a+" or "+b, m[1]
		if g := group(m[1]); g != "" && g == group(m[2]) {
			r.slot = g
		}
		return r
	}
	if m := prefers.FindStringSubmatch(s); m != nil {
		if g := group(m[1]); g != "" && r.facts.Negations == 0 {
			r.slot, r.value = g, m[1]
			return r
		}
	}
	for _, p := range subjects {
		m := p.re.FindStringSubmatchIndex(s)
		if m == nil {
			continue
		}
		v := 2 * p.re.SubexpIndex("v")
		r.value = strings.TrimSpace(s[m[v]:m[v+1]])
		r.slot = p.slot
		for i := 1; i < len(m)/2; i++ { // $1 is the first group that is not the value
			if 2*i != v && m[2*i] >= 0 {
				r.slot = strings.ReplaceAll(p.slot, "$1", strings.TrimSpace(s[m[2*i]:m[2*i+1]]))
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

// group names the alternatives that thing is one of, "" when none.
func group(thing string) string {
	for _, g := range alternatives {
		for _, a := range g {
			if a == thing {
				return "prefers " + g[0]
			}
		}
	}
	return ""
}

// fillers are left out of the words that two statements are compared by; negations too, they are counted apart.
var fillers = set("the a an is am are was were be do does did to of in on at it its that this user users user's i i'm my me we our really very so just also not don't doesn't didn't never no cannot isn't aren't won't can't")

// contentWords splits s into what it says: Latin words without fillers, stripped of a closing s, and single CJK characters without negations.
func contentWords(s string) (out []string) {
	for _, w := range strings.FieldsFunc(notNegative.Replace(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune("'_-./#+@:", r)
	}) {
		var latin strings.Builder
		flush := func() {
			t := strings.Trim(latin.String(), "'.-:")
			latin.Reset()
			if t != "" && !fillers[t] {
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
