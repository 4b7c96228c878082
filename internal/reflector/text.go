package reflector

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// sentence is one sentence of a user's message. In text, quotations and inline code are masked by single private-use
// characters, so that no rule matches inside quoted words.
type sentence struct {
	text         string
	masks        []string
	question     bool
	hypothetical bool
	// an item of a list that the user asked to remember
	listed bool
	// the sentence before was a refusal, such as "No."
	afterRefusal bool
}

const (
	// the first characters of quotedSpan
	quoteStarts = "`\"“「『《"

	maskBase = '\uE000'
	maxMasks = 2000
	// characters of text from which only the first and last lines count as the user's own
	longText  = 6000
	longLines = 80
	edgeLines = 5
)

// unmask replaces masks by the quoted text.
func (s *sentence) unmask(text string) string {
	if len(s.masks) == 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if i := int(r - maskBase); i >= 0 && i < len(s.masks) {
			b.WriteString(s.masks[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var (
	// A fenced code block, terminated or not.
	fence = lazyregexp.New("(?s)(?:```|~~~).*?(?:```|~~~|\\z)")
	// Inline code and quotations.
	quotedSpan = lazyregexp.New("`[^`\\n]+`|\"[^\"\\n]{1,400}\"|“[^”\\n]{1,400}”|「[^」\\n]{1,400}」|『[^』\\n]{1,400}』|《[^》\\n]{1,80}》")
	// A line that opens an XML element.
	openLine = lazyregexp.New(`^\s*<([A-Za-z][\w-]*)[^>]*>`)
	// Pasted lines: quotations, tables, diffs, logs, stack traces, prompts, transcripts, comments.
	pastedLine = lazyregexp.New(`^(?:\s{4,}|\t|>|\||\+|@@|diff --git|\$ |#|//|/\*|\s*\*/|--|%|\s*at \S+\(|Traceback` +
		`|Caused by|\s*File "` +
		`|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|(?i:user|assistant|human|ai|system|q|a|用户|助手|问|答)\s*[:：]` +
		`|\s*[{}\[\]]|\s*<|(?i:error|warn|info|debug|fatal)\b[:\s\]])`)
	// The head of a pasted letter or e-mail.
	letterHead = lazyregexp.New(`^(?i:from|to|subject|date|sent|cc|发件人|收件人|主题)\s*[:：]|^(?i:dear)\s+\p{L}|^尊敬的`)
	// An introduction of pasted text on the next lines.
	pasteIntro = lazyregexp.New(`(?i)(?:\b(?:here(?:'s| is| are)|this is|following|below|output|logs?|errors?|e-?mail` +
		`|message|article|text|transcript|says?|said|wrote|translate|summari[sz]e|rewrite|proofread|explain|review` +
		`|example)\b` +
		`|以下|如下|下面|这段|这是|内容|日志|报错|翻译|总结|改写|润色|解释|说|例如|比如)[^:：]*[:：]\s*$`)
	// An introduction of pasted text on the same line.
	inlinePasteIntro = lazyregexp.New(`(?i)(?:\b(?:translate|summari[sz]e|rewrite|proofread|improve|explain|analy[sz]e` +
		`|paraphrase|says?|said|wrote|write|example|sentence|quote)\b|翻译|润色|总结|改写|解释|说|写道|例如|比如|造句|句子` +
		`|原文)[^:：]*[:：]\s*[^\s/]`)
	// An introduction of a list to remember.
	listIntro = lazyregexp.New(`(?i)^(?:please )?(?:remember|note|keep in mind)\b[^:]*:\s*$|^(?:请|请你|帮我)?(?:记住|记一下` +
		`|记下)[^:：]*[:：]\s*$`)
	// A list marker.
	bullet = lazyregexp.New(`^\s*(?:[-*•·]|\d{1,2}[.)、]|[（(]\d{1,2}[)）])\s*`)
	// A sentence that only refuses.
	refusal = lazyregexp.New(`(?i)^(?:no|nope|wrong|that's wrong|that's not right|not like that|不对|不是|错了` +
		`|不是这样的?)[,，.!！。\s]*$`)
	// The start of a question without a question mark.
	questionStart = lazyregexp.New(`(?i)^(?:what|how|why|where|when|who|which|whose|do|does|did|is|are|was|were|can` +
		`|could|would|should|will|shall|have|has|am|any)\b`)
	// Chinese question words and particles.
	questionMarksZh = lazyregexp.New(`(?:吗|呢|么|嘛)$|什么|怎么|怎样|为何|哪里|哪个|哪些|是否|多少|几点|能不能|可不可以|要不要|是不是|有没有|会不会|谁能|请问`)
	// What makes a question of a request in its form only.
	tagQuestion = lazyregexp.New(`(?i)[,，]\s*(?:ok|okay|alright|all right|please|will you|would you)$` +
		`|[，,]?\s*(?:好吗|好不好|好么|行吗)$`)
	// Words of hypotheses and examples.
	hypotheticalWords = lazyregexp.New(`(?i)\b(?:if|unless|suppose|imagine|assum(?:e|ing)|would|could|might|maybe` +
		`|perhaps` +
		`|pretend|hypothetically|let's say|for example|e\.g|wish|as though|in theory|theoretically|in an? (?:perfect|ideal) world)\b` +
		`|^(?:say|had|were) (?:i|we|our|my)\b` +
		`|理论上|理想情况|设想|想象|打个比方|比方说|如果|假如|假设|要是|倘若|万一|比如|例如|也许|可能|或许|假装|举例|的话`)
)

// sentences splits a user's message into sentences in the user's own words, without code, quotations, logs and pasted
// text.
func sentences(content string) (out []sentence) {
	content = fence.ReplaceAllString(content, "\n")
	lines := unquotedLines(content)
	no := false
	for _, l := range lines {
		masked, masks := mask(l.text)
		for _, t := range splitSentences(masked) {
			s := sentence{masks: masks, listed: l.listed, afterRefusal: no}
			end := strings.TrimRight(t, " \t\"'”’)）")
			s.question = strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？")
			s.text = strings.TrimSpace(strings.TrimRight(end, ".!?。！？;； "))
			if cut := tagQuestion.ReplaceAllString(s.text, ""); cut != s.text {
				s.text, s.question = cut, false
			}
			if s.text == "" {
				continue
			}
			no = refusal.MatchString(s.text)
			s.question = s.question || questionStart.MatchString(s.text) || questionMarksZh.MatchString(s.text)
			s.hypothetical = hypotheticalWords.MatchString(s.text)
			out = append(out, s)
		}
	}
	return out
}

// line is one line of a message; listed is true for items of a list to remember.
type line struct {
	text   string
	listed bool
}

// unquotedLines drops quoted and pasted lines of a message.
func unquotedLines(content string) (out []line) {
	skipTag, listed := "", false
	for l := range strings.Lines(content) {
		l = strings.TrimRight(l, "\r\n")
		if skipTag != "" {
			if strings.Contains(l, "</"+skipTag) {
				skipTag = ""
			}
			continue
		}
		if m := openLine.FindStringSubmatch(l); m != nil {
			if !strings.Contains(l, "</"+m[1]) {
				skipTag = m[1]
			}
			continue
		}
		trimmed := strings.TrimSpace(l)
		switch {
		case trimmed == "":
			continue
		case letterHead.MatchString(trimmed):
			return firstAndLastLines(out)
		case listIntro.MatchString(trimmed):
			listed = true
			continue
		case listed && bullet.MatchString(l):
		case pastedLine.MatchString(l):
			continue
		default:
			listed = false
		}
		if inlinePasteIntro.MatchString(trimmed) {
			at := strings.IndexAny(trimmed, ":：")
			out = append(out, line{text: trimmed[:at]})
			return firstAndLastLines(out)
		}
		if pasteIntro.MatchString(trimmed) {
			out = append(out, line{text: strings.TrimRight(trimmed, ":： ")})
			return firstAndLastLines(out)
		}
		out = append(out, line{strings.TrimSpace(bullet.ReplaceAllString(l, "")), listed})
	}
	return firstAndLastLines(out)
}

// firstAndLastLines reduces a message that is too long to be hand-written to its first and last lines.
func firstAndLastLines(lines []line) []line {
	total := 0
	for _, l := range lines {
		total += utf8.RuneCountInString(l.text)
	}
	if len(lines) <= 2*edgeLines || total <= longText && len(lines) <= longLines {
		return lines
	}
	return append(lines[:edgeLines:edgeLines], lines[len(lines)-edgeLines:]...)
}

// mask replaces quotations by private-use characters, in order, and returns the quotations.
func mask(s string) (string, []string) {
	var masks []string
	s = strings.Map(func(r rune) rune { // private-use characters in the text would look like masks
		if unicode.Is(unicode.Co, r) {
			return ' '
		}
		return r
	}, s)
	if !strings.ContainsAny(s, quoteStarts) {
		return strings.ReplaceAll(s, "’", "'"), nil
	}
	s = quotedSpan.ReplaceAllStringFunc(s, func(q string) string {
		if len(masks) == maxMasks {
			return q
		}
		masks = append(masks, q)
		return string(maskBase + rune(len(masks)-1))
	})
	return strings.ReplaceAll(s, "’", "'"), masks
}

// splitSentences splits a line after final punctuation, which stays with its sentence.
func splitSentences(s string) (out []string) {
	runes := []rune(s)
	from := 0
	for i, r := range runes {
		switch r {
		case '。', '！', '？', '；', '!', '?':
		case '.':
			if i+1 < len(runes) && !unicode.IsSpace(runes[i+1]) || abbreviation(string(runes[from:i])) {
				continue
			}
		case ';':
			if i+1 < len(runes) && !unicode.IsSpace(runes[i+1]) {
				continue
			}
		default:
			continue
		}
		out = append(out, string(runes[from:i+1]))
		from = i + 1
	}
	if from < len(runes) {
		out = append(out, string(runes[from:]))
	}
	return out
}

// abbreviation reports whether the text before a full stop ends with an abbreviation.
func abbreviation(before string) bool {
	i := strings.LastIndexAny(before, " (,") + 1
	switch strings.ToLower(before[i:]) {
	case "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "st", "no", "approx", "inc", "ltd":
		return strings.ToLower(before[i:]) != "no" || i > 0 // "No." alone is an answer
	}
	return false
}

var (
	// Filler before a statement. Some words count only with punctuation behind them, because they can also start the
	// statement.
	leadingFiller = lazyregexp.New(`^(?i:(?:hi|hello|hey|ok|okay|well|so|also|and|but|btw|by the way|actually|oh|yes` +
		`|yeah|yep` +
		`|right|sure|thanks|thank you|great|cool|fine|fyi|just so you know|so you know|for context|for background` +
		`|for reference|for the record|for your information|` +
		`honestly|personally|in general|generally|in general terms|one more thing|another thing|in addition` +
		`|additionally|plus|oh and|i think|as i said|as i(?:'ve)? mentioned|as mentioned|like i said|as said` +
		`|again|to be clear|just to be clear|to be precise|now|` +
		`你好|您好|大家好|嗨|哦|嗯|好的|好|对了|另外|顺便说一下|顺便说一句|顺便提一下|顺便一提|顺便|还有|其实|谢谢|总之|一般来说|而且|但是|不过|是的|说明一下|补充一下|补充一点|补充|多说一句` +
		`|再说一点|再说一下|说一下|背景|背景是|如前所述|前面说过|之前说过|再说一遍)(?:[,，!！:：、\s]+)` +
		`|(?:(?:and|also|just|here's|here is|a|an|one|some|another|quick|little|small|bit of|my|more` +
		`|general)\s+)*(?:preference|context|background|note|thing|info|information|fact|detail|point|reminder` +
		`|heads[- ]up|correction|update)s?\s*[:：]\s*)`)
	// The start of another statement inside a sentence; a group holds its first word.
	clauseStart = lazyregexp.New(`(?:[,;]\s+(?:and\s+|but\s+|so\s+)?|\s+(?:and|but)\s+)((?i:I|I'm|my|we|our)\b)` +
		`|[，,；;]\s*(?:而且|并且|另外|还有|但是|但|不过|同时)?(我|咱们|项目)|[，,；;]\s*(?:而且|并且|另外|还有|但是|但|不过|同时)([^，,；;])` +
		`|[,;]\s+(?:and\s+|but\s+)?((?i:the|our) ` + modifiers + part + ` (?:there )?(?:is|are|runs?|lives?|uses?)\b)`)
)

// trimLeadingFiller removes greetings and filler from the start of a sentence.
func trimLeadingFiller(s string) string {
	for {
		m := leadingFiller.FindString(s)
		if m == "" {
			return s
		}
		s = strings.TrimSpace(s[len(m):])
	}
}

// clauses splits a sentence where another statement starts.
func clauses(s string) (out []string) {
	from := 0
	for _, m := range clauseStart.FindAllStringSubmatchIndex(s, -1) {
		start := max(m[2], m[4], m[6], m[8])
		out = append(out, s[from:m[0]])
		from = start
	}
	return append(out, s[from:])
}
