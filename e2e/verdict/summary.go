package verdict

import (
	"regexp"
	"strings"
)

// How much of a failed test is repeated: its first messages, of each the first
// lines, which say what was wrong; what comes after is how it looked.
const (
	maxMessages = 3
	maxLines    = 6
	maxBytes    = 240
	maxTests    = 8
)

var (
	failed  = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	verdict = regexp.MustCompile(`^\s*--- (PASS|SKIP|BENCH): |^(PASS|FAIL|ok)\b|^=== `)
	message = regexp.MustCompile(`^\s+\w+\.go:\d+: `)
)

// summary is what the output of tests says of those that failed.
type summary struct {
	text     strings.Builder
	tests    int
	inside   bool // of a failed test's output
	messages int
	lines    int // of the message
}

func (s *summary) line(line string) {
	line = strings.TrimRight(strings.TrimPrefix(line, "\x16"), "\n") // as `go test -json` marks lines
	if match := failed.FindStringSubmatch(line); match != nil {
		s.test(match[1])
		return
	}
	if verdict.MatchString(line) {
		s.inside = false
	}
	if !s.inside || s.tests > maxTests {
		return
	}
	if message.MatchString(line) {
		s.messages, s.lines = s.messages+1, 0
	}
	if s.lines++; s.messages == 0 || s.messages > maxMessages || s.lines > maxLines {
		return
	}
	s.write("  " + cut(line))
}

func (s *summary) test(name string) {
	s.inside, s.messages = true, 0
	switch s.tests++; {
	case s.tests <= maxTests:
		s.write("  " + name)
	case s.tests == maxTests+1:
		s.write("  and others")
	}
}

func (s *summary) write(line string) {
	s.text.WriteString(line)
	s.text.WriteByte('\n')
}

// cut shortens a line.
func cut(line string) string {
	if len(line) <= maxBytes {
		return line
	}
	return strings.ToValidUTF8(line[:maxBytes], "") + "…"
}

// String is the summary, empty if no test failed.
func (s *summary) String() string {
	if s.tests == 0 {
		return ""
	}
	return "what failed:\n" + s.text.String()
}
