package reflector

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/pattern"
)

func name(m []string) string {
	v := strings.TrimSpace(strings.SplitN(value(m[1]), ",", 2)[0])
	if words := strings.Fields(v); len(words) == 0 || len(words) > 4 || !proper.MatchString(v) || strings.Contains(v, " is ") {
		return ""
	}
	return "The user's name is " + v
}

var notIntroduced = pattern.New(`(?i)^(?:ok|okay|done|back|here|sorry|sure|good|fine|glad|happy|german|american|mexican|african|indian|\p{L}+(?:ish|ese|ian|ean)|team|pro|anti)\b`)

// introduced reads "I'm Ann Lee": of one word only what is set off by what follows or is no such word as "German".
func introduced(m []string) string {
	if notIntroduced.MatchString(m[1]) || !proper.MatchString(m[1]) || strings.ToUpper(m[1]) == m[1] {
		return ""
	}
	say := "The user's name is " + m[1]
	if role := value(m[2]); role != "" {
		say += ", " + m[0][len(m[0])-len(m[2])-4:]
		say = strings.Replace(say, ",  ", ", ", 1)
	}
	return their(say)
}

// responsible reads what the user looks after. Without a name or more than a word or two it is something done just now.
func responsible(m []string) string {
	v := value(m[2])
	verb := strings.ToLower(m[1])
	if v == "" || transient.MatchString(v) || verb == "run" && !strings.HasPrefix(v, "the ") && !strings.HasPrefix(v, "a ") {
		return ""
	}
	switch verb {
	case "built", "wrote", "created": // these are as often about the last five minutes
		if !concrete.MatchString(v) {
			return ""
		}
		return their("The user " + verb + " " + v)
	}
	return their("The user " + verb + "s " + v)
}

func personal(m []string) string {
	v := value(m[2])
	if v == "" || passingRe.MatchString(v) {
		return ""
	}
	switch strings.ToLower(m[1]) {
	case "wife", "husband", "partner", "son", "daughter", "dog", "cat", "girlfriend", "boyfriend", "boss", "manager":
		if !proper.MatchString(v) { // "my dog is sick" is news, not a fact
			return ""
		}
	}
	return their("The user's " + m[0][len("my "):])
}

func place(prefix, v string) string {
	if v = value(v); v == "" || !proper.MatchString(v) {
		return ""
	}
	return their(prefix + v)
}

// Where files move to.
var notPlace = pattern.New(`目录|文件|分支|包|模块|仓库|函数|下面|上面|前面|后面|^另|^别|^其他|服务器|集群`)

func placeZh(prefix string) func([]string) string {
	return func(m []string) string {
		v := value(m[1])
		if v == "" || notPlaceZh.MatchString(v) || strings.HasPrefix(v, "校") || strings.HasPrefix(v, "院") || strings.HasPrefix(v, "得") || notPlace.MatchString(v) || strings.HasPrefix(v, "了") {
			return ""
		}
		return themZh(prefix + v)
	}
}

func preferenceZh(m []string) string {
	v := value(m[3])
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
	return themZh("用户" + m[1] + m[2] + v)
}

func projectFact(m []string) string {
	v := value(m[2])
	if v == "" || passingRe.MatchString(v) || len(strings.Fields(v)) > 16 {
		return ""
	}
	return capital(m[0])
}

func task(prefix string) func([]string) string {
	return func(m []string) string {
		v := strings.TrimSpace(m[1])
		if v = strings.Trim(trailing.ReplaceAllString(v, ""), " ,，:："); weight(v) < 4 || vagueRest.MatchString(v) || suggestion.MatchString(v) && isHan(v) && !strings.HasSuffix(v, "一下") {
			return ""
		}
		if isHan(prefix) {
			return themZh(prefix + v)
		}
		return their(prefix + v)
	}
}

var (
	firstEn = pattern.New(`(?i)\b(?:i|i'm|i've|i'll|i'd)\b`)
	ownEn   = pattern.New(`\b(?:my|My|me|mine|myself)\b`)
	ownWord = map[string]string{"my": "their", "My": "Their", "me": "them", "mine": "theirs", "myself": "themselves"}
)

// their turns the remaining first persons of a sentence about the user into third ones.
func their(s string) string {
	return ownEn.ReplaceAllStringFunc(s, func(w string) string { return ownWord[w] })
}

var thirdZh = strings.NewReplacer("我的", "自己的", "给我", "给用户", "跟我", "跟用户", "和我", "和用户", "对我", "对用户", "替我", "替用户", "告诉我", "告诉用户")

func themZh(s string) string { return thirdZh.Replace(s) }
