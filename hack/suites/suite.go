package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// suite is one of suites.yaml.
type suite struct {
	Target   string   `json:"target"`
	Minutes  int      `json:"minutes"`
	Tests    []string `json:"tests"`
	Programs []string `json:"programs"`
	Folders  []string `json:"folders"`
	// Commit must be in the clone; empty: none.
	Commit string `json:"commit"`
}

func load(file string) (suites []suite, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &suites)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return suites, nil
}

func names(suites []suite) string {
	if len(suites) == 0 {
		return "none"
	}
	var all []string
	for _, s := range suites {
		all = append(all, s.Target)
	}
	return strings.Join(all, " ")
}

// everything says whether what has changed is part of all suites: versions of modules, and how tests are run.
func everything(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return path.Base(p) == "go.mod" || p == "Makefile" || below(p, ".ci") ||
			path.Dir(p) == "hack" || below(p, "hack/tools") || below(p, "hack/suites")
	})
}

func below(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// isText says that a path is to be read, and no more: the unit tests hold it against the code.
func isText(p string) bool {
	return slices.Contains([]string{".md", ".png", ".svg"}, path.Ext(p)) || p == "LICENSE"
}

func split(suites []suite, changed []string) (touched, rest []suite, err error) {
	changed = slices.DeleteFunc(slices.Clone(changed), isText)
	for _, s := range suites {
		touches, err := s.touchedBy(changed)
		if err != nil {
			return nil, nil, err
		}
		if touches {
			touched = append(touched, s)
		} else {
			rest = append(rest, s)
		}
	}
	return touched, rest, nil
}

func (s suite) touchedBy(changed []string) (bool, error) {
	if slices.ContainsFunc(changed, func(p string) bool {
		return !isOfTests(p) && slices.ContainsFunc(s.Folders, func(folder string) bool { return below(p, folder) })
	}) {
		return true, nil
	}
	own, err := s.ownFolders()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(changed, func(p string) bool {
		return slices.ContainsFunc(own, func(folder string) bool {
			rest, is := strings.CutPrefix(path.Dir(p)+"/", folder+"/")
			return is && (rest == "" || strings.HasPrefix(rest, "testdata/"))
		})
	}), nil
}

func isOfTests(p string) bool { return below(p, "e2e") || below(p, "cluster/e2e") }

// ownFolders are the folders below e2e and cluster/e2e that the suite's tests are made of, and all that its programs are.
func (s suite) ownFolders() ([]string, error) {
	var own []string
	for _, pattern := range slices.Concat(s.Tests, s.Programs) {
		folders, err := foldersOf(pattern)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			if isOfTests(folder) || slices.Contains(s.Programs, pattern) {
				own = append(own, folder)
			}
		}
	}
	return own, nil
}

// listed keeps what foldersOf has found.
var listed = map[string][]string{}

// foldersOf are the folders of this project that packages and their tests are made of.
func foldersOf(pattern string) ([]string, error) {
	if folders, is := listed[pattern]; is {
		return folders, nil
	}
	const module = "github.com/lifepod/lifepod/"
	dir, flags, packages := ".", "-tags=testmachine", pattern
	if rest, is := strings.CutPrefix(pattern, "./cluster/"); is {
		dir, flags, packages = "cluster", "-tags=attack", "./"+rest
	}
	list := exec.Command("go", "list", flags, "-deps", "-test", "-f", "{{.ImportPath}}", packages)
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s in %s: %w", packages, dir, err)
	}
	var folders []string
	for line := range strings.SplitSeq(string(out), "\n") {
		name, _, _ := strings.Cut(line, " ") // p [p.test] is p, compiled for its tests
		if folder, is := strings.CutPrefix(name, module); is {
			folders = append(folders, folder)
		}
	}
	listed[pattern] = folders
	return folders, nil
}
