package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// feedback is the category of rules with their reasons, as agents with one file for each memory know it.
const feedback = "feedback"

var (
	// A word of all reasons, which is found sooner than their whole form.
	reasonWord = lazyregexp.New(`(?i)because|since|otherwise|or else|因为|由于|毕竟|不然|否则|要不|免得|以免`)
	// An instruction and its reason behind it: groups 1 and 3 in English, 4 to 6 in Chinese. What would happen else is
	// the reason with its first word.
	reasonAfter = lazyregexp.New(`(?i)^(.{6,}?)(?:,|;| -| –| —)?\s+(because|since|otherwise` +
		`|or else)(?: of)?,?\s+(.{6,})$` +
		`|^(.{3,}?)[，,；;、]?\s*(因为|由于|毕竟|不然|否则|要不然|要不|免得|以免)(?:的话)?[，,]?\s*(.{3,})$`)
	// An instruction, and behind a comma a statement of why: groups 1 and 2.
	reasonJuxtaposed = lazyregexp.New(`(?i)^(?:please )?((?:don't|do not|never|always|avoid|stop) [^,;–—:]{6,})\s*(?:,|;| -| –| —)\s+` +
		`((?:the|our|my|their|they|we|some|most|many|half of|people|users|customers|auditors|reviewers|nobody|everyone|somebody` +
		`|each|every|it) [^,;]{8,})$` +
		`|^((?:请)?[^，,我你]{0,10}(?:不要|别|禁止|必须|一定要|务必)[^，,；;]{3,})[，,；;]\s*((?:他们|大家|客户|用户|同事|审计|评审|前端|后端|运维|老板|法务|新人|测试|线上` +
		`|生产)[^，,；;]{4,}|[^我你，,；;]{4,}(?:过了?|次了|了))$`)
	// The reason before its instruction: groups 1 and 2 in English, 3 and 4 in Chinese.
	reasonBefore = lazyregexp.New(`(?i)^(?:because|since|as) (.{6,}?),\s*(?:so )?(.{6,})$` +
		`|^(?:因为|由于)(.{3,}?)[，,]\s*(?:所以|因此)?[，,]?\s*(.{3,})$`)
	// A sentence that is only the reason of the one before.
	reasonAlone = lazyregexp.New(`(?i)^(?:the reason(?: for (?:that|this))?(?: is(?: that)?|:)|(?:that's|that is` +
		`|this is) because` +
		`|because|reason:|原因是|原因：|理由是|因为|这是因为|主要是因为)[：:，,\s]*(.{4,})$`)
	// "since Monday" is a time.
	sinceWhen = lazyregexp.New(`(?i)^(?:last|yesterday|today|monday|tuesday|wednesday|thursday|friday|saturday` +
		`|sunday|\d|then` +
		`|the (?:beginning|start|last|first|release|update|upgrade)|january|february|march|april|may|june|july|august` +
		`|september|october|november|december)\b`)
	// An instruction on how to work; group 1 without courtesy.
	practice = lazyregexp.New(`(?i)^(?:please )?(?:(?:we|you) (?:should |must |have to |need to )?)?((?:don't` +
		`|do not|never|always|avoid` +
		`|keep|use|write|run|make sure|only|stop|put|name|prefer|test|log|document|pin|commit|squash|rebase|tag|split` +
		`|mock` +
		`|stub|ask|check|format|answer|reply)\b.+)$`)
	practiceZh = lazyregexp.New(`^(?:请)?([^我你]{0,14}?(?:不要|别|不能|不得|禁止|必须|一定要|务必|都要|要|应该|尽量|统一|一律|只用|只能).+` +
		`|我们的?[^你]{0,14}?(?:不要|别|不能|禁止|必须|一定要|务必|都要|统一|只用|只能).+)$`)
	// What holds without a topic.
	always = lazyregexp.New(`(?i)^(?:always|never)\b|\b(?:everywhere|throughout|in (?:all|every|each|any))\b|总是|永远|每次|一律|务必|所有|每个|到处`)
	// What is to be left alone, or kept within a measure, whatever it is.
	generally = lazyregexp.New(`(?i)^(?:don't|do not|avoid)\b|^(?:keep|limit) .+ (?:under|below|within|to|at most) (?:\d|two|three|four` +
		`|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|a hundred)`)
	// One thing at hand.
	definiteThing = lazyregexp.New(`(?i)\b(?:the|this|that|these|those|it|them|him|her)\b`)
	// What is so for the moment, or about one thing at hand.
	forNow = lazyregexp.New(`(?i)\b(?:i'm|i am|we're|we are) (?:still |just |not |currently )?\p{L}+ing\b` +
		`|\bi'm still\b` +
		`|\b(?:right now|currently|is taken|at the moment|for now|in a hurry|still (?:run|work|test|us|look|edit` +
		`|debug)\w*` +
		`|in use|being)\b|^\S+ (?:\S+ )?(?:this|that|these|those|it|them)\b|我还没|我正|还没|正在|现在|刚才|刚刚|暂时|先不要|先别|这次|被占` +
		`|这[个条]|那[个条]`)
)

