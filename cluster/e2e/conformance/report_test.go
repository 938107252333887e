//go:build conformance

package conformance

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// results are upstream's, as ginkgo reports them.
type results struct {
	Cases []result `xml:"testsuite>testcase"`
}

type result struct {
	Name    string   `xml:"name,attr"`
	Status  string   `xml:"status,attr"`
	Seconds float64  `xml:"time,attr"`
	Failure *failure `xml:"failure"`
	Error   *failure `xml:"error"`
}

type failure struct {
	Message string `xml:"message,attr"`
}

// read reads the reports in a folder. When a test has failed ginkgo leaves the cases in
// the file of their program, and the file that it was asked for empty.
func read(dir string) (results, error) {
	var all results
	paths, err := filepath.Glob(filepath.Join(dir, "*junit.xml"))
	if err != nil {
		return all, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return all, err
		}
		var r results
		if err := xml.Unmarshal(text, &r); err != nil {
			return all, fmt.Errorf("%s: %w", path, err)
		}
		all.Cases = append(all.Cases, r.Cases...)
	}
	return all, nil
}

func (r result) why() string {
	if f := cmp.Or(r.Failure, r.Error); f != nil {
		return f.Message
	}
	return r.Status
}

// tests are those that ran, without what prepares them and ends them.
func (r results) tests() []result {
	return slices.DeleteFunc(slices.Clone(r.Cases), func(c result) bool {
		return c.Status == "skipped" || !strings.HasPrefix(c.Name, "[It]")
	})
}

// failed are all that did not pass, what prepares the tests included.
func (r results) failed() []result {
	return slices.DeleteFunc(slices.Clone(r.Cases), func(c result) bool { return c.Status == "skipped" || c.Status == "passed" })
}

var sig = regexp.MustCompile(`\[(sig-[a-z-]+)\]`)

// table counts the tests of each SIG.
func (r results) table() string {
	type count struct{ passed, all int }
	counts := map[string]count{}
	for _, test := range r.tests() {
		group := "none"
		if match := sig.FindStringSubmatch(test.Name); match != nil {
			group = match[1]
		}
		for _, group := range []string{group, "together"} {
			c := counts[group]
			c.all++
			if test.Status == "passed" {
				c.passed++
			}
			counts[group] = c
		}
	}
	var out strings.Builder
	out.WriteString("| SIG | passed | of |\n| --- | ---: | ---: |\n")
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&out, "| %s | %d | %d |\n", group, counts[group].passed, counts[group].all)
	}
	return out.String()
}
