package contract

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Find finds the rule of a number, or all rules of an area. Upper and lower case are
// alike. The error names the nearest rule, if any is near.
func Find(rules []Rule, asked string) ([]Rule, error) {
	name := strings.ToUpper(asked)
	found := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Number != name && r.Area() != name })
	if len(found) > 0 {
		return found, nil
	}
	if meant := near(rules, name); len(meant) > 0 {
		return nil, fmt.Errorf("there is no rule or word %s; did you mean %s?", asked, strings.Join(meant, " or "))
	}
	return nil, fmt.Errorf("there is no rule or word %s: want a number such as A-RST-1, an area such as A-RST, or a word such as CrashLoopBackOff", asked)
}

// near are the numbers that somebody may have meant: those of the most similar area
// with the nearest number.
func near(rules []Rule, name string) []string {
	if !strings.HasPrefix(name, "A-") && !strings.HasPrefix(name, "B-") {
		var both []string
		for _, part := range []string{"A-", "B-"} {
			if slices.ContainsFunc(rules, func(r Rule) bool { return r.Number == part+name || r.Area() == part+name }) {
				both = append(both, part+name)
			}
		}
		if len(both) > 0 {
			return both
		}
	}
	best := slices.MinFunc(rules, func(a, b Rule) int {
		return cmp.Or(similarity(b.Number, name)-similarity(a.Number, name), distance(a, name)-distance(b, name))
	})
	if similarity(best.Number, name) <= len("A-") {
		return nil
	}
	return []string{best.Number}
}

// similarity is how many letters two names begin with alike; digits are compared as
// numbers (distance).
func similarity(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] && (a[n] < '0' || a[n] > '9') {
		n++
	}
	return n
}

// distance is how far a rule's number is from the one that a name ends in.
func distance(rule Rule, name string) int {
	of := func(s string) int {
		n, _ := strconv.Atoi(strings.TrimLeft(s[strings.LastIndex(s, "-")+1:], "E")) // none is 0
		return n
	}
	d := of(rule.Number) - of(name)
	return max(d, -d)
}

// Place is a file that a rule names as its source.
type Place struct {
	File  string   // in Kubernetes' repository, or JobSet's module before its path there
	Names []string // functions, types, variables and constants; none: all of the file
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// Places are the files of the rule's source, each with the names that follow it.
func (r Rule) Places() []Place {
	var places []Place
	for _, span := range codeSpan.FindAllStringSubmatch(r.Source, -1) {
		if strings.Contains(span[1], "/") {
			places = append(places, Place{File: span[1]})
		} else if last := len(places) - 1; last >= 0 {
			places[last].Names = append(places[last].Names, span[1])
		}
	}
	return places
}

// JobSet is the one module besides Kubernetes' own that rules name.
const JobSet = "sigs.k8s.io/jobset"

// Module is the Go module that the file is published in, and its path there. The module is empty if the file is no Go file.
func (p Place) Module() (module, name string) {
	if !strings.HasSuffix(p.File, ".go") {
		return "", p.File
	}
	if name, found := strings.CutPrefix(p.File, JobSet+"/"); found {
		return JobSet, name
	}
	if staged, found := strings.CutPrefix(p.File, "staging/src/"); found {
		parts := strings.SplitN(staged, "/", 3)
		return parts[0] + "/" + parts[1], parts[2]
	}
	return "k8s.io/kubernetes", p.File
}
