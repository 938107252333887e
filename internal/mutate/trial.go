package mutate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Trial is what has become of a mutant.
type Trial struct {
	Mutant
	Uncompiled bool   // the compiler has refused it, which proves nothing
	CaughtBy   string // the first tests that failed, with what they said; empty: it survived
	Excuse     string // why it survives rightly; empty: there is none
}

// Round is one run of a package's tests: which, and with what flags.
type Round struct {
	Run, Skip string   // as `go test` takes them
	Flags     []string // others, as the test binary takes them
}

// Package is a package whose tests are tried.
type Package struct {
	Root   string // of its module
	Folder string // below the root
}

// Try builds the package's tests with the mistakes in it, and runs rounds until one fails.
// Without any mistake it says whether the tests pass as they are.
func (p Package) Try(ctx context.Context, mistakes []Mutant, rounds []Round) (t Trial, err error) {
	if len(mistakes) > 0 {
		t.Mutant = mistakes[0]
	}
	work, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	overlay, err := writeOverlay(p.Root, work, mistakes)
	if err != nil {
		return t, err
	}
	binary := filepath.Join(work, "package.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-ldflags", "-s -w", "-o", binary, "./"+p.Folder)
	build.Dir = p.Root
	if out, err := build.CombinedOutput(); err != nil {
		if !bytes.Contains(out, []byte(p.Folder)) { // not the compiler's complaint about the package
			return t, fmt.Errorf("%s: %w\n%s", build, err, out)
		}
		t.Uncompiled = true
		return t, nil
	}
	for _, r := range rounds {
		if t.CaughtBy, err = r.run(ctx, binary, filepath.Join(p.Root, p.Folder), -1); err != nil || t.CaughtBy != "" {
			return t, err
		}
	}
	return t, nil
}

// writeOverlay writes the files with the mistakes, and the file that tells the go command
// of them.
func writeOverlay(root, work string, mistakes []Mutant) (string, error) {
	replace := map[string]string{}
	for i, m := range mistakes {
		path, err := filepath.Abs(filepath.Join(root, m.File))
		if err != nil {
			return "", err
		}
		if replace[path] != "" {
			return "", fmt.Errorf("two mistakes in %s", m.File)
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		replace[path] = filepath.Join(work, fmt.Sprintf("%d_%s", i, filepath.Base(path)))
		if err := os.WriteFile(replace[path], m.Apply(source), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// What a run of tests may use: a mistake can make a loop endless. Its CPU time counts, not
// how long it takes, so that other work on the machine does not matter.
const (
	cpuSeconds   = 200
	addressSpace = 8 << 30
)

// run says which tests have failed, or what else ended them. The mistake is one of a batch,
// by its index.
func (r Round) run(ctx context.Context, binary, folder string, mistake int) (string, error) {
	args := append([]string{"-test.run", r.Run, "-test.v", "-test.timeout", "0"}, r.Flags...)
	if r.Skip != "" {
		args = append(args, "-test.skip", r.Skip)
	}
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), variable+"="+strconv.Itoa(mistake))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		return "", err
	}
	for resource, most := range map[int]uint64{unix.RLIMIT_CPU: cpuSeconds, unix.RLIMIT_AS: addressSpace} {
		err := unix.Prlimit(command.Process.Pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return "", fmt.Errorf("limit the tests: %w", errors.Join(err, command.Process.Kill(), command.Wait()))
		}
	}
	err := command.Wait()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		return "", nil
	}
	return failure(out.String(), err), nil
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
