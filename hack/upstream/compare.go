package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/lifepod/lifepod/internal/contract"
)

// item is a change.
type item struct {
	kind, name string
	rules      []string
	text       string // what differs
}

// key is what a decision is by.
func (i item) key() string { return i.kind + " " + i.name }

// pkg is a package in both versions.
type pkg struct {
	files    []string // only these, of upstream's tests; nil: all
	cited    []citation
	old, new declarations
}

// citation is a file that a rule names as its source.
type citation struct {
	rule, file string
	names      []string // none: all of the file
}

// Packages that are compared whether rules name them or not.
const (
	coreTypes   = "staging/src/k8s.io/api/core/v1"
	configTypes = "staging/src/k8s.io/kubelet/config/v1beta1"
	defaults    = "pkg/kubelet/apis/config/v1beta1"
	features    = "pkg/features"
)

// onlySources are packages of which nothing but rules' sources is compared: fields and gates are items of their own, lifepod
// compiles upstream's validation and defaults, and `lifepod up` has upstream's control plane.
var onlySources = regexp.MustCompile(`^(` + coreTypes + `|` + configTypes + `|` + features +
	`|test|plugin|pkg/(apis?|controller|printers|registry|scheduler)|staging/src/k8s\.io/(apiserver|endpointslice))(/|$)`)

// packagesOf are the packages by their folders in Kubernetes' repository.
func packagesOf(rules []contract.Rule) map[string]*pkg {
	packages := map[string]*pkg{coreTypes: {}, configTypes: {}, defaults: {}, features: {}}
	for _, rule := range rules {
		for _, place := range rule.Places() {
			if module, _ := place.Module(); !strings.HasPrefix(module, "k8s.io/") {
				continue
			}
			dir, file := path.Dir(place.File), path.Base(place.File)
			if packages[dir] == nil {
				packages[dir] = &pkg{}
			}
			p := packages[dir]
			p.cited = append(p.cited, citation{rule.Number, file, place.Names})
			if strings.HasPrefix(dir, "test/") {
				p.files = append(p.files, file)
			}
		}
	}
	return packages
}

// comparison compares two versions.
type comparison struct {
	old, new tree
	packages map[string]*pkg
	rules    []contract.Rule
	wrong    []string // sources that the old version does not have, in words
}

// items are all changes, by kind and package.
func (c *comparison) items() ([]item, error) {
	var items []item
	for _, dir := range slices.Sorted(maps.Keys(c.packages)) {
		p := c.packages[dir]
		var errs [2]error
		p.old, errs[0] = load(c.old.folder(dir), p.files)
		p.new, errs[1] = load(c.new.folder(dir), p.files)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		all := !onlySources.MatchString(dir)
		items = append(items, c.declarations(dir, p, all)...)
		if all || dir == coreTypes {
			items = append(items, differences("reason", short(dir)+" ", reasons(p.old), reasons(p.new))...)
		}
	}
	for _, gate := range differences("gate", "", gates(c.packages[features].old), gates(c.packages[features].new)) {
		for _, rule := range c.rules {
			if hasWord(gate.name, rule.Text) {
				gate.rules = append(gate.rules, rule.Number)
			}
		}
		items = append(items, gate)
	}
	for _, of := range []struct {
		dir   string
		roots []string
	}{{coreTypes, []string{"PodSpec", "PodStatus"}}, {configTypes, []string{"KubeletConfiguration"}}} {
		p := c.packages[of.dir]
		items = append(items, differences("field", "", fields(p.old, of.roots...), fields(p.new, of.roots...))...)
	}
	slices.Sort(c.wrong)
	kinds := []string{"source", "changed", "new", "gate", "field", "reason"}
	slices.SortStableFunc(items, func(a, b item) int { return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind) })
	return items, nil
}

// declarations compares those of a package, or only the sources of rules.
func (c *comparison) declarations(dir string, p *pkg, all bool) []item {
	cited := c.resolve(dir, p)
	var items []item
	both := maps.Clone(p.old)
	maps.Copy(both, p.new)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		before, had := p.old[key]
		after, has := p.new[key]
		name := short(dir) + " " + key
		of, method, _ := strings.Cut(key, ".")
		_, ofOld := p.old[of]
		switch {
		case same(before.text, after.text) || isGates(both[key].node):
		case cited[key] != nil:
			items = append(items, item{"source", name, cited[key], difference(before.text, after.text)})
		case !all || both[key].name == "_" || isReason(both[key].node):
		case had && has && isInternal(before): // what it changes is in the functions
		case had && has:
			items = append(items, item{"changed", name, p.using(cited, both[key].name), difference(before.text, after.text)})
		case has && (method == "" || ofOld): // the methods of a new type are part of it
			head, _, _ := strings.Cut(after.text, "\n")
			items = append(items, item{"new", name, p.using(cited, both[key].name), head + "\n"})
		}
	}
	return items
}

// resolve finds the rules of each old declaration that rules name.
func (c *comparison) resolve(dir string, p *pkg) map[string][]string {
	rules := map[string][]string{}
	for _, cited := range p.cited {
		missing := map[string]bool{"declaration": true}
		for _, name := range cited.names {
			missing[name] = true
		}
		for key, d := range p.old {
			if d.file != cited.file {
				continue
			}
			delete(missing, "declaration")
			if cited.names == nil || slices.Contains(cited.names, d.name) {
				rules[key] = append(rules[key], cited.rule)
				delete(missing, d.name)
			}
		}
		for _, d := range p.new { // a rule of the new version names what that has
			if d.file == cited.file {
				delete(missing, "declaration")
				delete(missing, d.name)
			}
		}
		for name := range missing {
			c.wrong = append(c.wrong, fmt.Sprintf("%s: no %s in %s/%s", cited.rule, name, dir, cited.file))
		}
	}
	return rules
}

// using are the rules that have a name in their source.
func (p *pkg) using(cited map[string][]string, name string) []string {
	var rules []string
	for key, of := range cited {
		if hasWord(name, p.old[key].text) || hasWord(name, p.new[key].text) {
			rules = append(rules, of...)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func hasWord(word, text string) bool {
	return strings.Contains(text, word) && regexp.MustCompile(`\b`+word+`\b`).MatchString(text)
}

// short is the name of a package in items.
func short(dir string) string { return strings.TrimPrefix(dir, "staging/src/") }

// difference is what differs between two texts, as diff -u has it.
func difference(before, after string) string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{ // a buffer takes everything
		A: slices.Collect(strings.Lines(before)), B: slices.Collect(strings.Lines(after)), Context: 3,
	})
	return text
}

// differences are the entries that only one of two has, or both with different values.
func differences(kind, prefix string, old, new map[string]string) []item {
	var items []item
	both := maps.Clone(old)
	maps.Copy(both, new)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		before, had := old[key]
		after, has := new[key]
		text := before + " -> " + after
		if !had {
			text = "new: " + after
		} else if !has {
			text = "gone: " + before
		}
		if before != after || had != has {
			items = append(items, item{kind, prefix + key, nil, text + "\n"})
		}
	}
	return items
}
