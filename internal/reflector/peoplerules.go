package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	relativesZh = `孩子|小孩|宝宝|儿子|女儿|双胞胎|哥哥|弟弟|姐姐|妹妹|兄弟|姐妹|狗|猫|兔子|鹦鹉`
	personsZh   = `上级|领导|老板|主管|经理|组长|导师|同桌|室友|搭档|老婆|老公|妻子|丈夫|爱人|男朋友|女朋友|未婚夫|未婚妻|爸爸|妈妈|父亲|母亲|` + relativesZh
)

var (
	// Links to what is looked at once.
	passingLinkZh = lazyregexp.New(`截图|录屏|附件|结果|例子|示例|视频|补丁|提交|构建|流水号|文章|PR|MR`)
	// Words that name nobody, behind 我的上级是.
	noNameZh = lazyregexp.New(`^(?:个|一|很|最|不|谁|这|那|他|她|你|因|说|对|错|第|为|想|让|要|从|在)`)
)

// peopleRules recognise whom users have around them, what a team does, and where its pages are.
var peopleRules = []rule{
	// "我的上级是林晓梅"
	newRule("USER_FACT", memory.Facts, 0.65, `^我的?((?:直属|顶头|新|大|小)?(?:`+personsZh+`))(?:的名字)?(是|叫做?|名叫)\s*`+
		`([\p{Han}·]{2,5}|[\p{Latin}][\p{Latin} .'-]{0,40})(?:[，,].*)?$`, func(m []string) string {
		if noNameZh.MatchString(m[3]) {
			return ""
		}
		return toThirdPersonZh("用户的" + m[1] + m[2] + strings.TrimSpace(m[3]))
	}),
	// "我有两个孩子，叫米卡和罗尼亚"
	newRule("USER_FACT", memory.Facts, 0.6, `^我(?:家)?(?:里)?(?:有|养了)((?:[一二两三四五六七八九十]|\d+)\s*(?:个|只|条|位|名|对)(?:\p{Han}{0,3})?(?:`+
		relativesZh+`)(?:[，,].*)?)$`, func(m []string) string { return toThirdPersonZh("用户有" + m[1]) }),
	// "我们只在周三发布"
	newRule("TEAM_HABIT", memory.Facts, 0.65, `^((?:我们|咱们)(?:组|团队|公司|部门|项目)?)((?:总是|从不|从来不|只|一般|通常|固定|一向|历来)[^我你]{0,12}?`+
		`(?:发布|发版|部署|上线|合并|评审|审查|提交|测试|开会|开站会|站会|备份|打包|打标签|回滚|封版|交付).*)$`, func(m []string) string {
		if transientZh.MatchString(m[0]) || suggestion.MatchString(m[0]) {
			return ""
		}
		return m[0]
	}),
	// "我们的监控面板在 https://grafana.example.com"
	newRule("PROJECT_IS", memory.Facts, 0.7, `^(?:(?:我们|咱们|本?项目|团队|公司)的?)?(\p{Han}[\p{Han}a-z ]{1,11}?)(?:的?(?:地址|链接|网址|入口))?`+
		`(?:放在|是|在|[：:])\s*(https?://\S+|[\x{E000}-\x{F8FF}].*)$`, func(m []string) string {
		if notPartZh.MatchString(m[1]) || offTopicZh.MatchString(m[1]) || passingLinkZh.MatchString(m[1]) ||
			transientZh.MatchString(m[1]) {
			return ""
		}
		return m[0]
	}),
}
