package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	verbs = `don't|do not|never|always|stop|quit|speak|stick|leave|treat|assume|list|group|cite|mention|save|store` +
		`|rename|split|merge|squash|rebase|document|log|pin|send|open|ship|deploy|review|batch|print|sort|quote|link` +
		`|sign|use|run|ask|make|check|avoid|be|keep|write|put|remember|only|just|first` +
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
	// "From now on all commit messages are in English"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:from now on|from here on|going forward|moving forward|henceforth)\b[,:]?\s*((?:all|every|each|any|no|the|our`+
			`|code|tests|commits|answers|replies|functions) .*\b(?:is|are|must|should|gets?|goes|go|has|have|needs?|uses?`+
			`|starts?|ends?|comes?|stays?|follows?)\b.*)$`, nil),
	// "From now on I want tests for each bug fix"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:from now on|from here on|going forward|moving forward|henceforth)\b[,:]?\s*(?:i want|i'd like|i need`+
			`|i expect)`+
			` (?:you to |to (?:see|have|get) )?(.+)$`, nil),
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
		`^(?:please )?((?:stop|quit) (?:\w+ly )?[\p{L}-]{2,}ing\b.*)$`, nil),
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
	// "I told you already: don't touch the vendor folder"
	newRule("REMINDED", memory.Procedural, 0.9,
		`^(?:i(?:'ve| have)? (?:already )?(?:told|asked|said)(?: you)?(?: (?:already|before|that|this`+
			`|it|twice|a hundred times|many times|again and again|last time|so|yesterday)){0,3}|as i (?:said|told you)(?: before)?)`+
			`\s?[,:;–—-]+\s*(?:please )?((?:don't|do not|never|always|use|stop|leave|keep|only|no) .+)$`, nil),
	// "I told you not to touch the vendor folder"
	newRule("REMINDED", memory.Procedural, 0.9,
		`^i(?:'ve| have)? (?:already )?(?:told|asked) you (?:already |before |twice )?(not to (?:`+verbs+`|\p{L}+)\b .+)$`, nil),
	// "我说过了，不要动 legacy 目录"
	newRule("REMINDED", memory.Procedural, 0.9, `^(?:我|跟你|都)(?:早就|已经|都|跟你|和你)*(?:说过|讲过|提醒过|强调过)(?:你|了|好几次|很多次|多少次|多少遍|几遍|好多遍)*[，,：:\s]+`+
		`((?:不要|别|不能|不准|必须|一定要|要先|要用|先|只用|都用|统一).+)$`, nil),
	// "Use pnpm instead of npm"
	newRule("INSTEAD", memory.Procedural, 0.9, `^(?:please )?(use .+? instead of .+)$`, nil),
	// "No, use pnpm"
	newRule("NO_INSTEAD", memory.Procedural, 0.9,
		`^(?:no|nope|wrong|that's wrong|that's not right|not right|incorrect)[,.!;:\s-]+(?:please )?((?:use|run|call`+
			`|put|write|you should|you must|you need to|it should be|that should be|(?:always|never|don't|do not) (?:`+
			verbs+`)|the correct)\b.+)$`, nil),
	// "以后提交前先跑测试"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请|麻烦)?你?(?:下次|下回|下一次|以后|今后|从现在起|从现在开始|从今以后|往后|之后)(?:再)?(?:(?:遇到|碰到|看到|出现|发现)[^，,]{1,12}?)?(?:[^，,]{0,12}(?:的时候`+
			`|时|前|之前)[，,]?)?[，,\s]*(?:你|请你|麻烦你?|也|就|都)*((?:`+verbsZh+`).+)$`, nil),
	// "以后回答请用中文"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请)?(?:下次|下回|下一次|以后|今后|从现在起|从现在开始|往后)[，,\s]*((?:你的?)?(?:回答|回复|解释|说明|输出|代码|注释|提交|文档|测试|日志|命名|变量名|函数|commit|PR|改动`+
			`|修改)[^，,]{0,8}?(?:`+verbsZh+`).+)$`, nil),
	// "以后写接口文档都要带上示例"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请|麻烦)?(?:下次|下回|下一次|以后|今后|从今以后|从现在起|从现在开始|往后|之后)(?:的)?[，,\s]*([^，,我]{1,16}?(?:都要|都用|都得|都请|请都|必须|一定要|务必|不要|别|不能|一律`+
			`|统一|只用|只能|尽量|要先).+)$`, nil),
	// "以后报告里的金额都保留两位小数"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请|麻烦)?(?:以后|今后|从今以后|从现在起|从现在开始|往后)(?:的)?[，,\s]*([^，,我他她它]{1,16}?都[^，,会是能可没有很不行好]{1}.{1,30})$`, nil),
	// "以后生成报表用 LibreOffice，别用 Excel"
	newRule("NEXT_TIME", memory.Procedural, 0.9, `^(?:请|麻烦)?(?:下次|下回|下一次|以后|今后|从今以后|从现在起|从现在开始|往后)[，,\s]*`+
		`([^，,我你可能会]{1,12}?(?:用|使用)[^，,]{1,30}[，,]\s*(?:别|不要|不准|不)(?:再)?(?:用|使用).+)$`, nil),
	// "记得下次用 uv 而不是 pip"
	newRule("NEXT_TIME", memory.Procedural, 0.9,
		`^(?:请|你要)?(?:记得|记住|别忘了)[，,\s]*(?:下次|下回|下一次|以后|今后|每次)[，,\s]*(?:都|也|就)?((?:`+verbsZh+`).+)$`, nil),
	// "I want you to always explain the SQL you run"
	newRule("STANDING_RULE", memory.Procedural, 0.9,
		`^i(?: want|'d like| would like| need) you to ((?:always|never|stop|avoid|only) .+)$`, nil),
	// "不要每次都重写整个文件"
	newRule("STANDING_RULE", memory.Procedural, 0.9, `^(?:请)?((?:不要|别)(?:每次|总是|老是|动不动就?|一上来就).+)$`, nil),
	// "提交之前必须先跑测试"
	newRule("STANDING_RULE", memory.Procedural, 0.9,
		`^((?:每次)?[^，,我这那]{2,12}(?:之前|以前|前|之后|以后|后)[，,]?(?:你)?(?:一定要|必须|务必|都要|要先|一律|记得先|请先|先要)[^这那]+)$`, nil),
	// "没有我的同意不要动 vendor 目录"
	newRule("NOT_WITHOUT", memory.Procedural, 0.9, `^(?:请)?((?:没有|没|未经|不经)(?:过|得到)?(?:我的?|用户)?(?:的)?(?:明确)?(?:同意|允许|许可|确认|批准)`+
		`(?:之前|以前|前)?[，,]?\s*(?:绝对|千万)?(?:不要|别|不准|不许|不能|不得|禁止).+)$`, nil),
	// "请一直用繁体中文回答我"
	newRule("STANDING_RULE", memory.Procedural, 0.9, `^(?:请|麻烦)?你?((?:一直|始终|永远|总是|每次)(?:都)?(?:要|请)?(?:用|使用)[^，,]+?(?:回答|回复|解释|写|输出|称呼|总结).*)$`, nil),
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
		what = withoutCourtesy(what)
		rest := strings.TrimSpace(negation.ReplaceAllString(what, ""))
		if r.name == "EVERYWHERE" && pointedAt.MatchString(what) || r.name == "NO_INSTEAD" && oneOfThese.MatchString(what) ||
			r.name == "STOP_DOING" && stopNow.MatchString(what) {
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
		f.refuses = (s.afterRefusal || r.name == "NO_INSTEAD") && !insteadOf.MatchString(what)
		return f, true
	}
	return finding{}, false
}

