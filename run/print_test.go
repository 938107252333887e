package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podlog"
)

func podOf(containers ...string) *v1.Pod {
	pod := &v1.Pod{}
	for _, name := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name})
	}
	return pod
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	assert.Must(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// The worker, Ctrl-C and the countdown go on while nobody reads, and what they
// said is there when somebody does.
func TestNothingBlocksOnAReader(t *testing.T) {
	r, w := pipe(t)
	began := time.Now()
	p := newPrinter(Options{Stdout: w, Stderr: w, Output: "json", Began: began}, podOf("a"))
	const lines = 5000 // more than a pipe holds
	for i := range lines {
		p.report(began, lifecycle.Report{Subject: "pod", Kind: "setup-failed", Message: fmt.Sprint(i)})
		p.setStatus(v1.PodStatus{Phase: v1.PodRunning})
	}
	p.endCountDown()
	assert.Equal(t, v1.PodRunning, p.status().Phase, "phase")

	decoder, seen := json.NewDecoder(r), 0
	for seen < lines {
		var got line
		assert.Must(t, decoder.Decode(&got))
		if got.Type == "lifecycle" {
			assert.Require(t, got.What == fmt.Sprint(seen), "line %d is %q", seen, got.What)
			seen++
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	p.close()
}

// A terminal that is stopped for days costs a bounded amount of memory: the oldest
// of lifepod's own lines are left out, and said to be; output is not.
func TestOldLinesAreLeftOut(t *testing.T) {
	for _, output := range []string{"", "json"} {
		r, w := pipe(t)
		p := newPrinter(Options{Stdout: w, Stderr: w, Output: output}, podOf("a"))
		p.stdout.putOutput(item{text: strings.Repeat("x", 128<<10) + "\n"}) // more than a pipe holds
		for begun := false; !begun; {                                       // it is being written
			p.stdout.mu.Lock()
			begun = p.stdout.writing
			p.stdout.mu.Unlock()
		}
		p.stdout.putOutput(item{text: "output\n", mark: mark{stream: "a/stdout"}})
		const lines = 20_000
		for n := range lines {
			p.warn("%d %s", n, strings.Repeat("x", 1<<10))
		}
		p.stdout.mu.Lock()
		bytes, own := 0, p.stdout.own
		for _, it := range p.stdout.queue {
			bytes += len(it.text)
		}
		p.stdout.mu.Unlock()
		assert.True(t, bytes <= ownAhead+outputAhead && own <= ownAhead,
			"%d bytes wait, %d of them lifepod's own, want at most %d", bytes, own, ownAhead)
		got := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(r)
			got <- string(text)
		}()
		p.close()
		_ = w.Close()
		all := strings.Split(strings.TrimSuffix(<-got, "\n"), "\n")[1:]
		if !strings.Contains(all[0], " older lines were left out, because nobody read them") || all[1] != "output" || !strings.Contains(all[len(all)-1], fmt.Sprint(lines-1)) {
			t.Errorf("output %q: %.80q, %.80q … %.80q", output, all[0], all[1], all[len(all)-1])
		}
		var left int
		_, err := fmt.Sscan(regexp.MustCompile(`[0-9]+ older`).FindString(all[0]), &left)
		assert.True(t, err == nil && left+len(all)-2 == lines, "%v, %d lines left out and %d shown, want %d altogether", err, left, len(all)-2, lines)
	}
}

// Once its end is asked for, the command ends also without a reader, and says
// what is missing.
func TestCloseGivesUp(t *testing.T) {
	for _, output := range []string{"", "json"} {
		_, w := pipe(t)
		var stderr bytes.Buffer
		p := newPrinter(Options{Stdout: w, Stderr: &stderr, Output: output}, podOf("a"))
		p.stdout.stalled = time.Millisecond
		p.hurry()
		p.stdout.put(item{text: strings.Repeat("x", 1<<20)})
		p.close()
		p.stdout.putOutput(item{text: strings.Repeat("x", 1<<20)})
		p.stdout.putOutput(item{text: "nobody waits for this"})
		assert.Deep(t, fmt.Sprintf("stderr with output %q", output), "warning: standard output was not read to its end\n", stderr.String())
	}
}

// A third signal gives the output up, too.
func TestThirdSignal(t *testing.T) {
	r, w := pipe(t)
	var stderr bytes.Buffer
	p := newPrinter(Options{Stdout: w, Stderr: &stderr}, podOf("a"))
	life, giveUp := context.WithCancelCause(t.Context())
	s := &stopper{printer: p, cancel: giveUp}
	s.attach(asked{}, giveUp, 0)
	s.done = make(chan struct{})
	defer close(s.done)
	p.stdout.put(item{text: strings.Repeat("x", 1<<20)})
	for range 3 {
		s.lastSignal = time.Time{}
		s.signal("SIGINT")
	}
	go func() { _, _ = r.Read(make([]byte, 1)) }() // it reads, slowly
	p.close()
	assert.True(t, errors.Is(context.Cause(life), errGivenUp) && strings.HasSuffix(stderr.String(), "warning: standard output was not read to its end\n"),
		"%v, stderr %q", context.Cause(life), stderr.String())
}

// asked is a pod that does not end.
type asked struct{}

func (asked) Stop(lifecycle.StopRequested) {}

// A reader that reads slowly gets everything, however long it takes.
func TestCloseWaitsForASlowReader(t *testing.T) {
	r, w := pipe(t)
	p := newPrinter(Options{Stdout: w, Stderr: io.Discard}, podOf("a"))
	p.stdout.stalled = time.Millisecond // nobody has asked for the end
	p.stdout.put(item{text: strings.Repeat("x", 1<<20)})
	got := make(chan int, 1)
	go func() {
		time.Sleep(50 * time.Millisecond) // a pause, as in less
		data, _ := io.ReadAll(r)
		got <- len(data)
	}()
	p.close()
	_ = w.Close()
	assert.Equal(t, 1<<20, <-got, "bytes")
}

// What can't be written is lifepod's error, not silence.
func TestDiskFull(t *testing.T) {
	full := assert.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0)).Must(t)
	p := newPrinter(Options{Stdout: full, Stderr: io.Discard}, podOf("a"))
	p.stdout.put(item{text: "lost\n"})
	p.close()
	assert.ErrorIs(t, unix.ENOSPC, p.failure(), "failure")
}