// topics say when a rule is to be thought of, by what it speaks of. The first one counts.
var topics = []struct {
	re     *lazyregexp.Pattern
	en, zh string
}{
	{lazyregexp.New(`(?i)\b(?:unit |integration )?tests?\b|\bmock|\bstub|\bfixture|测试|单测|用例`),
		"when writing or changing tests", "写测试或改测试时"},
	{lazyregexp.New(`(?i)\bdeploy|\breleas(?:e|ing)|\bship\b|\bproduction\b|\brollout|部署|上线|发布|发版|生产环境`),
		"before each deployment", "部署或发布之前"},
	{lazyregexp.New(`(?i)\bmigration|\bschema|\bdatabase|\bsql\b|迁移|数据库|表结构|表名|字段|索引`),
		"when changing the database or its migrations", "改数据库或迁移脚本时"},
	{lazyregexp.New(`(?i)\breview|\bpull request|\bPRs?\b|\bmerge request|评审|审查|合并请求`),
		"when preparing or reviewing a change", "准备或评审改动时"},
	{lazyregexp.New(`(?i)\bcommit|\bpush|\bmerg(?:e|ing)|\bbranch|\brebas|提交|推送|合并|分支`),
		"before each commit or push", "提交或推送之前"},
	{lazyregexp.New(`(?i)\binstall|\bdependenc|\bpackages?\b|\bversions?\b|\bimages?\b|\blockfile|\bnpm\b|\bpip\b` +
		`|依赖|安装|版本|镜像`),
		"when installing or upgrading dependencies", "安装或升级依赖时"},
	{lazyregexp.New(`(?i)\banswers?\b|\brepl(?:y|ies)|\brespon[ds]|\bexplain|\bexplanation|\bsummar|回答|回复|解释|总结`),
		"in each answer", "每次回答时"},
	{lazyregexp.New(`(?i)\bdoc(?:s|ument\w*)?\b|\bchangelog|\breadme|\bcomments?\b|文档|注释|变更日志`),
		"when writing documentation or comments", "写文档或注释时"},
	{lazyregexp.New(`(?i)\blog(?:s|ging)?\b|日志`), "when writing to logs", "写日志时"},
	{lazyregexp.New(`(?i)\bnames?\b|\bcode\b|\bfunctions?\b|\bvariables?\b|\bidentifiers?\b|\bclass(?:es)?\b` +
		`|\btypes?\b|\berrors?\b` +
		`|\bgenerated\b|\bindent|代码|命名|变量|函数|缩进|类名`), "when writing code", "写代码时"},
}

// topicOf returns when a rule applies, and whether it speaks of something that comes up again and again.
func topicOf(rule string) (when string, known bool) {
	han := containsHan(rule)
	for _, t := range topics {
		if t.re.MatchString(rule) {
			if han {
				return t.zh, true
			}
			return t.en, true
		}
	}
	if han {
		return "遇到这种情况时", false
	}
	return "whenever this comes up", false
}

