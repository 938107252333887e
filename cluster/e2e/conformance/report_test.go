//go:build conformance

package conformance

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
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

func read(path string) (results, error) {
	var r results
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	return r, xml.Unmarshal(text, &r)
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
