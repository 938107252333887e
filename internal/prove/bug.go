package prove

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Bug is a bug of the kubelet or of a runtime, or what users complain of.
type Bug struct {
	Number     int    `json:"number"`
	Repository string `json:"repository,omitempty"` // empty: kubernetes/kubernetes
	What       string `json:"what"`

	// Why it can't be reproduced; empty: it can, by what follows.
	Why string `json:"why,omitempty"`

	Fault   string   `json:"fault,omitempty"` // by which it comes about
	Rules   []string `json:"rules,omitempty"` // of the contract
	Ours    string   `json:"ours,omitempty"`  // lifepod's rule in words
	Mistake string   `json:"mistake,omitempty"`
	File    string   `json:"file,omitempty"` // in which New stands in place of Old
	Old     string   `json:"old,omitempty"`
	New     string   `json:"new,omitempty"`
	Test    string   `json:"test,omitempty"` // of the file's package, which then fails
}

//go:embed bugs.yaml groups.yaml
var files embed.FS

// Bugs lists all, as docs/reports/kubelet-bugs.md has them.
func Bugs() ([]Bug, error) { return read("bugs.yaml") }

// GroupMistakes are made in how members of a group tell each other. No bug is known that comes of them.
func GroupMistakes() ([]Bug, error) { return read("groups.yaml") }

func read(file string) (bugs []Bug, err error) {
	text, err := files.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &bugs)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return bugs, nil
}

// Reproducible says whether there is a mistake that has the same effect.
func (b Bug) Reproducible() bool { return b.Why == "" }

// Package is where the mistake is made, and its test.
func (b Bug) Package() string { return path.Dir(b.File) }

func (b Bug) repository() string {
	if b.Repository == "" {
		return "kubernetes/kubernetes"
	}
	return b.Repository
}

// Mutant is the mistake, in the module at that root.
func (b Bug) Mutant(root string) (Mutant, error) {
	m, err := Replacing(root, b.File, b.Old, b.New)
	if err != nil {
		return m, fmt.Errorf("bug %d: %w", b.Number, err)
	}
	return m, nil
}

// TestRun runs the test, and nothing else of its package.
func (b Bug) TestRun() TestRun {
	parts := strings.Split(b.Test, "/")
	for i, part := range parts {
		parts[i] = "^" + part + "$"
	}
	return TestRun{Run: strings.Join(parts, "/")}
}

// Table is docs/reports/kubelet-bugs.md, which follows from the list of bugs.
func Table(bugs []Bug) string {
	var b strings.Builder
	b.WriteString(head)
	for _, bug := range bugs {
		if bug.Reproducible() {
			fmt.Fprintf(&b, "| %s: %s | %s (`%s` of `%s`) | %s | %s (%s) | `make prove-issue N=%d` |\n",
				bug.link(), bug.What, bug.Fault, bug.testName(), bug.Package(), bug.Mistake, bug.Ours, strings.Join(bug.Rules, ", "), bug.Number)
		}
	}
	b.WriteString("\n## Not reproduced\n\n| bug | why not |\n| --- | --- |\n")
	for _, bug := range bugs {
		if !bug.Reproducible() {
			fmt.Fprintf(&b, "| %s: %s | %s |\n", bug.link(), bug.What, bug.Why)
		}
	}
	return b.String()
}

const head = `# Bugs of the kubelet

This page shows what follows in lifepod from each bug of the kubelet, or complaint of users, that [the proof](../proof.md#bugs) is about.
It is written by ` + "`go run ./hack/prove -table`" + ` from internal/prove/bugs.yaml.

## Reproduced

The test is a transcript, a file below ` + "`testdata`" + ` of the package, unless its name begins with ` + "`Test`" + `.

| bug | reproduced by | the kubelet's rule, as a mistake | lifepod's rule | command |
| --- | --- | --- | --- | --- |
`

func (b Bug) link() string {
	name := "k/k"
	if b.Repository != "" {
		name = b.Repository
	}
	return fmt.Sprintf("[%s#%d](https://github.com/%s/issues/%d)", name, b.Number, b.repository(), b.Number)
}

// testName is the test, or of a transcript its file, which says more.
func (b Bug) testName() string { return strings.TrimPrefix(b.Test, "TestTranscripts/") }
