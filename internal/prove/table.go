package prove

import (
	"errors"
	"fmt"
	"strings"
)

// Table is the part of docs/proof.md that follows from the list of bugs.
func Table(bugs []Bug) string {
	var b strings.Builder
	b.WriteString("| bug | reproduced by | the kubelet's rule, as a mistake | lifepod's rule | command |\n| --- | --- | --- | --- | --- |\n")
	for _, bug := range bugs {
		if !bug.Reproducible() {
			continue
		}
		fmt.Fprintf(&b, "| %s: %s | %s (`%s` of `%s`) | %s | %s (%s) | `make prove-issue N=%d` |\n",
			bug.link(), bug.What, bug.Fault, bug.testName(), bug.Package(), bug.Mistake, bug.Ours, strings.Join(bug.Rules, ", "), bug.Number)
	}
	b.WriteString("\nNot reproduced:\n\n| bug | why not |\n| --- | --- |\n")
	for _, bug := range bugs {
		if !bug.Reproducible() {
			fmt.Fprintf(&b, "| %s: %s | %s |\n", bug.link(), bug.What, bug.Why)
		}
	}
	return b.String()
}

func (b Bug) link() string {
	name := "k/k"
	if b.Repository != "" {
		name = b.Repository
	}
	return fmt.Sprintf("[%s#%d](https://github.com/%s/issues/%d)", name, b.Number, b.repository(), b.Number)
}

// testName is the test, or of a transcript its file, which says more.
func (b Bug) testName() string { return strings.TrimPrefix(b.Test, "TestTranscripts/") }

const begin, end = "<!-- The table is written by go run ./hack/prove -table. -->\n\n", "\n<!-- The end of the table. -->\n"

// WithTable is docs/proof.md with the table of these bugs.
func WithTable(document string, bugs []Bug) (string, error) {
	before, rest, begins := strings.Cut(document, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", errors.New("docs/proof.md has no place for the table")
	}
	return before + begin + Table(bugs) + end + after, nil
}
