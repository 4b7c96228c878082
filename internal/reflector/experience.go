package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// patterns is the category of what users do again and again.
const patterns = "patterns"

var (
	// A recurring time.
	habitTime = lazyregexp.New(`(?i)\b(?:in the (?:mornings?|evenings?|afternoons?)|at (?:night|noon|lunch|weekends?)|on (?:mon|tues` +
		`|wednes|thurs|fri|satur|sun)days?|on weekends?|every|each|before (?:\w+|\d+)(?: (?:am|pm))?$|after (?:lunch|work|dinner|hours)` +
		`|first thing|during (?:lunch|the week))\b`)
	// Objects that no experience is about.
	noSkill = lazyregexp.New(`(?i)^(?:the|this|that|these|those|it|any of|one|an?|here|there|you|my|our|something|anything)\b`)
	// Chinese words before 的 that name no trade.
	noTrade = lazyregexp.New(`[给着了这那完好过你我他]|^(?:什么|怎么|不)`)
)

// experienceRules recognise what users say of their trade, of what they know and do not know, and of their habits.
var experienceRules = []rule{
	// "I'm a geophysicist"
	newRule("USER_WORK", memory.Facts, 0.65, `^i(?: am|'m) (an? (?:[\w/+#-]+ ){0,3}?(?:[\p{L}]{3,}(?:[^l]ist|ician|grapher|surgeon`+
		`|smith|wright|keeper)|paramedic|mechanic|clerk|plumber|barista|veterinarian|midwife|phd student)\b.*)$`, func(m []string) string {
		return toThirdPerson("The user is " + withoutSecondClause(m[1]))
	}),
	// "I've been writing Erlang for twelve years"
	newRule("USER_KNOWS", memory.Facts, 0.65, `^i(?:'ve| have) (?:mostly |mainly )?(been \p{L}+ing (?:(?:with|in|on|as) )?(.+?) (?:for|since) .+)$`, func(m []string) string {
		if !experienced.MatchString(m[1]) || noSkill.MatchString(m[2]) || trouble.MatchString(m[1]) {
			return ""
		}
		return toThirdPerson("The user has " + cleanValue(m[1]))
	}),
	// "I have ten years of experience with COBOL"
	newRule("USER_KNOWS", memory.Facts, 0.65,
		`^i(?:'ve| have)(?: got)? ((?:[\p{L}\p{N}-]+ ){1,3}years of .+|(?:a lot of|much|some|little|no) experience (?:with|in) .+`+
			`|an? (?:[\p{L}\p{N}+#-]+ ){1,3}background.*)$`, func(m []string) string {
			return toThirdPerson("The user has " + cleanValue(m[1]))
		}),
	// "I have never written any Go before"
	newRule("USER_KNOWS", memory.Facts, 0.65, `^i(?:'ve| have) never (?:really |actually )?(used|written|touched|worked with|learned`+
		`|learnt|programmed in|coded in|done) (?:any )?(.+?)(?: before)?$`, func(m []string) string {
		if noSkill.MatchString(m[2]) || cleanValue(m[2]) == "" {
			return ""
		}
		return toThirdPerson("The user has never " + strings.ToLower(m[1]) + " " + cleanValue(m[2]))
	}),
	// "I'm completely new to Kubernetes"
	newRule("USER_KNOWS", memory.Facts, 0.65, `^i(?: am|'m) ((?:completely |quite |very |rather |fairly |totally |pretty |not |not very `+
		`|not really )?(?:new to|a beginner (?:in|at|with)|fluent in|experienced (?:in|with)|comfortable with|familiar with`+
		`|unfamiliar with)) (.+)$`, func(m []string) string {
		if noSkill.MatchString(m[2]) || cleanValue(m[2]) == "" {
			return ""
		}
		return toThirdPerson("The user is " + strings.ToLower(m[1]) + " " + cleanValue(m[2]))
	}),
	// "I usually review pull requests in the morning"
	newRule("HABIT", patterns, 0.6, `^i (usually|normally|typically|always|mostly|generally|tend to) ((?:\p{L}+) .+)$`, func(m []string) string {
		v := cleanValue(m[2])
		if v == "" || !habitTime.MatchString(v) || pointing.MatchString(v) || trouble.MatchString(v) {
			return ""
		}
		verb, rest, _ := strings.Cut(v, " ")
		if !strings.EqualFold(m[1], "tend to") {
			verb = thirdPerson(verb)
		}
		return toThirdPerson("The user " + strings.Replace(strings.ToLower(m[1]), "tend to", "tends to", 1) + " " + verb + " " + rest)
	}),
	// "We're a team of four"
	newRule("TEAM", memory.Facts, 0.65, `^we(?: are|'re) ((?:a|an) (?:[\p{L}-]+ ){0,2}(?:team|company|startup|group|office) of .+|(?:only |just )?`+
		`(?:two|three|four|five|six|seven|eight|nine|ten|\d+) (?:people|developers|engineers)\b.*)$`, func(m []string) string {
		return "The user's team: " + cleanValue(m[1])
	}),
	// "我是做嵌入式的"
	newRule("USER_WORK", memory.Facts, 0.65, `^我(?:以前|原来|一直|主要)?是?(?:做|搞|教|学)([^，,]{2,12}?)的(?:[，,].*)?$`, func(m []string) string {
		if noTrade.MatchString(m[1]) {
			return ""
		}
		said, _, _ := strings.Cut(strings.ReplaceAll(m[0], "，", ","), ",")
		return "用户" + strings.TrimPrefix(said, "我")
	}),
	// "我学的是土木"
	newRule("USER_WORK", memory.Facts, 0.65, `^我(?:大学|本科|以前|原来|主要)?(?:学|教|做|搞|研究)的(?:是|都是)([^，,]{2,12})(?:[，,].*)?$`,
		func(m []string) string {
			if noTrade.MatchString(m[1]) || offTopicZh.MatchString(m[1]) {
				return ""
			}
			said, _, _ := strings.Cut(strings.ReplaceAll(m[0], "，", ","), ",")
			return "用户" + strings.TrimPrefix(said, "我")
		}),
	// "I love it when examples come first"
	newRule("PREFERENCE", memory.Preferences, 0.7, `^i (?:really |always )?(love|like|hate|dislike|prefer|appreciate) it (when|if) (.+)$`,
		func(m []string) string {
			if v := cleanValue(m[3]); v != "" && !pointing.MatchString(v) {
				return toThirdPerson("The user " + strings.ToLower(m[1]) + "s it " + m[2] + " " + v)
			}
			return ""
		}),
	// "我写了十年 Java"
	newRule("USER_KNOWS", memory.Facts, 0.65, `^我(?:已经)?(?:写|用|做|干|教|学|搞)(?:了)?(?:快|近|差不多)?(?:[0-9一二三四五六七八九十]+|十几|几)多?年(?:的)?(.+)$`,
		func(m []string) string { return "用户" + strings.TrimPrefix(m[0], "我") }),
	// "我没接触过 React"
	newRule("USER_KNOWS", memory.Facts, 0.65, `^我(?:从来|从|几乎|基本|还)?(?:没有|没|不怎么|不太|不)(?:怎么|太)?(?:接触过|用过|写过|学过|碰过|做过|懂|熟悉|了解)\s*(.{2,20})$`,
		func(m []string) string {
			if noTrade.MatchString(m[1]) || suggestion.MatchString(m[1]) || notASkillZh.MatchString(m[1]) {
				return ""
			}
			return "用户" + strings.TrimPrefix(m[0], "我")
		}),
	// "我一般周五下午做代码评审"
	newRule("HABIT", patterns, 0.6, `^我(?:一般|通常|平时|习惯|总是|都)(?:都)?(?:在)?((?:每?(?:周|星期)[一二三四五六日天末到至、]+|每天|早上|上午|中午|下午|晚上|凌晨|睡前|周末|工作日).{3,24})$`,
		func(m []string) string { return toThirdPersonZh("用户" + strings.TrimPrefix(m[0], "我")) }),
}

var (
	// A length of time that makes experience.
	experienced = lazyregexp.New(`(?i)\b(?:for (?:about |over |nearly |almost |more than |at least )?(?:[\p{L}\p{N}-]+ )?(?:years|decades|months)` +
		`|for (?:ever|ages)|since (?:\d{4}|school|university|college))\b`)
	notASkillZh  = lazyregexp.New(`意思|原因|为什么|怎么|情况|问题|报错|东西|这|那`)
	secondClause = lazyregexp.New(`(?i)(?:,| and| but) (?:i |i'm |have |am |never |not ).*$`)
	sibilant     = lazyregexp.New(`(?:s|x|z|ch|sh)$`)
	consonantY   = lazyregexp.New(`[^aeiou]y$`)
)

// withoutSecondClause drops what follows a first statement about the user.
func withoutSecondClause(s string) string { return secondClause.ReplaceAllString(s, "") }

// thirdPerson is the form of an English verb after "the user".
func thirdPerson(verb string) string {
	switch {
	case verb == "do", verb == "go", sibilant.MatchString(verb):
		return verb + "es"
	case verb == "have":
		return "has"
	case consonantY.MatchString(verb):
		return strings.TrimSuffix(verb, "y") + "ies"
	}
	return verb + "s"
}
