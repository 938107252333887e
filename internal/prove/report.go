package prove

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Failure is a walk that failed, as its log tells of it.
type Failure struct {
	Folder string // of the test; empty: the log does not say
	Test   string
	Law    string // that the walk broke, in its words
	Trace  string // of a panic
	After  string // how many walks
	Seed   string // of the walk alone
	Life   string // the shortest that breaks the law: the messages of the walk
}

var (
	testLine  = regexp.MustCompile(`^\s*(?:=== (?:RUN|CONT|NAME)|--- FAIL:)\s+(\S+)`)
	message   = regexp.MustCompile(`^( +)\S+\.go:\d+: (.*)$`)
	rapidSays = regexp.MustCompile(`(?s)^\[rapid\] (?:failed|panic) after (\d+) tests: (.*)\nTo reproduce, specify -run="[^"]*" -rapid\.seed=(\d+)\n(?:Traceback:\n(.*))?Failed test output:$`)
	ofPackage = regexp.MustCompile(`(?m)^FAIL\s+github\.com/lifepod/lifepod/(\S+)`)
)

// FailureIn is the first walk that failed in the log of a package's tests; false: no walk did.
func FailureIn(log []byte) (f Failure, found bool) {
	var life []string
	for _, m := range messages(log) {
		says := rapidSays.FindStringSubmatch(m.text)
		switch {
		case says != nil && !found:
			found = true
			f = Failure{After: says[1], Law: says[2], Seed: says[3], Trace: says[4]}
			f.Test, _, _ = strings.Cut(m.test, "/") // one walk alone is led by the test as a whole
		case found && (m.test == f.Test || strings.HasPrefix(m.test, f.Test+"/")) && !m.isNoise():
			if strings.Contains(m.text, "\n----\n") {
				m.text += "\n" // a transcript has an empty line after each verb
			}
			life = append(life, m.text)
		}
	}
	if n := len(life); n > 0 && life[n-1] == f.Law {
		life = life[:n-1]
	}
	f.Life = strings.TrimSuffix(strings.Join(life, "\n"), "\n")
	if folder := ofPackage.FindSubmatch(log); folder != nil {
		f.Folder = string(folder[1])
	}
	return f, found
}

// Report is what a developer needs of the failure: the life, the law that it breaks, and the command that leads it again.
func (f Failure) Report(compare int) string {
	again := fmt.Sprintf("go test ./%s -run '^%s$' -rapid.seed=%s -rapid.checks=1 -rapid.shrinktime=1m", cmp.Or(f.Folder, "..."), f.Test, f.Seed)
	if compare > 1 {
		again += fmt.Sprintf(" -compare=%d", compare)
	}
	return fmt.Sprintf("%s\n\n%s: %s\n%s\nagain: %s | go run ./hack/prove -report", f.Life, f.Test, f.Law, f.Trace, again)
}

// logged is a message in the log of a test.
type logged struct{ test, text string }

// isNoise says whether a message is what was drawn or counted, and not what happened.
func (m logged) isNoise() bool {
	return strings.HasPrefix(m.text, "[rapid] ") || strings.HasPrefix(m.text, "counted ")
}

// messages takes a log apart: each message begins behind the place in the source where it was logged, and later lines of it are
// indented more.
func messages(log []byte) (list []logged) {
	test, indent := "", ""
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, len(log)+1)
	for lines.Scan() {
		line := lines.Text()
		switch next, first := testLine.FindStringSubmatch(line), message.FindStringSubmatch(line); {
		case next != nil:
			test, indent = next[1], ""
		case indent != "" && strings.HasPrefix(line, indent):
			list[len(list)-1].text += "\n" + strings.TrimPrefix(line, indent)
		case first != nil:
			list, indent = append(list, logged{test, first[2]}), first[1]+"    "
		default:
			indent = ""
		}
	}
	return list
}

// withoutNoise is a log without what was drawn, and what tests that passed have counted.
func withoutNoise(log []byte) string {
	var kept strings.Builder
	for line := range strings.Lines(string(log)) {
		if m := message.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m == nil || !(logged{text: m[2]}).isNoise() {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
