package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slowestShown is how many of the slowest tests are printed.
const slowestShown = 10

// report is what a run of the tests has left in its folder.
type report struct {
	parts []part
	tests map[testKey]*test
}

// testKey is one test in one run of gotestsum, of which a suite may have several.
type testKey struct{ file, name string }

// part is one command that hack/part ran.
type part struct {
	name string
	took time.Duration
	code int
}

type test struct {
	name    string // "package.Test"
	file    string // that has what is known
	below   bool   // another test, which has its results, too
	elapsed time.Duration
	results []string // "pass", "fail", in order
	said    []string // lines of its output until it failed for the first time
}

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds
}

func read(dir string) (*report, error) {
	r := &report{tests: map[testKey]*test{}}
	text, err := os.ReadFile(filepath.Join(dir, "parts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		p, err := parsePart(string(line))
		if err != nil {
			return nil, err
		}
		r.parts = append(r.parts, p)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		err = r.events(file, f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return r, nil
}

func parsePart(line string) (part, error) {
	fields := strings.Split(strings.TrimSpace(line), "\t")
	if len(fields) != 3 {
		return part{}, fmt.Errorf("%q is no line of hack/part", line)
	}
	seconds, err := strconv.Atoi(fields[1])
	code, codeErr := strconv.Atoi(fields[2])
	return part{fields[0], time.Duration(seconds) * time.Second, code}, errors.Join(err, codeErr)
}

func (r *report) events(file string, from io.Reader) error {
	decoder := json.NewDecoder(bufio.NewReader(from))
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r.event(file, e)
	}
}

func (r *report) event(file string, e event) {
	if e.Test == "" {
		return
	}
	name := strings.TrimPrefix(e.Package, "github.com/lifepod/lifepod/") + "." + e.Test
	key := testKey{file, name}
	t := r.tests[key]
	if t == nil {
		t = &test{name: name, file: file, below: strings.Contains(e.Test, "/")}
		r.tests[key] = t
	}
	switch e.Action {
	case "pass", "fail":
		t.results = append(t.results, e.Action)
		t.elapsed = max(t.elapsed, time.Duration(e.Elapsed*float64(time.Second)))
	case "output":
		if len(t.results) == 0 {
			t.said = append(t.said, e.Output)
		}
	}
}

// flaky says whether a test failed once and passed when it was run again.
func (t *test) flaky() bool {
	return slices.Contains(t.results, "fail") && t.results[len(t.results)-1] == "pass"
}

var message = regexp.MustCompile(`^\s+\w+\.go:\d+: `)

// failure is the first message of a test that failed, on one line; empty if it had none of its own.
func (t *test) failure() string {
	i := slices.IndexFunc(t.said, message.MatchString)
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(t.said[i])
}

func (r *report) String() string {
	var b strings.Builder
	r.writeParts(&b)
	tests := slices.SortedFunc(maps.Values(r.tests), func(a, b *test) int {
		return cmp.Or(cmp.Compare(b.elapsed, a.elapsed), cmp.Compare(a.name, b.name))
	})
	if len(tests) > 0 {
		b.WriteString("the slowest tests:\n")
	}
	for _, t := range tests[:min(len(tests), slowestShown)] {
		fmt.Fprintf(&b, "  %6.1f s  %s\n", t.elapsed.Seconds(), t.name)
	}
	for _, t := range tests {
		if t.flaky() && !t.below {
			fmt.Fprintf(&b, "FLAKY: %s, first failure: %s\n", t.name, r.firstFailure(t))
		}
	}
	return b.String()
}

// firstFailure is what a test or one of its subtests said first.
func (r *report) firstFailure(t *test) string {
	if text := t.failure(); text != "" {
		return text
	}
	var below []string
	for _, sub := range r.tests {
		if sub.file == t.file && strings.HasPrefix(sub.name, t.name+"/") && sub.flaky() && sub.failure() != "" {
			below = append(below, sub.name[len(t.name)+1:]+": "+sub.failure())
		}
	}
	if len(below) == 0 {
		return "without a message"
	}
	return slices.Min(below)
}

func (r *report) writeParts(b *strings.Builder) {
	var sum time.Duration
	for _, p := range r.parts {
		sum += p.took
		failed := ""
		if p.code != 0 {
			failed = fmt.Sprintf(": failed, exit code %d", p.code)
		}
		fmt.Fprintf(b, "%9v  %s%s\n", p.took, p.name, failed)
	}
	fmt.Fprintf(b, "%9v  together\n", sum)
}
