package reflector

import "github.com/memsidecar/memsidecar/internal/lazyregexp"

// sourceExtensions are the endings of files that belong to a project.
const sourceExtensions = `go|py|js|jsx|ts|tsx|mjs|rs|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|sh|sql|css|scss|vue` +
	`|svelte` +
	`|toml|yaml|yml|json|md|proto|tf|lock|txt`

var (
	// Marks of a joke in a sentence.
	joke = lazyregexp.New(`(?i)\b(?:just kidding|kidding|joking|jk|lol|lmao|rofl|haha(?:ha)*|hehe(?:he)*)\b|(?:^` +
		`|\s)/s$` +
		`|[😂🤣😜😝😆😹]|开个?玩笑|哈哈|嘿嘿|呵呵|逗你|说笑|狗头`)
	// A sentence that takes back the ones before.
	retraction = lazyregexp.New(`(?i)^(?:just |only |i'm |i am |i was |of course )*(?:kidding|joking)(?: (?:you` +
		`|of course` +
		`|obviously|lol))?$|^jk$|^我?(?:只是|就是|是)?(?:跟你)?开个?玩笑(?:的|啦|而已|呢)?$|^逗你(?:的|玩的?)$`)
	// Statements that whoever has the project can look up: places in the code, the history of the repository and what
	// its files say. They change with the code, and a memory of them would not.
	derivable = lazyregexp.New(`(?i)(?:^|[\s(\x60"])[\w.-]*/[\w./-]*\.(?:` + sourceExtensions + `)\b` +
		`|\b[\w-]+\.(?:go|py|ts|tsx|jsx|rs|java|kt|rb|cpp|hpp|swift|scss|vue|proto|tf)\b|\blines? \d+|第 ?\d+ ?行` +
		`|\b(?:last|latest|previous|most recent|first) commits?\b|\bcommits? (?:ahead|behind)\b|\bHEAD\b` +
		`|\b(?:pull|merge) requests?\b|\b(?:PRs?|MRs?) (?:#?\d|(?:is|are|was|were) )` +
		`|\b(?:current|this|my) branch\b|^(?:the )?(?:README|CLAUDE\.md|AGENTS\.md|Makefile|Dockerfile|changelog` +
		`|go\.mod|package\.json|Cargo\.toml|pyproject\.toml|lock ?file|\.gitignore)\b` +
		`|^(?:the|our|this) (?:function|method|class|variable|struct|interface|constant|enum|component|column|macro)s?\b` +
		`|(?-i:^[a-z]+[A-Z]\w*\b)|[上前](?:一|几)?[个次]?提交|当前分支|这个分支|合并请求|[个条] ?PR|函数|方法在|变量|这个类` +
		`|(?:README|package\.json|CLAUDE\.md|go\.mod|Makefile) ?(?:里|中|写|说)`)
	// What a statement is taken from.
	fromTheProject = lazyregexp.New(`(?i)\b(?:according to|as per|as stated in|judging by) (?:the |our )?(?:[\w-]+\.\w+|code` +
		`|source|README|git|log|diff|history)\b|(?:根据|按照?|从)(?:代码|源码|提交记录|git|README)`)
)
