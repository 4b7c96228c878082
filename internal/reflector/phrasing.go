package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// userName accepts one to four words that look like a name.
func userName(m []string) string {
	v := strings.TrimSpace(strings.SplitN(cleanValue(m[1]), ",", 2)[0])
	if words := strings.Fields(v); len(words) == 0 || len(words) > 4 || !proper.MatchString(v) ||
		strings.Contains(v, " is ") {
		return ""
	}
	return "The user's name is " + v
}

// notIntroduced are words after "I'm" that are no names.
var notIntroduced = lazyregexp.New(`(?i)^(?:ok|okay|done|back|here|sorry|sure|good|fine|glad|happy|german|american` +
	`|mexican|african|indian|\p{L}+(?:ish|ese|ian|ean)|team|pro|anti)\b`)

// introduction accepts "I'm Ann Lee" but not "I'm German".
func introduction(m []string) string {
	if notIntroduced.MatchString(m[1]) || !proper.MatchString(m[1]) || strings.ToUpper(m[1]) == m[1] {
		return ""
	}
	say := "The user's name is " + m[1]
	if role := cleanValue(m[2]); role != "" {
		say += ", " + m[0][len(m[0])-len(m[2])-4:]
		say = strings.Replace(say, ",  ", ", ", 1)
	}
	return toThirdPerson(say)
}

// responsibility accepts what the user maintains. Past actions count only with a specific object; else they may be a
// minute old.
func responsibility(m []string) string {
	v := cleanValue(m[2])
	verb := strings.ToLower(m[1])
	if v == "" || transient.MatchString(v) || verb == "run" && !strings.HasPrefix(v, "the ") &&
		!strings.HasPrefix(v, "a ") {
		return ""
	}
	switch verb {
	case "built", "wrote", "created": // these often describe the last few minutes
		if !concrete.MatchString(v) {
			return ""
		}
		return toThirdPerson("The user " + verb + " " + v)
	}
	return toThirdPerson("The user " + verb + "s " + v)
}

// personalFact accepts lasting facts about the user's relatives and belongings.
func personalFact(m []string) string {
	v := cleanValue(m[2])
	if v == "" || passingRe.MatchString(v) {
		return ""
	}
	switch strings.ToLower(m[1]) {
	case "wife", "husband", "partner", "son", "daughter", "dog", "cat", "girlfriend", "boyfriend", "boss", "manager":
		if !proper.MatchString(v) { // "my dog is sick" is no lasting fact
			return ""
		}
	}
	return toThirdPerson("The user's " + m[0][len("my "):])
}

// place accepts proper names of places.
func place(prefix, v string) string {
	if v = cleanValue(v); v == "" || !proper.MatchString(v) {
		return ""
	}
	return toThirdPerson(prefix + v)
}

// Destinations of files, not places where people live.
var notPlace = lazyregexp.New(`目录|文件|分支|包|模块|仓库|函数|下面|上面|前面|后面|^另|^别|^其他|服务器|集群`)

// placeZh is place for Chinese.
func placeZh(prefix string) func([]string) string {
	return func(m []string) string {
		v := cleanValue(m[1])
		if v == "" || notPlaceZh.MatchString(v) || strings.HasPrefix(v, "校") || strings.HasPrefix(v, "院") ||
			strings.HasPrefix(v, "得") || notPlace.MatchString(v) || strings.HasPrefix(v, "了") {
			return ""
		}
		return toThirdPersonZh(prefix + v)
	}
}

// preferenceZh accepts preferences of the user, not of a group.
func preferenceZh(m []string) string {
	v := cleanValue(m[3])
	if v == "" || strings.HasSuffix(v, "吗") || strings.HasPrefix(v, "上了") {
		return ""
	}
	if m[2] == "对" {
		if !strings.Contains(v, "过敏") {
			return ""
		}
	}
	if strings.HasPrefix(m[1], "们") {
		return "" // of a group, not of the user
	}
	if strings.HasPrefix(m[3], " ") {
		v = " " + v
	}
	return toThirdPersonZh("用户" + m[1] + m[2] + v)
}

// projectFact accepts lasting facts of at most 16 words, in the user's wording.
func projectFact(m []string) string {
	v := cleanValue(m[2])
	if v == "" || passingRe.MatchString(v) || len(strings.Fields(v)) > 16 {
		return ""
	}
	return capitalize(m[0])
}

// task accepts tasks of a meaningful length that do not refer to another sentence.
func task(prefix string) func([]string) string {
	return func(m []string) string {
		v := strings.TrimSpace(m[1])
		if v = strings.Trim(trailing.ReplaceAllString(v, ""), " ,，:："); letterWeight(v) < 4 ||
			vagueRest.MatchString(v) ||
			suggestion.MatchString(v) && containsHan(v) && !strings.HasSuffix(v, "一下") {
			return ""
		}
		if containsHan(prefix) {
			return toThirdPersonZh(prefix + v)
		}
		return toThirdPerson(prefix + v)
	}
}

var (
	firstEn = lazyregexp.New(`(?i)\b(?:i|i'm|i've|i'll|i'd)\b`)
	ownEn   = lazyregexp.New(`\b(?:my|My|me|mine|myself)\b`)
	ownWord = map[string]string{"my": "their", "My": "Their", "me": "them", "mine": "theirs", "myself": "themselves"}
)

// toThirdPerson converts the remaining first-person words of a sentence about the user.
func toThirdPerson(s string) string {
	return ownEn.ReplaceAllStringFunc(s, func(w string) string { return ownWord[w] })
}

// thirdZh replaces first-person words of Chinese.
var thirdZh = strings.NewReplacer("我的", "自己的", "给我", "给用户", "跟我", "跟用户", "和我", "和用户", "对我", "对用户", "替我", "替用户", "告诉我",
	"告诉用户")

// toThirdPersonZh is toThirdPerson for Chinese.
func toThirdPersonZh(s string) string { return thirdZh.Replace(s) }