func TestBrokenPipe(t *testing.T) {
	for _, test := range []struct {
		name           string
		stdout, stderr bool // nobody reads
		late           bool // onBroken is set after the fact
		want           int
	}{
		{name: "stdout", stdout: true, want: 1},
		{name: "stdout, before anybody asks", stdout: true, late: true, want: 1},
		{name: "stderr", stderr: true},
		{name: "both", stdout: true, stderr: true, want: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(broken bool) *os.File {
				r, w := pipe(t)
				if broken {
					_ = r.Close()
				}
				return w
			}
			p := newPrinter(Options{Stdout: read(test.stdout), Stderr: read(test.stderr)}, podOf("a"))
			called := 0
			if !test.late {
				p.onBroken(func() { called++ })
			}
			for range 3 {
				p.stdout.putOutput(item{text: "x\n"})
				p.warn("y")
			}
			p.close()
			if test.late {
				p.onBroken(func() { called++ })
			}
			assert.Equal(t, test.want, called, "calls of onBroken")
		})
	}
}

// On the real standard output a closed pipe would be a signal that kills; the
// programs that lifepod starts do not inherit that it is caught.
func TestBrokenPipeDoesNotKill(t *testing.T) {
	if os.Getenv("RUN_TEST_BROKEN_PIPE") != "" {
		p := newPrinter(Options{Stdout: os.Stdout, Stderr: os.Stderr}, podOf("a"))
		p.onBroken(func() {
			out, err := exec.Command("grep", "SigIgn", "/proc/self/status").CombinedOutput()
			p.say(fmt.Sprintf("broken %s%v", out, err))
		})
		p.stdout.putOutput(item{text: "x\n"})
		p.close()
		os.Exit(7)
	}
	r, w := pipe(t)
	_ = r.Close()
	var stderr bytes.Buffer
	child := exec.Command(os.Args[0], "-test.run=^TestBrokenPipeDoesNotKill$")
	child.Env = append(os.Environ(), "RUN_TEST_BROKEN_PIPE=1")
	child.Stdout, child.Stderr = w, &stderr
	_ = child.Run() // its exit code says how it went
	assert.True(t, child.ProcessState.ExitCode() == 7, "%v: %s", child.ProcessState, &stderr)
	var ignored uint64
	_, err := fmt.Sscanf(stderr.String(), "broken SigIgn: %x", &ignored)
	assert.True(t, err == nil && ignored&(1<<12) == 0, "%v, a child process ignores %x: %s", err, ignored, &stderr)
}

