package contract

import (
	_ "embed" // rules.txt
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed rules.txt
var text string

// Rule is one line of rules.txt.
type Rule struct {
	Number string // such as A-RST-3
	Words  string // what it is about
	NotYet string // why it does not apply yet; empty if it applies
}

// Area is what a rule's number begins with, such as A-RST.
func (r Rule) Area() string { return r.Number[:strings.LastIndex(r.Number, "-")] }

// Applies says that a test must cite the rule.
func (r Rule) Applies() bool { return r.NotYet == "" }

var number = regexp.MustCompile(`\b[AB]-[A-Z][A-Z0-9]*-E?[0-9]+\b`)

// Rules are all rules in the contract's order.
func Rules() ([]Rule, error) { return parse(text) }

func parse(text string) ([]Rule, error) {
	var rules []Rule
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "|")
		if len(fields) != 3 {
			return nil, fmt.Errorf("rule %q: want number | words | why it does not apply yet", line)
		}
		rule := Rule{strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1]), strings.TrimSpace(fields[2])}
		if number.FindString(rule.Number) != rule.Number || rule.Words == "" || seen[rule.Number] {
			return nil, fmt.Errorf("rule %q: want a new number and a few words", line)
		}
		seen[rule.Number] = true
		rules = append(rules, rule)
	}
	return rules, nil
}

// Numbers are the rules that a text cites, each once.
func Numbers(text string) []string {
	found := number.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}
