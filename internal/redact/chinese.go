package redact

// The rules of this file know a value by what stands around it in Chinese prose. An ASCII word where a Chinese sentence
// names a password is the value itself, so less is asked of its form than in English.

const (
	chineseHints = "密码 口令 密钥 秘钥 令牌 验证码 私钥 授权码 解压码 提取码 动态码 安全码 凭证 暗号 密匙 密碼 金鑰 通行码 pin码"
	chineseNames = `(?:密码|密碼|口令|密钥|秘钥|密匙|金鑰|令牌|验证码|私钥|授权码|解压码|提取码|动态码|安全码|凭证|暗号|通行码|PIN码|pin码)`
	// What may stand between the name and the verb.
	chineseFill = `\s*(?:[（(][^）)\n]{0,20}[）)])?\s*(?:已经|已|现在|目前|暂时|仍然|仍|还|都|也|应该|应|一直|刚|刚刚|今天|昨天|统一|就|默认|重新|临时` +
		`|被|我|我们|给|一律|可能|大概|其实)*`
	chineseVerb = `(?:是|为|叫做?|设成|设为|设置为|设置成|设定为|改成|改为|更改为|修改为|修改成|更新为|更新成|换成|换为|变成|变为|重置为|重置成|定为|用的是|使用的是|等于|如下)`
	weakVerb    = `(?:用|使用|填|输入|写|输|记得用|请用|要用)`
	gapMark     = `(?:了)?\s*[:：=＝,，|→]?\s*[*_` + "`" + `]*["'“‘「『]?`
)

var chinese = []shape{
	newShape("password", chineseHints, chineseNames+chineseFill+`(?:`+chineseVerb+gapMark+`|(?:了)?\s*[:：=＝`+
		`|→]\s*[*_`+"`"+`]*["'“‘「『]?)`+
		`(?P<v>[!-~]{4,}?)["'`+"`"+`*]*`+spokenEnd, chinesePassword),
	newMixedShape("password", chineseHints, chineseNames+chineseFill+weakVerb+`?`+gapMark+``+
		`(?P<v>[!-~]{4,}?)["'`+"`"+`*]*`+spokenEnd, chineseMixed),
	newMixedShape("password", chineseHints, chineseNames+`(?:的)?(?:值|内容|原文`+
		`|明文)?`+chineseFill+`[^\n。；;!-~]{0,8}?`+chineseVerb+gapMark+
		`(?P<v>[!-~]{4,}?)["'`+"`"+`*]*`+spokenEnd, chineseMixed),
	newMixedShape("password", chineseHints, `(?:用|以|拿|把|将|输入|填)\s*["'“「`+"`"+`]?(?P<v>[!-~]{4,}?)["'”」`+"`"+`]?\s*`+
		`(?:来)?(?:作为|当作|当成|当|做|设为|设成|设置为|作)[^\n。，]{0,12}?`+chineseNames, chineseMixed),
	newMixedShape("password", chineseHints, `(?:^|[^!-~])["“「`+"`"+`]?(?P<v>[!-~]{4,}?)["”」`+"`"+`]?\s*(?:就|才`+
		`|便)?是[^\n。，]{0,16}?(?:的)?`+chineseNames, chineseMixed),
	newMixedShape("password", "账号 帐号 帐户 账户 用户名 登录名 账密 登录 登陆 账户名 賬號",
		`(?:账号|帐号|帐户|账户|賬號|用户名|登录名|账密|登录|登陆)[^\n。!-~]{0,10}[:：=]?\s*["'“「`+"`"+`]?[\w.@+-]{2,40}["'”」`+"`"+`]?`+
			`\s*(?:[/|、,，:：]|\s)\s*(?:密码|口令|pw|pass)?\s*[:：]?\s*`+
			`["'“「`+"`"+`]?(?P<v>[!-~]{4,}?)["'”」`+"`"+`]?`+spokenEnd, chinesePair),
	newMixedShape("password", "账号 帐号 账户 用户名 登录名 账密", `(?:账号|帐号|账户|用户名|登录名|用户|账)(?:名)?\s*(?:和|/|、|与|及|跟)?\s*`+
		`(?:登录)?(?:密码|口令|密)[^\n。!-~]{0,8}[:：]?\s*`+
		`["'“「`+"`"+`]?[\w.@+-]{2,40}["'”」`+"`"+`]?\s*(?:和|与|跟|[/|、,，:：]`+
		`|\s)\s*["'“「`+"`"+`]?(?P<v>[!-~]{4,}?)["'”」`+"`"+`]?`+spokenEnd, chinesePair),
	newMixedShape("password", "登录 登陆 连接 进入 访问", `(?:登录|登陆|连接|进入|访问)[^\n。!-~]{0,12}(?:用|使用|以`+
		`|是)\s*["'“`+"`"+`]?[A-Za-z][\w.@+-]{1,39}["'”`+"`"+`]?\s*(?:[/|、,，:：]|和`+
		`|加)\s*["'“`+"`"+`]?(?P<v>[!-~]{4,}?)`+spokenEnd, chinesePair),
	newMixedShape("password", "登录 登陆 连接 登进", `(?:用|使用|以|拿)\s*["'“`+"`"+`]?[\w.@+-]{2,40}["'”`+"`"+`]?\s*(?:[/|、,，:：]`+
		`|和|加)\s*["'“`+"`"+`]?(?P<v>[!-~]{4,}?)["'”`+"`"+`]?\s*(?:来|去)?(?:登录|登陆|连接|登进)`, chinesePair),
	newShape("password", "wi wlan 无线 热点", `(?i:wi-?fi|wlan|无线|热点)[^\n。]{0,16}?(?:密码`+
		`|口令)[^\n。!-~]{0,6}[:：]?\s*["'“]?(?P<v>[!-~]{4,}?)`+spokenEnd, chinesePassword),
	newShape("password", chineseHints, chineseNames+`\s*[:：=]?\s*(?P<v>[a-z]{8,32})`+spokenEnd, drawnLetters),
	newShape("share-code", "提取码 验证码 取件码", `(?:提取码|验证码|取件码)\s*(?:是|为)?\s*[:：]?\s*(?P<v>[A-Za-z0-9]{4,8})(?:[^\w]`+
		`|$)`, shareCode),
	newShape("secret", "token secret api key", `(?i:token|secret|(?:api|access`+
		`|secret)[ _-]?key)`+chineseFill+chineseVerb+gapMark+`(?P<v>[!-~]{8,}?)["'`+"`"+`*]*`+spokenEnd, bareSecret),
	newShape("pin", "密码 验证码 提取码 口令 取件码 门禁", `(?:密码|验证码|提取码|口令|动态码|安全码|门禁码|门禁密码|锁屏密码`+
		`|支付密码)[^\n。；\d!-~]{0,8}[:：]?\s*(?P<v>\d{4,8})(?:[^\d.%元个位次年月日天分秒小]|$)`, chinesePIN),
	newSeedPhrase("助记词 恢复词", `(?:助记词|恢复词)[^\n]{0,12}?[:：是]?\s*(?P<v>[a-z]{3,8}`+
		`(?:[ ,，]+[a-z]{3,8}){11,23})`, nil),
	newShape("hex-key", "密钥 秘钥 私钥 密匙", `(?:密钥|秘钥|私钥|密匙)[^\n。；]{0,16}?(?P<v>(?:0x)?[0-9a-fA-F]{32,128})(?:[^\w]`+
		`|$)`, nil),
}
