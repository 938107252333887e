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
	Opening  string // Markdown: the title, and what it introduces
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
	number = regexp.MustCompile(`\b[AB]-[A-Z][A-Z0-9]*-E?[0-9]+\b`)
	// introduced is how a table, a list or a block of code begins.
	introduced = regexp.MustCompile("^(\\||- |[0-9]+\\. |" + fence + ")")
	leadTitle  = regexp.MustCompile(`^\*\*([^*]+)\*\*`)
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
	paragraphs := strings.Split(rule.Text, "\n\n")
	rule.Opening = opening(title[1], paragraphs)
	for _, paragraph := range paragraphs {
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

// opening is as much of a rule as says something by itself: the title if it is a whole sentence, else its paragraph. A list,
// table or code that follows belongs to it, with the paragraphs up to the next one that begins with a mark.
func opening(title string, paragraphs []string) string {
	switch {
	case len(paragraphs) > 1 && introduced.MatchString(paragraphs[1]):
		end := slices.IndexFunc(paragraphs[1:], func(p string) bool { return strings.HasPrefix(p, "*") })
		if end < 0 {
			end = len(paragraphs) - 1
		}
		return strings.Join(paragraphs[:1+end], "\n\n")
	case !strings.HasSuffix(title, "."):
		return paragraphs[0]
	}
	return strings.ReplaceAll(title, "\n", " ")
}

// Numbers are the rules that a text cites, each once.
func Numbers(text string) []string {
	found := number.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}
