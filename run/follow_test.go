package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
)

// follow is a follower whose logs a test writes.
type follow struct {
	*follower
	t   *testing.T
	out bytes.Buffer
}

func newFollow(t *testing.T, output string, containers ...string) *follow {
	f := &follow{t: t}
	p := newPrinter(Options{Stdout: &f.out, Stderr: io.Discard, Output: output}, podOf(containers...))
	f.follower = newFollower(p, t.TempDir())
	return f
}

// start has a container run whose log has records already.
func (f *follow) start(name string, attempt int32, records ...string) *os.File {
	f.t.Helper()
	path := filepath.Join(f.logDir, criconfig.ContainerLogPath(name, int(attempt)))
	assert.Must(f.t, os.MkdirAll(filepath.Dir(path), 0o700))
	file := assert.Get(os.Create(path)).Must(f.t)
	f.t.Cleanup(func() { _ = file.Close() })
	f.write(file, records...)
	f.see(&v1.ContainerStatus{
		Name: name, ContainerID: "c", RestartCount: attempt,
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
	})
	return file
}

func (f *follow) exit(name string, attempt int32) {
	f.see(&v1.ContainerStatus{
		Name: name, ContainerID: "c", RestartCount: attempt,
		State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}},
	})
}

func (f *follow) write(file *os.File, records ...string) {
	f.t.Helper()
	for _, record := range records {
		assert.Must(f.t, assert.ErrorOf(file.WriteString("2026-01-02T03:04:05.000000006Z "+record+"\n")))
	}
}

func (f *follow) end() string {
	f.wait()
	f.printer.close()
	return f.out.String()
}

func TestOutput(t *testing.T) {
	long := strings.Repeat("x", 16<<10)
	both := []string{"a", "b"}
	for _, test := range []struct {
		name       string
		containers []string
		records    []string // of a; b writes one line after that
		want       string
	}{
		{"line", both, []string{"stdout F 1"}, "a | 1\nb | b\n"},
		{"long line", both, []string{"stdout P " + long, "stdout P:T " + long, "stdout F end"}, "a | " + long + long + "end\nb | b\n"},
		{"very long line", both, append(repeat(100, "stdout P "+long), "stdout F end"), "a | " + strings.Repeat(long, 100) + "end\nb | b\n"},
		{"streams", both, []string{"stdout P 1", "stderr F x", "stdout F 2"}, "a | x\na | 12\nb | b\n"},
		{"one container", []string{"a"}, []string{"stdout P \x00\xff", "stderr F x", "stdout P 2"}, "\x00\xff\nx\n2"},
		{"torn record", []string{"a"}, []string{"", "stdout", "what F 1", "stdout F 2"}, "2\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFollow(t, "", test.containers...)
			_ = f.start("a", 0, test.records...).Close()
			f.exit("a", 0)
			f.readers.Wait()
			if len(test.containers) > 1 {
				_ = f.start("b", 0, "stdout F b").Close()
			}
			assert.Deep(t, "", test.want, f.end())
		})
	}
}

func repeat(n int, text string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = text
	}
	return list
}

// Output without a newline at its end does not run into the next instance's.
func TestOutputWithoutNewline(t *testing.T) {
	f := newFollow(t, "", "a", "b")
	_ = f.start("a", 0, "stdout P x").Close()
	f.exit("a", 0)
	f.readers.Wait()
	_ = f.start("a", 1, "stdout P y").Close()
	f.exit("a", 1)
	f.readers.Wait()
	_ = f.start("b", 0, "stdout F z").Close()
	assert.Deep(t, "", "a | x\na | y\nb | z\n", f.end())
}

func TestOutputAsJSON(t *testing.T) {
	f := newFollow(t, "json", "a", "b")
	_ = f.start("a", 0, "stdout P x", "stdout F y").Close()
	var got line
	assert.Must(t, json.Unmarshal([]byte(f.end()), &got))
	assert.True(t, got.Type == "output" && got.Subject == "a" && got.Stream == "stdout" && *got.Text == "xy\n" && got.Time.Nanosecond() == 6,
		"got %+v", got)
}

// The runtime writes on after it has told of the exit, and after the log is gone.
func TestLastLine(t *testing.T) {
	f := newFollow(t, "", "a")
	file := f.start("a", 0, "stdout F first")
	f.exit("a", 0)
	assert.Must(t, os.RemoveAll(f.logDir))
	done := make(chan string)
	go func() { done <- f.end() }()
	<-f.gone
	f.write(file, "stdout F last")
	_ = file.Close()
	assert.Deep(t, "", "first\nlast\n", <-done)
}

// A log that the runtime still has open long after the exit is followed until
// the pod is gone.
func TestLateLine(t *testing.T) {
	f := newFollow(t, "", "a")
	file := f.start("a", 0, "stdout P x")
	f.exit("a", 0)
	log := podlog.Open(file.Name(), func() {})
	defer log.Close()
	assert.True(t, !podlog.NewReader(log, func(string) {}).Finish(), "a log that is open for writing is finished")
	f.write(file, "stdout F y")
	_ = file.Close()
	assert.Deep(t, "", "xy\n", f.end())
}

func TestManyLines(t *testing.T) {
	f := newFollow(t, "", "a")
	file := f.start("a", 0)
	f.exit("a", 0)
	var want, records strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&want, "line %d\n", i)
		fmt.Fprintf(&records, "2026-01-02T03:04:05.000000006Z stdout F line %d\n", i)
	}
	assert.Must(t, assert.ErrorOf(file.WriteString(records.String())))
	_ = file.Close()
	got := f.end()
	assert.True(t, got == want.String(), "%d bytes, want %d", len(got), want.Len())
}

// A stuck reader of stdout holds up neither the worker nor, for long, the end.
func TestFollowerWithoutReader(t *testing.T) {
	_, w := pipe(t)
	p := newPrinter(Options{Stdout: w, Stderr: io.Discard}, podOf("a"))
	p.stdout.stalled = 1
	p.hurry()
	f := &follow{t: t, follower: newFollower(p, t.TempDir())}
	_ = f.start("a", 0, repeat(100, "stdout F "+strings.Repeat("x", 8<<10))...).Close()
	f.exit("a", 0)
	f.wait()
	p.close()
}
