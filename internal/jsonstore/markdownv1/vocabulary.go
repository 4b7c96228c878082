package markdownv1

import (
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// What a heading may mean beside a category.
const (
	summary = "(summary)"
	title   = "(title)" // says only what the file is
)

// headingWords maps what headings and labels say, in lower case, to a category, summary or title.
var headingWords = invert(map[string]string{
	memory.Preferences: "preferences,preference,prefs,likes,dislikes,likes and dislikes,habits,style,偏好," +
		"喜好,习惯,爱好,偏好设置,喜欢",
	memory.Facts: "facts,fact,key facts,important facts,important,key,knowledge,profile,about,about the user," +
		"background,information,info," +
		"事实,重要事实,关键事实,知识,资料,背景,基本信息,个人信息,信息,档案,画像",
	memory.Tasks: "tasks,task,todo,todos,to do,to dos,todo list,to do list,reminders,reminder," +
		"action items,open tasks,任务,待办,待办事项,任务备忘,待办任务,提醒,备忘,备忘录",
	memory.Reflections: "reflections,reflection,lessons,lessons learned,lessons learnt,insights,insight," +
		"learnings,反思,反思日志,反思总结,教训,经验教训,感悟,心得,洞察",
	memory.Procedural: "procedural,procedure,procedures,skills,proven skills,tools,tool usage," +
		"tool experience,tool lessons,how to,howto,workflow,workflows,know how," +
		"best practices,rules,程序,程序性,经验,工具,工具经验,工具使用,工具使用经验,流程,技能,操作步骤,规则,最佳实践,环境特性",
	memory.General: "general,misc,miscellaneous,other,others,notes,uncategorized,通用,通用信息,其他,其它,杂项,笔记,备注,未分类,一般",
	summary:        "summary,rolling summary,overview,摘要,滚动摘要,概要,概述,总结,小结,总览",
	title: "memory,memories,memory md,long term memory,persistent memory,agent memory," +
		"core memory,记忆,长期记忆,持久记忆,记忆库,核心记忆,记忆文件," +
		"log,logs,daily log,daily logs,journal,diary,日志,每日日志,日记,工作日志",
})

// entryTypes maps such words to the types of log entries.
var entryTypes = invert(map[string]string{
	memory.EntryEvent:          "event,events,事件,活动,记录",
	memory.EntryAutoExtract:    "auto_extract,auto extract,auto extracted,autoextract,extracted,自动提取,提取,记忆提取",
	memory.EntryReflection:     "reflection,reflections,反思,自我反思",
	memory.EntryToolFailure:    "tool_failure,tool failure,tool failures,tool error,tool failed,工具失败,工具错误,工具调用失败",
	memory.EntryCorrection:     "correction,corrections,user correction,纠正,用户纠正,更正",
	memory.EntrySessionSummary: "session_summary,session summary,summary,daily summary,摘要,总结,会话摘要,会话总结,今日总结,今日摘要,小结",
})

// invert makes a map from each word of the comma-separated lists to the key of its list.
func invert(lists map[string]string) map[string]string {
	out := map[string]string{}
	for meaning, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			out[word] = meaning
		}
	}
	return out
}

var (
	numbering   = lazyregexp.New(`^(?:\d{1,3}|[一二三四五六七八九十]{1,3})(?:[.)、．:：]|\s)\s*`)
	brackets    = lazyregexp.New(`[(（\[【]([^()（）\[\]【】]*)[)）\]】]`)
	conjunction = lazyregexp.New(`\s*(?:[/|·&,，、:：]|\s-\s|—|\sand\s|和|与|及)\s*`)
	spaces      = lazyregexp.New(`[\s_\-]+`)
	ownerPrefix = lazyregexp.New(`^(?:user's|user’s|users|user|my|the|known|current|用户的|用户|我的|已知)\s*`)
	listSuffix  = lazyregexp.New(`\s*(?:memories|memory|list|section|entries|notes?|memos?|reminders?|items?|logs?|` +
		`journal|information|info|记忆|列表|部分|类|备忘|日志|记录|笔记|事项|信息)$`)
	lastWord = lazyregexp.New(`([A-Za-z]+|偏好|事实|任务|待办|反思|教训|经验)$`)
)

// normalizeLabel reduces a heading or label to the form of the maps' keys.
func normalizeLabel(text string) string {
	text = strings.TrimFunc(
		strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) },
	)
	return spaces.ReplaceAllString(text, " ")
}

// meaning returns what one word or phrase means, "" when it is unknown.
func meaning(word string) string {
	word = normalizeLabel(word)
	for _, w := range []string{word, ownerPrefix.ReplaceAllString(word, ""), listSuffix.ReplaceAllString(word, ""),
		listSuffix.ReplaceAllString(ownerPrefix.ReplaceAllString(word, ""), "")} {
		if m := headingWords[w]; m != "" {
			return m
		}
	}
	return ""
}

// maxHeading is how many bytes a heading may have to name what is below it.
const maxHeading = 300

// classify returns what a heading means, "" when it is unknown. whole is false when only a part of it is
// understood.
func classify(heading string) (m string, whole bool) {
	if len(heading) > maxHeading {
		return "", false
	}
	heading = numbering.ReplaceAllString(strings.TrimFunc(heading, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune(`()（）[]【】`, r) || unicode.IsSymbol(r)
	}), "")
	if m := meaning(heading); m != "" {
		return m, true
	}
	parts := []string{brackets.ReplaceAllString(heading, " ")}
	for _, inside := range brackets.FindAllStringSubmatch(heading, -1) {
		parts = append(parts, inside[1])
	}
	whole = true
	for _, part := range parts {
		if p := meaning(part); p != "" {
			m = preferCategory(m, p)
			continue
		}
		for _, word := range conjunction.Split(part, -1) {
			if p := meaning(word); p != "" {
				m = preferCategory(m, p)
			} else if !blank(word) {
				whole = false
			}
		}
	}
	if m == "" { // "Project facts", 编码偏好: the rest of the heading is worth a tag
		if m = category(lastWord.FindString(strings.TrimSpace(parts[0]))); m == memory.General {
			m = "" // "My notes" may hold anything
		}
	}
	return m, whole && m != ""
}

// preferCategory returns the first meaning found, but a title gives way.
func preferCategory(m, next string) string {
	if m == "" || m == title {
		return next
	}
	return m
}

// category returns the category that a label means, "" for none.
func category(label string) string {
	if m := meaning(label); m != summary && m != title {
		return m
	}
	return ""
}
