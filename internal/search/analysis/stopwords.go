package analysis

import "strings"

// Lexicon holds the word lists of a Tokenizer. It is built once per engine and only read afterwards.
type Lexicon struct {
	stop       map[string]bool   // never indexed
	weak       map[string]bool   // indexed terms (stems) of general use: they alone make no match
	base       map[string]string // irregular form → base
	simplified map[rune]rune     // traditional → simplified character
}

// NewLexicon parses the word lists, about a millisecond.
func NewLexicon() *Lexicon {
	l := &Lexicon{stop: map[string]bool{}, weak: map[string]bool{}, base: map[string]string{},
		simplified: map[rune]rune{}}
	for w := range strings.FieldsSeq(stopWords) {
		l.stop[w] = true
	}
	for w := range strings.FieldsSeq(weakWords) {
		l.weak[Stem(w)] = true
	}
	for line := range strings.Lines(irregular) {
		forms := strings.Fields(line)
		for _, form := range forms[min(1, len(forms)):] {
			l.base[form] = forms[0]
		}
	}
	for w := range strings.FieldsSeq(weakBigrams) {
		l.weak[w] = true
	}
	for pair := range strings.FieldsSeq(traditional) {
		p := []rune(pair)
		for _, t := range p[1:] {
			l.simplified[t] = p[0]
		}
	}
	return l
}

// stopWords are English function words, apostrophes removed.
const stopWords = `
a an the this that these those there here
i im ive me my mine myself we us our ours ourselves weve you your yours yourself yourselves youre youve youll
he him his himself hes she her hers herself shes it its itself they them their theirs themselves theyre theyve
am is are was were be been being isnt arent wasnt werent
do does did doing done dont doesnt didnt have has had having havent hasnt hadnt
can could cant couldnt will would wont wouldnt shall should shouldnt may might must
and or but nor so if then else than as because while until unless though although whether
of at by for with about against between into through during before after above below to from up down in out on off over under
again further once onto upon within without per via
what whats which who whos whom whose when where why how hows
all any both each few more most other others some such only own same too very just also even ever
not no now yes oh ok okay ugh hey hi hello please thanks thank
let lets s t d m etc eg ie
`

// weakWords are English words of general use, which questions about any topic contain.
const weakWords = `
know tell told remember recall mention mentioned say said think thought ask asked wonder wondering talk talked
want wanted need needed like get got go going gone went come came make made take took give given find found see saw seen look
use used using try tried work help show keep put set
good great best better nice new old big little much many lot lots really quite still already always never often sometimes usually
thing things something anything everything nothing someone anyone everyone kind sort type way ways stuff
time times day days today one two first last next back ago recently currently
please question answer explain describe tell actually honestly basically maybe sure right
happen happened name called favorite favourite memory memories user people person feel feeling felt
`

// weakBigrams are Chinese words of general use, written as they are indexed.
const weakBigrams = `
用户 什么 怎么 怎样 如何 为什 哪里 哪儿 哪些 哪个 哪位 哪种 谁的 多少 几个 是否 有没 没有 是不 不是 能不 可不 可以 能够 应该 需要 想要
知道 告诉 记得 记住 提到 提过 说过 说的 曾经 之前 以前 以后 之后 时候 现在 今天 最近 有关 关于 对于 一下 一个 一些 一种 一起 这个 那个 这些 那些 这样 那样 这么 那么
我们 你们 他们 她们 自己 大家 我的 你的 他的 她的 我在 你在 我有 你有 我是 你是 给我 和你 和我 跟你 跟我 我和 我想 我要 我会 我能 请问 请你 你好 谢谢
谈谈 聊聊 介绍 绍一 些人 人们 有人 所有 觉得 感觉 认为 但是 因为 所以 如果 虽然 而且 或者 还是 还有 就是 已经 非常 真的 东西 事情 问题 名字 叫什 么名 么时 么样 的是 了什 是什 是谁 有什 做什 了吗 过吗 的吗 是吗 吗我
`

// functionHan are Chinese characters that carry no topic: unigrams of them are dropped, and bigrams of two of them.
const functionHan = "的了是在我你他她它们这那有和与也就都而及着或一个不没吗呢吧啊呀哦嗯么什之于以为对把被让给从到向往但因所如若则且又还很太更最再才只便即曾过会能可要想说将讲很些此其该每各某哪谁怎几多少上下中里外前后时候去来"
