package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// How a test ends that does not pass. One that is left out is not begun.
const (
	skipped = "skipped"
	failed  = "failed"
	leftOut = "left out"
)

// outcome is how a test has ended, and why.
type outcome struct{ how, why string }

// report is what the tests have come to.
type report struct {
	passed int
	other  map[string]outcome // by name
}

// readReport reads what ginkgo has written.
func readReport(file string) (report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return report{}, err
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeType            string
			LeafNodeText            string
			State                   string
			Failure                 struct{ Message string }
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		return report{}, fmt.Errorf("read %s: %w", file, err)
	}
	r := report{other: map[string]outcome{}}
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			name := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
			first, _, _ := strings.Cut(s.Failure.Message, "\n")
			switch {
			case s.State == "passed" && s.LeafNodeType == "It":
				r.passed++
			case s.State == "passed", s.State == skipped && s.Failure.Message == "": // not a test; not asked for
			case s.State == skipped:
				r.other[name] = outcome{skipped, first}
			default:
				r.other[name] = outcome{failed, s.State + ": " + first}
			}
		}
	}
	if r.passed+len(r.other) == 0 {
		return r, errors.New("no test has run")
	}
	return r, nil
}

func (r report) count(how string) (n int) {
	for _, o := range r.other {
		if o.how == how {
			n++
		}
	}
	return n
}

// print prints what has not passed, by reason, and the counts.
func (r report) print(out io.Writer) {
	for _, how := range []string{skipped, failed} {
		for _, name := range slices.Sorted(maps.Keys(r.other)) {
			if o := r.other[name]; o.how == how {
				fmt.Fprintf(out, "%s: %s: %s\n", how, name, o.why)
			}
		}
	}
	fmt.Fprintf(out, "%d passed, %d skipped, %d failed\n", r.passed, r.count(skipped), r.count(failed))
}

// list is what is expected not to pass, by name.
type list map[string]outcome

// readList reads lines "how | name | why", and comments.
func readList(file string) (list, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l := list{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " | ", 3)
		if len(parts) != 3 || !slices.Contains([]string{skipped, failed, leftOut}, parts[0]) {
			return nil, fmt.Errorf("%s: %q: want HOW | NAME | WHY", file, line)
		}
		l[parts[1]] = outcome{parts[0], parts[2]}
	}
	return l, nil
}

// leftOut is an expression of the names of tests that are not begun.
func (l list) leftOut() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if l[name].how == leftOut {
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	return strings.Join(names, "|")
}

// compare is an error if something else was skipped, or has failed, than is expected. Why one is
// skipped is upstream's to say; why one fails is ours.
func (l list) compare(r report) error {
	var errs []error
	for name, o := range r.other {
		if want := l[name]; want.how != o.how || o.how == skipped && want.why != o.why {
			errs = append(errs, fmt.Errorf("%s, which is not expected: %s: %s", o.how, name, o.why))
		}
	}
	for name, want := range l {
		if _, found := r.other[name]; !found && want.how != leftOut {
			errs = append(errs, fmt.Errorf("passes, which is not expected: %s", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// head is the comment of the list.
const head = `# What does not pass of critest against the carried runtime, and why: see doc.go.
#   skipped   by the test itself, which says why
#   left out  is not begun
#   failed    with the reason in our words
`

// with is the list as a run has found it.
func (l list) with(r report) string {
	lines := []string{}
	for name, o := range r.other {
		if before := l[name]; o.how == failed && before.how == failed {
			o.why = before.why
		}
		lines = append(lines, o.how+" | "+name+" | "+o.why)
	}
	for name, o := range l {
		if o.how == leftOut {
			lines = append(lines, o.how+" | "+name+" | "+o.why)
		}
	}
	slices.Sort(lines)
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}
