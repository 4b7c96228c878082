package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// teamRules recognise what users say of their team and its project.
var teamRules = []rule{
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
}

// taskRules recognise what is to be done.
var taskRules = []rule{
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
