package memory

import (
	"fmt"
	"strings"
)

// Redaction is one thing that was taken out of a text before it was stored. It says where it stood, and never what it
// was.
type Redaction struct {
	Field    string // of the item, as in a Violation: "content", "tags[2]", "structured_data.login"
	Kind     string // what it looked like: "password", "aws-key"; "private", "recall-block"
	From, To int    // in characters of the field as it was given; To is behind the last one
}

// String is for people; it counts characters from 1.
func (r Redaction) String() string {
	return fmt.Sprintf("%s at characters %d-%d of %s", r.Kind, r.From+1, r.To, r.Field)
}

// maxNamed is how many redactions one line names.
const maxNamed = 10

// Redactions names what was taken out, in one line for people; of many, the first ones and how many follow.
func Redactions(list []Redaction) string {
	var b strings.Builder
	for i, r := range list {
		if i == maxNamed {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.String())
	}
	return b.String()
}
