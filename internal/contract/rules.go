package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Rule is one rule of the contract.
type Rule struct {
	Number   string // such as A-RST-3
	Title    string // what it says in one sentence, without the mark-up around it
	Chapter  string // the title of its chapter
	File     string // below docs/contract
	Text     string // Markdown, all of it
	Source   string // Markdown: where Kubernetes does it
	NotOurs  string // Markdown: whose behaviour it is; empty if it is lifepod's
	Untested string // Markdown: why no test proves it; empty if one has to
}

// Area is what a rule's number begins with, such as A-RST.
func (r Rule) Area() string { return r.Number[:strings.LastIndex(r.Number, "-")] }

// Anchor is the rule's place in the documentation, below docs/contract.
func (r Rule) Anchor() string { return r.File + "#" + strings.ToLower(r.Number) }

// What paragraphs of a rule begin with.
const (
	sourceMark   = "*Source:* "
	notOursMark  = "**Not lifepod's:** "
	untestedMark = "**Untested:** "
)

var (
	number    = regexp.MustCompile(`\b[AB]-[A-Z][A-Z0-9]*-E?[0-9]+\b`)
	leadTitle = regexp.MustCompile(`^\*\*([^*]+)\*\*`)
)

// parseRule reads what follows a rule's heading.
func parseRule(rule Rule, text string) (Rule, error) {
	if number.FindString(rule.Number) != rule.Number {
		return rule, fmt.Errorf("rule %q: want a number such as A-RST-3", rule.Number)
	}
	rule.Text = strings.TrimSpace(text)
	title := leadTitle.FindStringSubmatch(rule.Text)
	if title == nil {
		return rule, fmt.Errorf("rule %s: want it to begin with its title in bold", rule.Number)
	}
	rule.Title = strings.TrimRight(strings.ReplaceAll(title[1], "\n", " "), ".,:")
	for paragraph := range strings.SplitSeq(rule.Text, "\n\n") {
		for mark, field := range map[string]*string{sourceMark: &rule.Source, notOursMark: &rule.NotOurs, untestedMark: &rule.Untested} {
			if after, found := strings.CutPrefix(paragraph, mark); found {
				*field = strings.ReplaceAll(after, "\n", " ")
			}
		}
	}
	switch {
	case rule.Source == "":
		return rule, fmt.Errorf("rule %s: want a paragraph that begins with %q", rule.Number, sourceMark)
	case rule.NotOurs != "" && rule.Untested != "":
		return rule, fmt.Errorf("rule %s: it is either untested or another part's", rule.Number)
	}
	return rule, nil
}

// Numbers are the rules that a text cites, each once.
func Numbers(text string) []string {
	found := number.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}
