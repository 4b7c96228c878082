package reflector

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

// sentence is one statement of a user's message. In text, quoted passages and inline code are masked by single private-use
// characters, so that no rule reads a statement into what somebody else said.
type sentence struct {
	text         string
	masks        []string
	question     bool
	hypothetical bool
	listed       bool // an item of a list the user asked to remember
	afterNo      bool // the sentence before said no
}

const (
	maskBase  = '\uE000'
	maxMasks  = 2000
	longText  = 6000 // characters of prose from which only the start and the end are taken for the user's own words
	longLines = 80
	edgeLines = 5
)

// restore puts the quoted passages back.
func (s *sentence) restore(text string) string {
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
	fence    = pattern.New("(?s)(?:```|~~~).*?(?:```|~~~|\\z)")
	quotes   = pattern.New("`[^`\\n]+`|\"[^\"\\n]{1,400}\"|“[^”\\n]{1,400}”|「[^」\\n]{1,400}」|『[^』\\n]{1,400}』|《[^》\\n]{1,80}》")
	openLine = pattern.New(`^\s*<([A-Za-z][\w-]*)[^>]*>`)
	// Lines that come from somewhere else: quotations, tables, diffs, logs, stack traces, prompts, transcripts, comments.
	foreign = pattern.New(`^(?:\s{4,}|\t|>|\||\+|@@|diff --git|\$ |#|//|/\*|\s*\*/|--|%|\s*at \S+\(|Traceback|Caused by|\s*File "` +
		`|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|(?i:user|assistant|human|ai|system|q|a|用户|助手|问|答)\s*[:：]|\s*[{}\[\]]|\s*<|(?i:error|warn|info|debug|fatal)\b[:\s\]])`)
	letterHead = pattern.New(`^(?i:from|to|subject|date|sent|cc|发件人|收件人|主题)\s*[:：]|^(?i:dear)\s+\p{L}|^尊敬的`)
	// What follows a line like these was pasted.
	pasteCue = pattern.New(`(?i)(?:\b(?:here(?:'s| is| are)|this is|following|below|output|logs?|errors?|e-?mail|message|article|text|transcript|says?|said|wrote|translate|summari[sz]e|rewrite|proofread|explain|review|example)\b` +
		`|以下|如下|下面|这段|这是|内容|日志|报错|翻译|总结|改写|润色|解释|说|例如|比如)[^:：]*[:：]\s*$`)
	inlineCue = pattern.New(`(?i)(?:\b(?:translate|summari[sz]e|rewrite|proofread|improve|explain|analy[sz]e|paraphrase|says?|said|wrote|write|example|sentence|quote)\b|翻译|润色|总结|改写|解释|说|写道|例如|比如|造句|句子|原文)[^:：]*[:：]\s*[^\s/]`)
	listCue   = pattern.New(`(?i)^(?:please )?(?:remember|note|keep in mind)\b[^:]*:\s*$|^(?:请|请你|帮我)?(?:记住|记一下|记下)[^:：]*[:：]\s*$`)
	bullet    = pattern.New(`^\s*(?:[-*•·]|\d{1,2}[.)、]|[（(]\d{1,2}[)）])\s*`)
	refuses   = pattern.New(`(?i)^(?:no|nope|wrong|that's wrong|that's not right|not like that|不对|不是|错了|不是这样的?)[,，.!！。\s]*$`)
	asks      = pattern.New(`(?i)^(?:what|how|why|where|when|who|which|whose|do|does|did|is|are|was|were|can|could|would|should|will|shall|have|has|am|any)\b`)
	asksZh    = pattern.New(`(?:吗|呢|么|嘛)$|什么|怎么|怎样|为何|哪里|哪个|哪些|是否|多少|几点|能不能|可不可以|要不要|是不是|有没有|会不会|谁能|请问`)
	supposes  = pattern.New(`(?i)\b(?:if|unless|suppose|imagine|assum(?:e|ing)|would|could|might|maybe|perhaps|pretend|hypothetically|let's say|for example|e\.g|wish|as though)\b|如果|假如|假设|要是|倘若|万一|比如|例如|也许|可能|或许|假装|举例|的话`)
)

// sentences splits a user's message into what the user says in their own words: no code, quotations, logs or pasted text.
func sentences(content string) (out []sentence) {
	content = fence.ReplaceAllString(content, "\n")
	lines := ownLines(content)
	no := false
	for _, l := range lines {
		masked, masks := mask(l.text)
		for _, t := range split(masked) {
			s := sentence{masks: masks, listed: l.listed, afterNo: no}
			end := strings.TrimRight(t, " \t\"'”’)）")
			s.question = strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？")
			s.text = strings.TrimSpace(strings.TrimRight(end, ".!?。！？;； "))
			if s.text == "" {
				continue
			}
			no = refuses.MatchString(s.text)
			s.question = s.question || asks.MatchString(s.text) || asksZh.MatchString(s.text)
			s.hypothetical = supposes.MatchString(s.text)
			out = append(out, s)
		}
	}
	return out
}

