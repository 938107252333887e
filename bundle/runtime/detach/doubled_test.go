package detach

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
)

// build makes a program of detach.c that does what its arguments say.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command("cc", "-static", "-Wall", "-Wextra", "-Werror", "-o", program, "detach.c", "testdata/main.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// begin executes the program and reads which process it has become.
func begin(t *testing.T, program string, args ...string) (cmd *exec.Cmd, pid int) {
	t.Helper()
	cmd = exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	if _, err := fmt.Fscanln(out, &pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) }) // most have ended
	return cmd, pid
}

func TestOnlyAStartIsDoubled(t *testing.T) {
	program := build(t)
	for _, args := range [][]string{nil, {"delete"}, {"start", "-id"}} {
		if out, err := exec.Command(program, args...).Output(); err != nil || string(out) != "alone" {
			t.Errorf("asked for %q it says %q, %v", args, out, err)
		}
	}
	// Without the socket's number there is no shim to be.
	cmd := exec.Command(program, "answer", "start")
	cmd.ExtraFiles = []*os.File{os.Stdin}
	if out, err := cmd.Output(); err != nil || string(out) != "alone" {
		t.Errorf("with a file of the socket's number it says %q, %v", out, err)
	}
}

func TestShimOutlivesItsStart(t *testing.T) {
	cmd, pid := begin(t, build(t), "-namespace", "k8s.io", "-publish-binary", "/bin/containerd", "-id", "a", "answer", "start")
	must.Succeed(t, cmd.Wait())
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		t.Fatalf("it ended with its start: %v", err)
	}
	if got := strings.TrimRight(string(line), "\x00"); got != "program\x00-id\x00a" {
		t.Errorf("its command line is %q", got)
	}
	if group, err := unix.Getpgid(pid); err != nil || group != pid {
		t.Errorf("its process group is %d, %v", group, err)
	}
}

func TestStartFailsWithItsShim(t *testing.T) {
	cmd, _ := begin(t, build(t), "fail", "start")
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the start ended with %v, want 7", err)
	}
}

func TestNoShimIsLeftOfAStartThatIsKilled(t *testing.T) {
	cmd, pid := begin(t, build(t), "hang", "start")
	must.Succeed(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for deadline := time.Now().Add(time.Minute); unix.Kill(pid, 0) == nil && !isZombie(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the shim that nobody knows of lives")
		}
	}
}

// isZombie says whether a process has ended and nobody has reaped it, which is this machine's init's to do.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
