package redact

import (
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

var (
	// The rule between the head and the body of a Markdown table.
	tableRule = lazyregexp.New(`^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$`)
	// A column that holds secrets.
	secretColumn = lazyregexp.New(`` +
		`(?i)^[\s*_` + "`" + `]*(?:[\w.-]+[ _-])?(?:password|passwd|passphrase|pass|pwd|pw|secret|token|api key|pin` +
		`|credentials?|密码|口令|密钥|令牌|初始密码|登录密码)[\s*_` + "`" + `]*$`)
)

// tableSecrets finds the values below a heading like "password" in Markdown tables.
func tableSecrets(s string) (list []Finding) {
	if !strings.Contains(s, "--") || !strings.Contains(s, "|") {
		return nil
	}
	var columns []bool // of the table that is being read
	head, at := "", 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		switch {
		case tableRule.MatchString(strings.TrimRight(line, "\r\n")) && strings.Contains(head, "|"):
			columns = secretColumns(head)
		case !strings.Contains(line, "|"):
			columns = nil
		case columns != nil:
			list = appendCells(list, line, at, columns)
		}
		head = line
		at += len(line)
	}
	return list
}

// secretColumns says which columns of a table's head hold secrets, nil for none.
func secretColumns(head string) (out []bool) {
	found := false
	for cell := range strings.SplitSeq(head, "|") {
		secret := secretColumn.MatchString(cell)
		out, found = append(out, secret), found || secret
	}
	if !found {
		return nil
	}
	return out
}

// appendCells appends the values of a table's row, which begins at offset at, in the columns with secrets.
func appendCells(list []Finding, row string, at int, columns []bool) []Finding {
	i := 0
	for cell := range strings.SplitSeq(row, "|") {
		if value := strings.Trim(cell, " \t\r\n`*"); i < len(columns) && columns[i] &&
			len(value) >= 3 && isASCII(value) && !isPlaceholder(value) && !saysWhere(value) {
			from := at + strings.Index(cell, value)
			list = append(list, Finding{"password", from, from + len(value)})
		}
		at += len(cell) + 1
		i++
	}
	return list
}

// saysWhere reports whether a cell is a remark instead of a value: "in the vault", "see wiki".
func saysWhere(cell string) bool {
	words := strings.Fields(cell)
	return len(words) > 1 && !strings.ContainsFunc(cell, isDigit) && slices.ContainsFunc(words, func(w string) bool {
		return len(w) < 3 || functionWord.MatchString(w)
	})
}

// csvSecrets finds the values below a heading like "password" in lines of values with commas between them. A line with
// another number of commas ends the table.
func csvSecrets(s string) (list []Finding) {
	var columns []bool
	at := 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		cells := strings.Split(beforeQuote(line), ",")
		switch {
		case !strings.Contains(line, ",") || len(line) > maxCSVLine:
			columns = nil
		case columns != nil && len(cells) == len(columns):
			list = appendCSV(list, cells, at, columns)
		default:
			columns = csvColumns(strings.Split(heading(line), ","))
		}
		at += len(line)
	}
	return list
}

// heading is the line of a heading without what stands before it: the rest of a sentence, a mark of Markdown, the
// members of the JSON object whose string it begins.
func heading(line string) string {
	if strings.Count(line, `"`)%2 == 1 {
		line = line[strings.LastIndexByte(line, '"')+1:]
	}
	first, _, _ := strings.Cut(line, ",")
	return line[strings.LastIndexAny(first, " \t>")+1:]
}

// beforeQuote is a line up to the end of the JSON string that it ends.
func beforeQuote(line string) string {
	if strings.Count(line, `"`)%2 == 0 {
		return line
	}
	line, _, _ = strings.Cut(line, `"`)
	return strings.TrimRight(line, `\`)
}

// maxCSVLine is the length of the longest line that is read as values, in bytes.
const maxCSVLine = 4 << 10

// csvColumns says which columns hold secrets, nil for none. A heading has no spaces at the ends of its cells, which
// tells it from a sentence that lists words.
func csvColumns(cells []string) []bool {
	out, found := make([]bool, len(cells)), false
	for i, cell := range cells {
		cell = strings.Trim(cell, "\r\n\"")
		if cell == "" || strings.Contains(cell, " ") || len(cell) > 40 {
			return nil
		}
		out[i] = secretColumn.MatchString(cell)
		found = found || out[i]
	}
	if !found {
		return nil
	}
	return out
}

// appendCSV appends the values of a line, which begins at offset at, in the columns with secrets.
func appendCSV(list []Finding, cells []string, at int, columns []bool) []Finding {
	for i, cell := range cells {
		value := strings.Trim(cell, " \t\r\n\"'")
		if columns[i] && len(value) >= 3 && isASCII(value) && !isPlaceholder(value) && !saysWhere(value) {
			from := at + strings.Index(cell, value)
			list = append(list, Finding{"password", from, from + len(value)})
		}
		at += len(cell) + 1
	}
	return list
}