type line struct {
	text   string
	listed bool
}

// ownLines drops what a message quotes or pastes.
func ownLines(content string) (out []line) {
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
			return edges(out)
		case listCue.MatchString(trimmed):
			listed = true
			continue
		case listed && bullet.MatchString(l):
		case foreign.MatchString(l):
			continue
		default:
			listed = false
		}
		if inlineCue.MatchString(trimmed) {
			at := strings.IndexAny(trimmed, ":：")
			out = append(out, line{text: trimmed[:at]})
			return edges(out)
		}
		if pasteCue.MatchString(trimmed) {
			out = append(out, line{text: strings.TrimRight(trimmed, ":： ")})
			return edges(out)
		}
		out = append(out, line{strings.TrimSpace(bullet.ReplaceAllString(l, "")), listed})
	}
	return edges(out)
}

// edges keeps the first and the last lines of a message too long to have been written by hand.
func edges(lines []line) []line {
	total := 0
	for _, l := range lines {
		total += utf8.RuneCountInString(l.text)
	}
	if len(lines) <= 2*edgeLines || total <= longText && len(lines) <= longLines {
		return lines
	}
	return append(lines[:edgeLines:edgeLines], lines[len(lines)-edgeLines:]...)
}

func mask(s string) (string, []string) {
	var masks []string
	s = strings.Map(func(r rune) rune { // nobody's text may look like a mask
		if unicode.Is(unicode.Co, r) {
			return ' '
		}
		return r
	}, s)
	s = quotes.ReplaceAllStringFunc(s, func(q string) string {
		if len(masks) == maxMasks {
			return q
		}
		masks = append(masks, q)
		return string(maskBase + rune(len(masks)-1))
	})
	return strings.ReplaceAll(s, "’", "'"), masks
}

// split cuts a line behind closing punctuation, which stays.
func split(s string) (out []string) {
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

func abbreviation(before string) bool {
	i := strings.LastIndexAny(before, " (,") + 1
	switch strings.ToLower(before[i:]) {
	case "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "st", "no", "approx", "inc", "ltd":
		return strings.ToLower(before[i:]) != "no" || i > 0 // "No." alone is an answer
	}
	return false
}

var (
	// Words before a statement that say nothing themselves; some only when a mark follows, lest the statement lose its start.
	lead = pattern.New(`^(?i:(?:hi|hello|hey|ok|okay|well|so|also|and|but|btw|by the way|actually|oh|yes|yeah|yep|right|sure|thanks|thank you|great|cool|fine|fyi|just so you know|so you know|for context|for background|for reference|for the record|for your information|` +
		`honestly|personally|in general|generally|in general terms|one more thing|another thing|in addition|additionally|plus|oh and|i think|as i said|as i(?:'ve)? mentioned|as mentioned|like i said|as said|again|to be clear|just to be clear|to be precise|now|` +
		`你好|您好|大家好|嗨|哦|嗯|好的|好|对了|另外|顺便说一下|顺便说一句|顺便提一下|顺便一提|顺便|还有|其实|谢谢|总之|一般来说|而且|但是|不过|是的|说明一下|补充一下|补充一点|补充|多说一句|再说一点|再说一下|说一下|背景|背景是|如前所述|我说过|前面说过|之前说过|再说一遍)(?:[,，!！:：、\s]+)` +
		`|(?:(?:and|also|just|here's|here is|a|an|one|some|another|quick|little|small|bit of|my|more|general)\s+)*(?:preference|context|background|note|thing|info|information|fact|detail|point|reminder|heads[- ]up|correction|update)s?\s*[:：]\s*)`)
	// Where a new statement starts inside a sentence; group 1 is its first word.
	clauseStart = pattern.New(`(?:[,;]\s+(?:and\s+|but\s+|so\s+)?|\s+(?:and|but)\s+)((?i:I|I'm|my|we|our)\b)|[，,；;]\s*(?:而且|并且|另外|还有|但是|但|不过|同时)?(我|咱们|项目)|[，,；;]\s*(?:而且|并且|另外|还有|但是|但|不过|同时)([^，,；;])|[,;]\s+(?:and\s+|but\s+)?((?i:the|our) ` + modifiers + part + ` (?:there )?(?:is|are|runs?|lives?|uses?)\b)`)
)

// trimLead takes greetings and the like off the start of a sentence.
func trimLead(s string) string {
	for {
		m := lead.FindString(s)
		if m == "" {
			return s
		}
		s = strings.TrimSpace(s[len(m):])
	}
}

// clauses cuts a sentence where another statement in the first person starts.
func clauses(s string) (out []string) {
	from := 0
	for _, m := range clauseStart.FindAllStringSubmatchIndex(s, -1) {
		start := max(m[2], m[4], m[6], m[8])
		out = append(out, s[from:m[0]])
		from = start
	}
	return append(out, s[from:])
}
