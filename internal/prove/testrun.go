package prove

import (
	"bytes"
	"context"
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

// TestRun is one run of a package's tests: which, and with what flags.
type TestRun struct {
	Run, Skip string   // as `go test` takes them
	Flags     []string // others, as the test binary takes them
}

// Package is a package whose tests are tried.
type Package struct {
	Root   string // of its module
	Folder string // below the root
}

// What a run of tests may use: a mistake can make a loop endless. Its CPU time counts, not
// how long it takes, so that other work on the machine does not matter.
const (
	cpuSeconds   = 200
	addressSpace = 8 << 30
)

// run says which tests have failed, or what else ended them. The mistake is one of a batch,
// by its index.
func (r TestRun) run(ctx context.Context, binary, folder string, mistake int) (string, error) {
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

// Mutant is one mistake: a place in a file, and what stands there instead.
type Mutant struct {
	File     string // relative to the root of the module
	Was, Now string // the text of the place, and what replaces it

	offset int
}

func oneLine(text string) string {
	const most = 90
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// Replacing is the mutant that has new in place of old, which must occur once in the file.
func Replacing(root, file, old, new string) (Mutant, error) {
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return Mutant{}, err
	}
	if n := bytes.Count(source, []byte(old)); n != 1 {
		return Mutant{}, fmt.Errorf("%s: %q occurs %d times, want once", file, old, n)
	}
	return Mutant{File: file, Was: old, Now: new, offset: bytes.Index(source, []byte(old))}, nil
}
