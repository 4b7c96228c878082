package reflector

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRuleExamples: the comment above each rule quotes a sentence that this rule accepts.
func TestRuleExamples(t *testing.T) {
	quoted := regexp.MustCompile(`(?m)^\t// "(.*)"\n\tnewRule\(`)
	var examples []string
	for _, name := range []string{"userrules.go", "experience.go", "peoplerules.go", "taskrules.go", "project.go", "correction.go",
		"background.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(source), -1) {
			examples = append(examples, m[1])
		}
	}
	rules := slices.Concat(statementRules, projectRules, correctionRules, insteadRules, backgroundRules)
	if len(examples) != len(rules) {
		t.Fatalf("%d examples of %d rules", len(examples), len(rules))
	}
	for i, r := range rules {
		m := r.re.FindStringSubmatch(examples[i])
		if m == nil || r.phrase != nil && strings.TrimSpace(r.phrase(m)) == "" {
			t.Errorf("rule %d, %s, does not accept %q", i+1, r.name, examples[i])
		}
	}
}
