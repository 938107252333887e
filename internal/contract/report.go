package contract

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Report holds the rules against the tests.
type Report struct {
	Areas []Area
	// Missing are the rules that apply and that no test cites.
	Missing []Rule
	// Unknown are citations of rules that there are none of: "file: number".
	Unknown []string
}

// Area counts the rules of one area.
type Area struct {
	Name        string
	Covered     int // of those that apply, cited by a test
	Transcripts int // of those, cited by a transcript
	Applies     int
	NotYet      int
}

// NewReport counts.
func NewReport(rules []Rule, cited map[string][]Citation) Report {
	var r Report
	known := map[string]bool{}
	for _, rule := range rules {
		known[rule.Number] = true
		if len(r.Areas) == 0 || r.Areas[len(r.Areas)-1].Name != rule.Area() {
			r.Areas = append(r.Areas, Area{Name: rule.Area()})
		}
		r.Areas[len(r.Areas)-1].count(rule, cited[rule.Number])
		if rule.Applies() && len(cited[rule.Number]) == 0 {
			r.Missing = append(r.Missing, rule)
		}
	}
	for number, citations := range cited {
		for _, c := range citations {
			if !known[number] {
				r.Unknown = append(r.Unknown, c.File+": "+number)
			}
		}
	}
	slices.Sort(r.Unknown)
	return r
}

func (a *Area) count(rule Rule, citations []Citation) {
	if !rule.Applies() {
		a.NotYet++
		return
	}
	a.Applies++
	if len(citations) > 0 {
		a.Covered++
	}
	if slices.ContainsFunc(citations, func(c Citation) bool { return c.Transcript }) {
		a.Transcripts++
	}
}

// Print writes the table by area, the sums, and what is missing.
func (r Report) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	sum := Area{Name: "all"}
	row := func(a Area) {
		_, _ = fmt.Fprintf(table, "%s\t%d/%d\t%d\t%d\t\n", a.Name, a.Covered, a.Applies, a.Transcripts, a.NotYet) // Flush has the error
	}
	_, _ = fmt.Fprintln(table, "area\tcovered\tby transcripts\tnot applicable yet\t")
	for _, a := range r.Areas {
		row(a)
		sum.Covered, sum.Transcripts = sum.Covered+a.Covered, sum.Transcripts+a.Transcripts
		sum.Applies, sum.NotYet = sum.Applies+a.Applies, sum.NotYet+a.NotYet
	}
	row(sum)
	if err := table.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(to, "\nrules covered: %d, not applicable yet: %d, total: %d\n", sum.Covered, sum.NotYet, sum.Applies+sum.NotYet); err != nil {
		return err
	}
	return r.printMissing(to)
}

func (r Report) printMissing(to io.Writer) error {
	for _, rule := range r.Missing {
		if _, err := fmt.Fprintf(to, "no test cites %s (%s)\n", rule.Number, rule.Words); err != nil {
			return err
		}
	}
	for _, citation := range r.Unknown {
		if _, err := fmt.Fprintf(to, "no such rule: %s\n", citation); err != nil {
			return err
		}
	}
	return nil
}