// The text names the pod's own folder.
func TestKept(t *testing.T) {
	var stderr bytes.Buffer
	p := newPrinter(Options{Stdout: io.Discard, Stderr: &stderr}, podOf("a"))
	p.kept("/r/pods/uid", "/r/logs/default_p_uid")
	p.close()
	assert.Deep(t, "", "kept: the pod's folder /r/pods/uid, its logs in /r/logs/default_p_uid\n", stderr.String())
}

// A warning is in the language of who reads it, and in JSON in English.
func TestWarnsInChinese(t *testing.T) {
	for output, want := range map[string]string{"": "警告：它不会开始，因为 Pod db 在就绪之前就已结束\n", "json": `"message":"it does not begin, as pod db has ended before it was Ready"`} {
		var out bytes.Buffer
		p := newPrinter(Options{Stdout: &out, Stderr: &out, Output: output, Language: sentence.Chinese}, podOf("a"))
		p.warn("it does not begin, as pod %s has ended before it was Ready", "db")
		p.close()
		assert.True(t, strings.Contains(out.String(), want), "output %q: %q, want %q", output, out.String(), want)
	}
}

// Only containers write to the terminal as they like: what lifepod says of a pod has no
// control characters, and one line stays one.
func TestOwnLinesArePlain(t *testing.T) {
	const evil = "\x1b[2J\r\u009b31m\n+9.999s pod Succeeded"
	for _, output := range []string{"", "json"} {
		var stdout, stderr bytes.Buffer
		p := newPrinter(Options{Stdout: &stdout, Stderr: &stderr, Output: output, Verbose: true, Began: time.Now()}, podOf("a"))
		p.report(time.Now(), lifecycle.Report{Subject: "a", Kind: "exited", Because: lifecycle.Because{Text: evil}})
		p.event(time.Now(), lifecycle.RecordEvent{Type: "Warning", Reason: evil, Message: evil, FieldPath: evil})
		p.warn("\x1b[2J\u009b")
		p.setStatus(v1.PodStatus{Message: evil})
		p.close()
		text := stdout.String() + stderr.String()
		assert.True(t, !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }),
			"output %q: control characters in %q", output, text)
		assert.True(t, !strings.Contains(text, "\n+9.999s"), "output %q: a line of the pod's in %q", output, text)
		assert.True(t, output != "" || strings.Count(text, "^[[2J\\r\\u009b31m +9.999s pod Succeeded") == 4, "it says %q", text)
	}
	var stdout bytes.Buffer
	p := newPrinter(Options{Stdout: &stdout, Stderr: io.Discard}, podOf("a"))
	p.output(&source{container: "a"}, podlog.Record{Text: evil, Stream: "stdout"}, podlog.Place{})
	p.close()
	assert.Equal(t, evil, stdout.String(), "a container's output")
}

// On a terminal output of containers has colours, and nothing else that a terminal obeys.
func TestOutputOnATerminal(t *testing.T) {
	var stdout bytes.Buffer
	p := newPrinter(Options{Stdout: &stdout, Stderr: io.Discard}, podOf("a", "b"))
	p.screen = true
	a, b := &source{container: "a"}, &source{container: "b"}
	for _, piece := range []struct {
		from *source
		text string
	}{{a, "\x1b[2J\x1b[31mred\n"}, {a, "still\rred \x1b["}, {b, "plain\u202e\n"}, {a, "0mnot\n"}} {
		p.output(piece.from, podlog.Record{Text: piece.text, Stream: "stdout"}, podlog.Place{})
	}
	p.close()
	assert.Deep(t, "", "a | ^[[2J\x1b[31mred\x1b[0m\na | \x1b[31mstill\\rred \x1b[0m\nb | plain\\u202e\na | not\n", stdout.String())
}
