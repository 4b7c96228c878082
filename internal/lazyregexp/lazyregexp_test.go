package lazyregexp_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// TestLikeRegexp compares the methods with those they stand for.
func TestLikeRegexp(t *testing.T) {
	const expr, text = `(?P<key>\w+)=(\d+)`, "a=1, bc=22; d=x"
	p, re := lazyregexp.New(expr), regexp.MustCompile(expr)
	for name, pair := range map[string][2]any{
		"String":                     {p.String(), re.String()},
		"MatchString":                {p.MatchString(text), re.MatchString(text)},
		"FindString":                 {p.FindString(text), re.FindString(text)},
		"FindStringIndex":            {p.FindStringIndex(text), re.FindStringIndex(text)},
		"FindStringSubmatch":         {p.FindStringSubmatch(text), re.FindStringSubmatch(text)},
		"FindStringSubmatchIndex":    {p.FindStringSubmatchIndex(text), re.FindStringSubmatchIndex(text)},
		"FindAllString":              {p.FindAllString(text, 1), re.FindAllString(text, 1)},
		"FindAllStringIndex":         {p.FindAllStringIndex(text, -1), re.FindAllStringIndex(text, -1)},
		"FindAllStringSubmatch":      {p.FindAllStringSubmatch(text, -1), re.FindAllStringSubmatch(text, -1)},
		"FindAllStringSubmatchIndex": {p.FindAllStringSubmatchIndex(text, -1), re.FindAllStringSubmatchIndex(text, -1)},
		"ReplaceAllString":           {p.ReplaceAllString(text, "$2"), re.ReplaceAllString(text, "$2")},
		"ReplaceAllStringFunc": {p.ReplaceAllStringFunc(text, strconv.Quote),
			re.ReplaceAllStringFunc(text, strconv.Quote)},
		"Split":       {p.Split(text, 2), re.Split(text, 2)},
		"SubexpIndex": {p.SubexpIndex("key"), re.SubexpIndex("key")},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-regexp +lazyregexp):\n%s", name, diff)
		}
	}
}

// TestAllCompile finds an invalid expression before its first use. An expression built from constants is left out: the
// tests of its package compile it.
func TestAllCompile(t *testing.T) {
	if found := len(lazyregexp.Expressions(t)); found < 50 {
		t.Errorf("only %d expressions were found", found)
	}
}
