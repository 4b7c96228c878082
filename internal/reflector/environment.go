package reflector

import (
	"cmp"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
)

var (
	// What only PowerShell says of a command.
	saysPowerShell = lazyregexp.New(`(?i)FullyQualifiedErrorId|CategoryInfo\s*:|ParentContainsErrorRecordException` +
		`|is not a valid statement separator|recognized as (?:the|a) name of a cmdlet|Missing opening '\(' after keyword` +
		`|^At line:\d+ char:\d+|A parameter cannot be found that matches parameter name|Missing '\(' after '\w+' in` +
		`|Missing file specification after redirection|operator is reserved for future use|CommandNotFoundException` +
		`|ParserError:\s*Line \||找不到与参数名称|后面缺少“\(”|识别为 ?cmdlet|不是此版本中的有效语句分隔符|所在位置 行:\d+ 字符: ?\d+`)
	// What only cmd.exe says of a command.
	saysCmd = lazyregexp.New(`(?i)is not recognized as an internal or external command|\bwas unexpected at this time` +
		`|the syntax of the command is incorrect|不是内部或外部命令|此时不应有|命令语法不正确`)
	// A complaint of bash about syntax.
	saysBash = lazyregexp.New(`(?i)\b(?:bash|sh): (?:-c: )?(?:line \d+: )?(?:syntax error|unexpected EOF)`)
	// A path or a program of Windows, in a command or in what it said.
	windowsPath = lazyregexp.New(`(?i)\b[a-z]:\\|\bMINGW(?:32|64)|\bmsys\b|\.(?:exe|bat|ps1)\b`)
	// Programs and syntax of POSIX shells that neither PowerShell 5 nor cmd has.
	posix = lazyregexp.New(`(?m)(?:^|[;&|(]\s*)(?:export|source|sudo|grep|egrep|sed|awk|touch|which|chmod|chown` +
		`|head|tail|xargs` +
		`|uname|wc|ln|ls|cat|rm|cp|mv|pwd|bash|sh|test|unset|env|nohup)\b|(?:^|[;&|]\s*)\w+=\S* \S|&&|\|\||\$\(|<<|2>&1` +
		`|/dev/null|\bmkdir -p\b|;\s*(?:do|then|fi|done)\b|^\s*\[\[? |(?:^|\s)\./\S+\.sh\b|\\\n`)
)

var (
	// Commands and variables of PowerShell.
	powerShell = lazyregexp.New(`\b(?:Get|Set|New|Remove|Select|Where|ForEach|Write|Test|Copy|Move|Rename|Start` +
		`|Stop|Invoke|Import|Export|Out|Add|Clear|ConvertTo|ConvertFrom|Measure|Sort|Format` +
		`|Join|Split|Resolve)-[A-Z][A-Za-z]+\b|\$env:\w`)
	// The name that a POSIX shell puts before what it refuses; group 1.
	saysPosix = lazyregexp.New(`(?m)^(?:/\S*/)?(bash|sh|dash|zsh|ksh|fish|ash): .*(?:(?i)not found|syntax error` +
		`|unexpected|bad substitution|unknown command|no matches found|未找到命令|未预期)`)
)

// posixShell returns the POSIX shell behind a terminal that refused PowerShell, "" for any other failure.
func posixShell(tc *memory.ToolCall) string {
	if toolcall.Canonical(tc.Name) != toolcall.Shell {
		return ""
	}
	named, plain := toolcall.Arguments(tc.Name, truncate(tc.Arguments, 4000))
	if !powerShell.MatchString(cmp.Or(informative(named), plain)) {
		return ""
	}
	if m := saysPosix.FindStringSubmatch(truncate(errorText(tc), 4000)); m != nil {
		return m[1]
	}
	return ""
}

// posixText is the text of the rule about a terminal that is no PowerShell.
func posixText(f *failure, chinese bool) string {
	tc := f.message.Tool
	shell, what := posixShell(tc), lastingArguments(tc)
	if chinese {
		return fmt.Sprintf("工具 %s 运行的是 POSIX shell（%s），不认识 PowerShell 命令，例如：%s。请使用 %[2]s 命令，脚本用 .sh", tc.Name,
			shell, what)
	}
	return fmt.Sprintf("The tool %s runs a POSIX shell (%s), which does not know PowerShell, such as: %s. Use %[2]s "+
		"commands, and .sh files for scripts", tc.Name, shell, what)
}

// windowsShell returns the Windows shell behind a terminal that refused bash syntax, "" for any other failure. That a
// program is missing says nothing of the shell, as long as it is no program of POSIX systems.
func windowsShell(tc *memory.ToolCall) string {
	if toolcall.Canonical(tc.Name) != toolcall.Shell {
		return ""
	}
	said := truncate(errorText(tc), 4000)
	named, plain := toolcall.Arguments(tc.Name, truncate(tc.Arguments, 4000))
	command := cmp.Or(informative(named), plain)
	switch {
	case saysBash.MatchString(said):
		if windowsPath.MatchString(command) || windowsPath.MatchString(said) {
			return "bash"
		}
	case !posix.MatchString(command):
	case saysPowerShell.MatchString(said):
		return "PowerShell"
	case saysCmd.MatchString(said):
		return "cmd"
	}
	return ""
}

// windowsText is the text of the rule about a terminal on Windows.
func windowsText(f *failure, chinese bool) string {
	tc := f.message.Tool
	shell, what := windowsShell(tc), lastingArguments(tc)
	scripts, scriptsZh := ".bat files", ".bat"
	switch shell {
	case "PowerShell":
		scripts, scriptsZh = ".ps1 or .bat files", ".ps1 或 .bat"
	case "bash": // runs on Windows and takes no Windows paths
		if chinese {
			return fmt.Sprintf("工具 %s 运行在 Windows 的 bash 上，不接受未加引号的 Windows 路径，例如：%s。请给路径加引号，或改用 PowerShell",
				tc.Name, what)
		}
		return fmt.Sprintf("The tool %s runs bash on Windows, which does not accept Windows paths without quotes, such as: "+
			"%s. Quote the paths or use PowerShell", tc.Name, what)
	}
	if chinese {
		return fmt.Sprintf("工具 %s 运行在 Windows 的 shell（%s）上，不接受 bash 语法，例如：%s。请使用 %[2]s 命令，脚本用 %[4]s", tc.Name,
			shell, what, scriptsZh)
	}
	return fmt.Sprintf("The tool %s runs a Windows shell (%s), which does not accept bash syntax, such as: %s. Use %[2]s "+
		"commands, and %[4]s for scripts", tc.Name, shell, what, scripts)
}
