package e2e

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

type command struct {
	t       *testing.T
	process *exec.Cmd
	stdout  *stream
	stderr  *stream
	ended   chan struct{}
}

// result is what a command came to.
type result struct {
	code           int
	stdout, stderr string
}

// start starts a lifepod command line on this root; input is its standard input.
func (r *root) start(t *testing.T, input string, args ...string) *command {
	t.Helper()
	return r.startWith(t, nil, input, args...)
}

// startWith starts a command line with further variables of its environment, NAME=value.
func (r *root) startWith(t *testing.T, environment []string, input string, args ...string) *command {
	t.Helper()
	c := &command{
		t: t, process: exec.Command(binary, append([]string{"--root", r.dir}, args...)...),
		stdout: newStream(), stderr: newStream(), ended: make(chan struct{}),
	}
	c.process.Env = append(os.Environ(), environment...)
	c.process.Stdin = strings.NewReader(input)
	c.process.Stdout, c.process.Stderr = c.stdout, c.stderr
	c.process.WaitDelay = 5 * time.Second // a process that lifepod left has its output
	assert.Must(t, c.process.Start())
	go func() {
		_ = c.process.Wait() // its exit code says all
		c.stdout.close()
		c.stderr.close()
		close(c.ended)
	}()
	t.Cleanup(c.end)
	return c
}

func (r *root) lifepod(t *testing.T, input string, args ...string) result {
	t.Helper()
	return r.start(t, input, args...).wait()
}

func (r *root) run(t *testing.T, manifest string, args ...string) result {
	t.Helper()
	return r.lifepod(t, manifest, append([]string{"run", "-"}, args...)...)
}

func (r *root) startRun(t *testing.T, manifest string, args ...string) *command {
	t.Helper()
	return r.start(t, manifest, append([]string{"run", "-"}, args...)...)
}

func (c *command) wait() result {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.fatalf("still runs after %v", patience)
	}
	return result{code: c.process.ProcessState.ExitCode(), stdout: c.stdout.text(), stderr: c.stderr.text()}
}

// fatalf fails the test and shows what the command has printed.
func (c *command) fatalf(format string, args ...any) {
	c.t.Helper()
	c.t.Logf("stdout:\n%s\nstderr:\n%s", tail(c.stdout.text()), tail(c.stderr.text()))
	c.t.Fatalf(format, args...)
}

// tail keeps a failure readable.
func tail(text string) string { return text[max(0, len(text)-8000):] }

// await waits until the pattern is in the lines of the stream.
func (c *command) await(s *stream, pattern string) string {
	c.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	late := time.After(patience)
	for {
		text, more := s.now()
		if found := want.FindString(text); found != "" {
			return found
		}
		select {
		case <-more:
		case <-c.ended:
			if found := want.FindString(s.text()); found != "" {
				return found
			}
			c.fatalf("ended without printing %q", pattern)
		case <-late:
			c.fatalf("%q isn't printed", pattern)
		}
	}
}

// signal sends the command a signal, unless it has ended.
func (c *command) signal(s os.Signal) {
	c.t.Helper()
	err := c.process.Process.Signal(s)
	assert.Require(c.t, err == nil || errors.Is(err, os.ErrProcessDone), "%v", err)
}

// end makes sure that a failed test leaves nothing that runs.
func (c *command) end() {
	for range 2 {
		select {
		case <-c.ended:
			return
		default:
			_ = c.process.Process.Signal(syscall.SIGINT) // it may have ended meanwhile
		}
		select {
		case <-c.ended:
			return
		case <-time.After(5 * time.Second):
		}
	}
	_ = c.process.Process.Kill()
	<-c.ended
}

// stream is what a process prints, as it is printed.
type stream struct {
	mu   sync.Mutex
	data []byte
	more chan struct{} // closed and replaced when there is more
	done bool
}

func newStream() *stream { return &stream{more: make(chan struct{})} }

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, p...)
	close(s.more)
	s.more = make(chan struct{})
	return len(p), nil
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		close(s.more)
	}
}

func (s *stream) now() (text string, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.data), s.more
}

func (s *stream) text() string {
	text, _ := s.now()
	return text
}
