package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// userRules recognise what users say of themselves. The comment above a rule is an example.
var userRules = []rule{
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
	newRule("USER_FACT", memory.Facts, 0.6, `^i(?: have| own|'ve)(?: got)? ((?:a|an|one|two|three|four|five|six|\d+) (?:[\p{L}]+ )?(?:dogs?`+
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
		`^我(?:现在|目前)?在(.+?)(工作|上班|任职|就职|上学|读书|读研|读博|读大学|留学|教书|实习|做(?:\p{Han}{0,4}(?:运维|开发|测试|设计`+
			`|研究|产品|架构|数据|安全|运营|前端|后端|算法))|(?:做|当|担任)\p{Han}{0,6}?(?:`+jobsZh+`))(?:了)?$`, func(m []string) string {
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
}