// reasoned recognises an instruction for the future with the reason that is given for it.
func reasoned(s *sentence, text string) (finding, bool) {
	what, why := "", ""
	if !reasonWord.MatchString(text) {
		m := reasonJuxtaposed.FindStringSubmatch(text)
		if m == nil || transient.MatchString(m[2]) || transientZh.MatchString(m[4]) {
			return finding{}, false
		}
		what, why = m[1]+m[3], m[2]+m[4]
	} else if m := reasonBefore.FindStringSubmatch(text); m != nil {
		what, why = m[2]+m[4], m[1]+m[3]
	} else if m := reasonAfter.FindStringSubmatch(text); m != nil {
		what, why = m[1]+m[4], m[3]+m[6]
		switch word := strings.ToLower(m[2] + m[5]); word {
		case "since":
			if sinceWhen.MatchString(why) {
				return finding{}, false
			}
		case "otherwise", "or else":
			why = word + " " + why
		case "不然", "否则", "要不然", "要不", "免得", "以免":
			why = word + why
		}
	}
	what, why = withoutCourtesy(strings.Trim(what, " ,，;；")), withoutCourtesy(why)
	what = strings.TrimSpace(what)
	if what == "" || why == "" || forNow.MatchString(what) || forNow.MatchString(why) {
		return finding{}, false
	}
	f, ok := correction(&sentence{text: what, afterRefusal: s.afterRefusal}, what)
	if !ok {
		m := practice.FindStringSubmatch(what)
		if m == nil {
			m = practiceZh.FindStringSubmatch(what)
		}
		if m == nil {
			return finding{}, false
		}
		if _, known := topicOf(m[1]); !known && !always.MatchString(m[1]) && !(generally.MatchString(m[1]) && !definiteThing.MatchString(m[1])) {
			return finding{}, false
		}
		f = finding{rule: "STANDING_RULE", salience: 0.9, source: memory.SourceUserCorrection, content: ruleOf(m[1])}
	}
	return f, addReason(&f, why)
}

// addReason makes a rule with its reason of an instruction: the rule, why, and when it applies. It reports false for
// what is none.
func addReason(f *finding, why string) bool {
	rule := f.content
	for _, prefix := range []string{rulePrefix, rulePrefixZh} {
		rule = strings.TrimPrefix(rule, prefix)
	}
	if f.source != memory.SourceUserCorrection || f.vague || f.category == feedback || rule == f.content {
		return false
	}
	rule = capitalize(rule)
	when, _ := topicOf(rule)
	f.category = feedback
	f.content = rule + "\n**Why:** " + ofTheUser(strings.TrimRight(why, ".。!！ ")) + "\n**How to apply:** " + when
	return true
}

var (
	iAm   = lazyregexp.New(`(?i)\bi(?:'m| am)\b`)
	iHave = lazyregexp.New(`(?i)\bi(?:'ve| have)\b`)
	iDo   = lazyregexp.New(`(?i)\bi (can(?:not|'t)?|could(?:n't)?|will|won't|would(?:n't)?|must|should(?:n't)?` +
		`|did(?:n't)?|had|was` +
		`|never|\p{L}+ed)\b`)
	iVerb  = lazyregexp.New(`\b[iI] (\p{L}+)\b`)
	mine   = lazyregexp.New(`(?i)\bmy\b`)
	toMe   = lazyregexp.New(`(?i)\bme\b`)
	meZh   = strings.NewReplacer("我们", "我们", "我", "用户")
	iDoNot = lazyregexp.New(`(?i)\bi (?:don't|do not)\b`)
)

// ofTheUser puts a reason that the user gives for themselves into the third person.
func ofTheUser(why string) string {
	if containsHan(why) {
		return meZh.Replace(why)
	}
	why = iDoNot.ReplaceAllString(iHave.ReplaceAllString(iAm.ReplaceAllString(why, "the user is"), "the user has"),
		"the user does not")
	why = iVerb.ReplaceAllString(iDo.ReplaceAllString(why, "the user $1"), "the user ${1}s")
	return toMe.ReplaceAllString(mine.ReplaceAllString(why, "the user's"), "the user")
}
