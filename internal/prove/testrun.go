package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Package is a package whose tests are tried.
type Package struct {
	Root   string // of its module
	Folder string // below the root
}

// limited runs a test with what it may use: a mistake can make a loop endless. Its CPU time
// counts, not how long it takes, so that other work on the machine does not matter.
const limited = `ulimit -t 200; ulimit -v 8388608; exec "$0" "$@"`

// Try builds the package's tests, with a mistake unless it is nil, and runs those that each
// pattern selects as -test.run, until some fail.
func (p Package) Try(ctx context.Context, m *Mutant, patterns ...string) (caughtBy string, err error) {
	work, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	binary := filepath.Join(work, "package.test")
	// To compile takes longer than to run the tests: they need not be fast.
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-N -l", "-ldflags=-s -w", "-o", binary)
	build.Dir = p.Root
	if m != nil {
		overlay, err := m.overlay(p.Root, work)
		if err != nil {
			return "", err
		}
		build.Args = append(build.Args, "-overlay", overlay)
	}
	build.Args = append(build.Args, "./"+p.Folder)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	for _, pattern := range patterns {
		if caughtBy, err = p.run(ctx, binary, pattern); err != nil || caughtBy != "" {
			break
		}
	}
	return caughtBy, err
}

// run says which tests have failed, or what else ended them.
func (p Package) run(ctx context.Context, binary, pattern string) (string, error) {
	command := exec.CommandContext(ctx, "sh", "-c", limited, binary, "-test.run", pattern, "-test.v", "-test.timeout", "0")
	command.Dir = filepath.Join(p.Root, p.Folder)
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil || command.ProcessState == nil {
		return "", err
	}
	return failure(string(out), err), nil
}

var (
	failedTest  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	startedTest = regexp.MustCompile(`(?m)^=== (?:RUN|CONT|NAME)\s+(\S+)`)
	lawBroken   = regexp.MustCompile(`\[rapid\] (?:failed|panic) after \d+ tests?: (.*)`)
	panicked    = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.*)`)
)

// failure is what a failed run says, in one line: the tests that failed, the deepest
// first, and the law that a random walk has broken.
func failure(out string, err error) string {
	var tests []string
	for _, match := range failedTest.FindAllStringSubmatch(out, -1) {
		tests = append(tests, match[1])
	}
	var leaves []string
	for i, name := range tests {
		if i+1 < len(tests) && strings.HasPrefix(tests[i+1], name+"/") || strings.Contains(strings.Join(tests, "\n")+"\n", name+"/") {
			continue
		}
		leaves = append(leaves, name)
	}
	text := strings.Join(leaves[:min(1, len(leaves))], "")
	if len(leaves) > 1 {
		text += fmt.Sprintf(" and %d more", len(leaves)-1)
	}
	if text == "" {
		if started := startedTest.FindAllStringSubmatch(out, -1); len(started) > 0 {
			text = started[len(started)-1][1]
		}
	}
	if law := lawBroken.FindStringSubmatch(out); law != nil {
		return text + ": " + oneLine(law[1])
	}
	if p := panicked.FindStringSubmatch(out); p != nil {
		return text + ": " + oneLine(p[1])
	}
	if len(leaves) == 0 {
		return text + ": " + err.Error() // more CPU time than is given to it
	}
	return text
}

func oneLine(text string) string {
	const most = 90
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// Mutant is one mistake: a file that has it.
type Mutant struct {
	File string // relative to the root of the module
	Text string // of the file, with the mistake
}

// Replacing is the mutant that has new in place of old, which must occur once in the file.
func Replacing(root, file, old, new string) (Mutant, error) {
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return Mutant{}, err
	}
	if n := strings.Count(string(source), old); n != 1 {
		return Mutant{}, fmt.Errorf("%s: %q occurs %d times, want once", file, old, n)
	}
	return Mutant{file, strings.Replace(string(source), old, new, 1)}, nil
}

// overlay writes into work what has the go command see the mistake in place of the file.
func (m Mutant) overlay(root, work string) (string, error) {
	target, err := filepath.Abs(filepath.Join(root, m.File))
	if err != nil {
		return "", err
	}
	mutated, overlay := filepath.Join(work, filepath.Base(m.File)), filepath.Join(work, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{target: mutated}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(os.WriteFile(mutated, []byte(m.Text), 0o600), os.WriteFile(overlay, text, 0o600))
}
