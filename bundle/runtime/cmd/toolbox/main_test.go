package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
	"github.com/lifepod/lifepod/bundle/runtime/toolbox"
)

// The test binary is the toolbox under any name but its own.
func TestMain(m *testing.M) {
	if !strings.HasSuffix(os.Args[0], ".test") {
		main()
	}
	os.Exit(m.Run())
}

// box is a folder with a link for every applet, and a working folder.
type box struct{ bin, work string }

func newBox(t *testing.T) box {
	t.Helper()
	dir := t.TempDir()
	b := box{filepath.Join(dir, "bin"), filepath.Join(dir, "work")}
	for _, d := range []string{b.bin, b.work} {
		assert.Must(t, os.Mkdir(d, 0o755))
	}
	self := assert.Get(os.Executable()).Must(t)
	names := []string{"sh", "test", "[", "printf", "echo", "kill", "pwd", "toolbox"}
	for name := range toolbox.Applets() {
		names = append(names, name)
	}
	for _, name := range names {
		assert.Must(t, os.Symlink(self, filepath.Join(b.bin, name)))
	}
	return b
}

func (b box) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(b.bin, args[0]), args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Dir, cmd.Env = b.work, []string{"PATH=" + b.bin, "GREETING=hello"}
	return cmd
}

type outcome struct {
	Stdout string
	Code   int
}

// run gives what a command prints and how it ends; its standard error goes to
// the test's log.
func (b box) run(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	cmd := b.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	assert.Require(t, cmd.ProcessState != nil, "%q: %v", args, err)
	if stderr.Len() > 0 {
		t.Logf("%q: %s", args, stderr.String())
	}
	return outcome{stdout.String(), cmd.ProcessState.ExitCode()}
}

func TestApplets(t *testing.T) {
	b := newBox(t)
	host := assert.Get(os.Hostname()).Must(t)
	// In this order: later ones use the files of earlier ones.
	for _, tt := range []struct {
		command string // fields; ~ is a blank within one
		stdin   string
		want    outcome
	}{
		{"true", "", outcome{"", 0}},
		{"false", "", outcome{"", 1}},
		{"toolbox false", "", outcome{"", 1}},
		{"toolbox nosuch", "", outcome{"", 127}},
		{"sleep 0", "", outcome{"", 0}},
		{"sleep 1ms --on-term 3", "", outcome{"", 0}},
		{"sleep 1 2", "", outcome{"", 2}},
		{"sleep soon", "", outcome{"", 2}},
		{"sleep", "", outcome{"", 2}},
		{"echo -n a b", "", outcome{"a b", 0}},
		{"write f one~two", "", outcome{"", 0}},
		{"cat f", "", outcome{"one two", 0}},
		{"cat", "from stdin", outcome{"from stdin", 0}},
		{"cat missing", "", outcome{"", 1}},
		{"stat -c %a~%s~%F~%u f", "", outcome{"644 7 regular file 0\n", 0}},
		{"stat missing", "", outcome{"", 1}},
		{"ln -s f l", "", outcome{"", 0}},
		{"stat -c %F l", "", outcome{"symbolic link\n", 0}},
		{"stat -L -c %F l", "", outcome{"regular file\n", 0}},
		{"readlink l", "", outcome{"f\n", 0}},
		{"mkdir -p d/e", "", outcome{"", 0}},
		{"cp f d/e/g", "", outcome{"", 0}},
		{"mv d/e/g d/h", "", outcome{"", 0}},
		{"touch d/i", "", outcome{"", 0}},
		{"chmod 600 d/i", "", outcome{"", 0}},
		{"ls d", "", outcome{"e\nh\ni\n", 0}},
		{"rm -r d", "", outcome{"", 0}},
		{"ls", "", outcome{"f\nl\n", 0}},
		{"env", "", outcome{"PATH=" + b.bin + "\nGREETING=hello\n", 0}},
		{"env A=1 sh -c echo~$A", "", outcome{"1\n", 0}},
		{"env nosuch", "", outcome{"", 127}},
		{"hostname", "", outcome{host + "\n", 0}},
		{"pwd", "", outcome{b.work + "\n", 0}},
		{"id -u", "", outcome{"0\n", 0}},
		{"seq 3", "", outcome{"1\n2\n3\n", 0}},
		{"seq 2 3", "", outcome{"2\n3\n", 0}},
		{"seq few", "", outcome{"", 2}},
		{"head -n 1", "a\nb\n", outcome{"a\n", 0}},
		{"tail -n 2", "a\nb\nc\n", outcome{"b\nc\n", 0}},
		{"wc -l", "a\nb\n", outcome{"2\n", 0}},
		{"wc -c", "a\nb\n", outcome{"4\n", 0}},
		{"wc", "a\nb\n", outcome{"2 4\n", 0}},
		{"grep -v a", "a\nb\n", outcome{"b\n", 0}},
		{"grep -qi A", "a\n", outcome{"", 0}},
		{"grep z", "a\n", outcome{"", 1}},
		{"eat-memory much", "", outcome{"", 2}},
		{"date now", "", outcome{"", 2}},
		{"date -u +%Z", "", outcome{"UTC\n", 0}},
		{"test -f f", "", outcome{"", 0}},
		{"test -f missing", "", outcome{"", 1}},
		{"[ a = b ]", "", outcome{"", 1}},
		{"printf %s-%03d\\n x 7", "", outcome{"x-007\n", 0}},
		{"kill -0 1", "", outcome{"", 0}},
		{"kill -NOSUCH 1", "", outcome{"", 2}},
	} {
		args := strings.Fields(tt.command)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		assert.Deep(t, tt.command, tt.want, b.run(t, tt.stdin, args...))
	}
}

func TestListNamesEveryApplet(t *testing.T) {
	b := newBox(t)
	listed := strings.Fields(b.run(t, "", "toolbox", "--list").Stdout)
	for _, name := range []string{"sh", "sleep", "[", "ls"} {
		assert.True(t, strings.Contains(" "+strings.Join(listed, " ")+" ", " "+name+" "), "%q is not in %q", name, listed)
	}
}