var (
	// An instruction about one specific thing.
	pointedAt = lazyregexp.New(`(?i)^\S+ (?:the|this|that|these|those|it|them)\b`)
	// One of several things at hand.
	oneOfThese = lazyregexp.New(`(?i)\b(?:the|this|that|these|those) (?:first|second|third|last|other|next` +
		`|previous|same|one` +
		`|above|below|right|correct|wrong|latter|former|old|new|file)\b|\b(?:this|that|these|those|it` +
		`|them)(?: one)?(?: instead)?$` +
		`|[上下前后]面[的那]|[这那][个种条些]|第[一二三四五六]|另外?一?[个种条]`)
	// What is to end at once, not from now on.
	stopNow = lazyregexp.New(`(?i)^\w+ (?:running|waiting|building|loading|testing|processing|working|downloading` +
		`|uploading` +
		`|listening|polling|streaming|recording|looking|talking|thinking|worrying|debugging|being)\b|^\w+ (?:something` +
		`|anything|everything|nothing|during)\b`)
	// An instruction that names what it replaces.
	insteadOf = lazyregexp.New(`(?i)\binstead of\b|而不是|代替`)
	// The verb or negation that starts an instruction.
	negation = lazyregexp.New(`(?i)^(?:don't|do not|never|stop|quit|always|use|(?:请)?(?:不要再?|别再?|不许再?|不准再?|永远不要|千万不要` +
		`|千万别再?|禁止))\s*(?:ever )?`)
	// A Chinese condition before an instruction.
	circumstance = lazyregexp.New(`(?:遇到|碰到|看到|出现|发现)[^，,]{1,12}$|[^，,次后在起始来]{1,12}(?:的时候|时|之前|前)[，,]?\s*$`)
)

// What an instruction of the user begins with, as it is kept.
const (
	rulePrefix   = "The user's rule: "
	rulePrefixZh = "用户的规则："
)

// ruleOf phrases an instruction as a rule of the user.
func ruleOf(what string) string {
	if containsHan(what) {
		return rulePrefixZh + what
	}
	return rulePrefix + what
}
