package contract

import (
	"regexp"
	"strings"
)

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
