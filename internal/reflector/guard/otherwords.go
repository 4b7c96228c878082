package guard

// otherWords says, by slot, how else a statement about it is worded. Only slots whose wordings share no word need it: a
// search by words finds the rest.
var otherWords = map[string][]string{
	"user.home":     {"The user lives in", "The user moved to", "用户住在", "用户搬到"},
	"user.employer": {"The user works at", "用户在工作"},
	"user.name":     {"The user's name is", "用户叫"},
}

// OtherWords returns how else what a text states is worded, so that the memory that it corrects is found: who "moved to
// Oslo" no longer "lives in Bergen". It is nil for most texts.
func OtherWords(text string) []string {
	claim := parseClaim(text)
	return otherWords[claim.slot]
}
