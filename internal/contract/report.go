package contract

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Report holds the rules against the tests.
type Report struct {
	Rules int
	Areas []Area
	// Untested are the rules that are marked so.
	Untested []Rule
	// Errors are what is wrong, in words: rules in none of the three states, or in
	// two; citations of rules that there are none of; too many at one place.
	Errors []string
}

// Area counts the rules of one area.
type Area struct {
	Name        string
	Proven      int
	Transcripts int // of those, proven by a transcript
	Untested    int
	NotOurs     int
}

// NewReport counts.
func NewReport(rules []Rule, citations []Citation) Report {
	r := Report{Rules: len(rules)}
	cited := map[string][]Citation{}
	for _, c := range citations {
		cited[c.Rule] = append(cited[c.Rule], c)
	}
	for _, rule := range rules {
		if len(r.Areas) == 0 || r.Areas[len(r.Areas)-1].Name != rule.Area() {
			r.Areas = append(r.Areas, Area{Name: rule.Area()})
		}
		r.count(&r.Areas[len(r.Areas)-1], rule, cited[rule.Number])
		delete(cited, rule.Number)
	}
	for unknown, places := range cited {
		for _, c := range places {
			r.Errors = append(r.Errors, fmt.Sprintf("%s:%d: there is no rule %s", c.File, c.Line, unknown))
		}
	}
	r.Errors = append(r.Errors, crowded(citations)...)
	slices.Sort(r.Errors)
	return r
}

// count files one rule with the places that cite it.
func (r *Report) count(a *Area, rule Rule, places []Citation) {
	marked := func(mark string) {
		for _, c := range places {
			r.Errors = append(r.Errors, fmt.Sprintf("%s:%d: proves %s, which is marked %q in %s", c.File, c.Line, rule.Number, mark, rule.File))
		}
	}
	switch {
	case rule.NotOurs != "":
		a.NotOurs++
		marked(notOursMark)
	case rule.Untested != "":
		a.Untested++
		r.Untested = append(r.Untested, rule)
		marked(untestedMark)
	case len(places) == 0:
		r.Errors = append(r.Errors, fmt.Sprintf("%s: no test proves %s (%s), and it is marked neither %q nor %q",
			rule.File, rule.Number, rule.Title, untestedMark, notOursMark))
	default:
		a.Proven++
		if slices.ContainsFunc(places, func(c Citation) bool { return c.Transcript }) {
			a.Transcripts++
		}
	}
}

// Print writes the table by area, the sums, and the rules without a test.
func (r Report) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	sum := Area{Name: "all"}
	row := func(a Area) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", a.Name, a.Proven, a.Transcripts, a.Untested, a.NotOurs) // Flush has the error
	}
	_, _ = fmt.Fprintln(table, "area\tproven\tby transcripts\tuntested\tnot ours\t")
	for _, a := range r.Areas {
		row(a)
		sum.Proven, sum.Transcripts = sum.Proven+a.Proven, sum.Transcripts+a.Transcripts
		sum.Untested, sum.NotOurs = sum.Untested+a.Untested, sum.NotOurs+a.NotOurs
	}
	row(sum)
	if err := table.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(to, "\nrules: %d, proven: %d, untested: %d, not ours: %d\n",
		r.Rules, sum.Proven, sum.Untested, sum.NotOurs); err != nil {
		return err
	}
	for _, rule := range r.Untested {
		if _, err := fmt.Fprintf(to, "untested: %s (%s): %s\n", rule.Number, rule.Title, rule.Untested); err != nil {
			return err
		}
	}
	for _, text := range r.Errors {
		if _, err := fmt.Fprintln(to, text); err != nil {
			return err
		}
	}
	return nil
}
