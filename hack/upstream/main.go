// Upstream prints what a newer version of Kubernetes has changed of what lifepod follows: the to-do list of that version.
//
//	go run ./hack/upstream [-all] OLD NEW
//
// OLD, such as v1.36.3, is the version that the contract is of. Each change has a line, with the rules to read again:
//
//   - source: a declaration that rules name as their source;
//   - changed: another one in the same packages; its rules are those whose source uses it;
//   - new: one that OLD does not have;
//   - gate: a feature gate of another stage or default; its rules are those that name it;
//   - field: a field of Pod, or of what it is made of, or of KubeletConfiguration;
//   - reason: a constant as reasons, events and conditions are.
//
// Comments, logging, line breaks, and types that are neither stored nor sent do not count. What has a decision in
// docs/contract/upstream/NEW.yaml is printed by -all only. The program fails if OLD does not have a rule's source, or if a
// decision is of no change.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/internal/contract"
)

func main() {
	all := flag.Bool("all", false, "print what has a decision, too")
	flag.Parse()
	if err := run(flag.Arg(0), flag.Arg(1), *all); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

var release = regexp.MustCompile(`^v1\.[0-9]+\.[0-9]+$`)

func run(before, after string, all bool) error {
	if !release.MatchString(before) || !release.MatchString(after) {
		return fmt.Errorf("want two versions of Kubernetes such as v1.36.3, got %q and %q", before, after)
	}
	rules, err := contract.Rules()
	if err != nil {
		return err
	}
	file := "docs/contract/upstream/" + after + ".yaml"
	decided, err := readDecisions(file)
	if err != nil {
		return err
	}
	c := comparison{packages: packagesOf(rules), rules: rules}
	if c.old, err = download(before, c.packages); err != nil {
		return err
	}
	if c.new, err = download(after, c.packages); err != nil {
		return err
	}
	items, err := c.items()
	if err != nil {
		return err
	}
	open := decided.print(os.Stdout, items, all)
	if len(items) > 0 {
		fmt.Printf("%d to decide, %d decided in %s\n", open, len(items)-open, file)
	}
	for _, i := range items {
		delete(decided, i.key())
	}
	if before == after { // only what rules name is looked up
		clear(decided)
	}
	for _, key := range slices.Sorted(maps.Keys(decided)) {
		c.wrong = append(c.wrong, fmt.Sprintf("%s: %s is no change", file, key))
	}
	if len(c.wrong) > 0 {
		return errors.New(strings.Join(c.wrong, "\nupstream: "))
	}
	return nil
}

type tree struct{ cache, version string }

// module is the module that a folder of Kubernetes' repository is in, with its version, and where the folder is there.
func (t tree) module(dir string) (module, below string) {
	module, file := contract.Place{File: dir + "/.go"}.Module()
	if module == "k8s.io/kubernetes" {
		return module + "@" + t.version, path.Dir(file)
	}
	return module + "@v0" + strings.TrimPrefix(t.version, "v1"), path.Dir(file)
}

func (t tree) folder(dir string) string {
	module, below := t.module(dir)
	return filepath.Join(t.cache, module, below)
}

// download downloads the modules that packages are in, as far as the module cache does not have them.
func download(version string, packages map[string]*pkg) (tree, error) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return tree{}, fmt.Errorf("find the module cache: %w", err)
	}
	t := tree{strings.TrimSpace(string(cache)), version}
	modules := map[string]bool{}
	for dir := range packages {
		module, _ := t.module(dir)
		modules[module] = true
	}
	get := exec.Command("go", append([]string{"mod", "download"}, slices.Sorted(maps.Keys(modules))...)...)
	get.Dir = t.cache // outside of lifepod's module, whose go.sum would be written
	if out, err := get.CombinedOutput(); err != nil {
		return t, fmt.Errorf("download Kubernetes %s: %w: %s", version, err, out)
	}
	return t, nil
}
