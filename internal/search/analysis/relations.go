package analysis

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// relations are the words for one relation to a person or pet each, in both languages. A word can be for several:
// English does not tell 姐姐 from 妹妹, and a partner may be a wife.
var relations = [][]string{
	{"wife", "spouse", "partner", "妻子", "老婆", "太太", "爱人", "媳妇"},
	{"husband", "spouse", "partner", "丈夫", "老公", "爱人"},
	{"girlfriend", "partner", "fiancée", "女朋友", "女友", "对象", "未婚妻"},
	{"boyfriend", "partner", "fiancé", "男朋友", "男友", "对象", "未婚夫"},
	{"mother", "mum", "mom", "妈妈", "母亲", "老妈", "妈"},
	{"father", "dad", "爸爸", "父亲", "老爸", "爸"},
	{"parents", "父母", "爸妈"},
	{"sister", "姐姐"}, {"sister", "妹妹"},
	{"brother", "哥哥"}, {"brother", "弟弟"},
	{"son", "儿子"}, {"daughter", "女儿"},
	{"grandmother", "grandma", "奶奶"}, {"grandmother", "grandma", "外婆", "姥姥"},
	{"grandfather", "grandpa", "爷爷"}, {"grandfather", "grandpa", "外公", "姥爷"},
	{"boss", "老板", "上司"}, {"manager", "经理", "主管"}, {"supervisor", "导师"},
	{"colleague", "coworker", "同事"}, {"neighbour", "neighbor", "邻居"}, {"roommate", "flatmate", "室友"},
	{"landlord", "房东"}, {"dog", "puppy", "狗"}, {"cat", "kitten", "猫"},
}

// The patterns are compiled when they are first used: most processes need none.
var (
	ownRelation = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:my|our) (?:[a-z]+ )?(` + relationWords(isLatin) + `)\b` +
			`|我(?:们|家)?的?[大小二]?(` + relationWords(isHanWord) + `)`)
	})
	nameAfter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?i:` + relationWords(isLatin) + `)(?:,| is called| is named| named| called)? ` +
			`(\p{Lu}[\p{L}-]+)|(?:` + relationWords(isHanWord) + `)名?叫(\p{Han}{2,3})`)
	})
	nameBefore = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(\p{Lu}[\p{L}-]+)(?:,| is) (?i:the user's|my|our) (?:[a-z]+ )?(?i:` +
			relationWords(isLatin) + `)\b|(\p{Han}{2,3})是(?:用户|我)的?(?:` + relationWords(isHanWord) + `)`)
	})
	ofSomebody = lazyregexp.New(`\b\p{Lu}[\p{L}-]+['’]s $`)
)

func isLatin(word string) bool   { return word[0] < 0x80 }
func isHanWord(word string) bool { return !isLatin(word) }

// relationWords is an alternation of words, the longest first.
func relationWords(want func(string) bool) string {
	words := slices.DeleteFunc(slices.Concat(relations...), func(w string) bool { return !want(w) })
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	return strings.Join(words, "|")
}

// OwnRelations returns all words for the relations that a query names as those of who asks: "my wife", 我妹妹.
func OwnRelations(query string) (words []string) {
	for _, group := range ownRelation().FindAllStringSubmatch(query, 4) {
		named := strings.ToLower(group[1] + group[2])
		for _, relation := range relations {
			if slices.Contains(relation, named) {
				words = append(words, relation...)
			}
		}
	}
	return words
}

// HoldsRelation reports whether a text has one of the words, and not as a relation of somebody with a name.
func HoldsRelation(text string, words []string) bool {
	lower := strings.Map(func(r rune) rune { // keeps the length
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
	for _, word := range words {
		for at := 0; ; {
			i := strings.Index(lower[at:], word)
			if i < 0 {
				break
			}
			start := at + i
			at = start + len(word)
			whole := !isLatin(word) || (start == 0 || !IsASCIIWord(text[start-1])) && (at == len(text) || !IsASCIIWord(text[at]))
			if whole && (strings.HasSuffix(lower[:start], "user's ") || !ofSomebody.MatchString(text[:start])) {
				return true
			}
		}
	}
	return false
}

// NameOfRelation is the name that a text gives to a relative of the user, "" when it gives none.
func NameOfRelation(text string) string {
	for _, pattern := range []*regexp.Regexp{nameAfter(), nameBefore()} {
		if group := pattern.FindStringSubmatch(text); group != nil {
			return group[1] + group[2]
		}
	}
	return ""
}
