package features

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/proto"

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
)

// build makes a program of tell.c whose own part says that it began, and what its input is.
func build(t *testing.T) string {
	t.Helper()
	programs := filepath.Join(t.TempDir(), "bin")
	must.Succeed(t, os.Mkdir(programs, 0o755))
	cmd := exec.Command("cc", "-static", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(programs, "shim"), "tell.c", "-x", "c", "testdata/main.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return programs
}

func ask(t *testing.T, programs string, options []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "shim"), args...)
	cmd.Stdin = bytes.NewReader(options)
	out, err := cmd.Output()
	must.Succeed(t, err)
	return string(out)
}

// Only a question that was answered is answered again; all others reach Go, with their input.
func TestAnswerIsSentAgain(t *testing.T) {
	programs := build(t)
	options, answer := []byte("options\x00of runc"), []byte("features\x00\xff")
	if got := ask(t, programs, options, "-info"); got != "began: "+string(options) {
		t.Errorf("before it was answered: %q", got)
	}
	must.Succeed(t, keep(programs, options, answer))
	if got := ask(t, programs, options, "-info"); got != string(answer) {
		t.Errorf("afterwards: %q", got)
	}
	long := strings.Repeat("long", 16<<10)
	for _, other := range []string{"", "options", "options\x00of crun", long} {
		if got := ask(t, programs, []byte(other), "-info"); got != "began: "+other {
			t.Errorf("with other options, %d bytes: %.40q", len(other), got)
		}
	}
	for _, args := range [][]string{nil, {"-v"}, {"-info", "start"}} {
		if got := ask(t, programs, options, args...); got != "began: "+string(options) {
			t.Errorf("asked for %q: %q", args, got)
		}
	}
}

// An answer that is damaged is none.
func TestDamagedAnswer(t *testing.T) {
	programs := build(t)
	options, answer := []byte("options"), []byte("features")
	must.Succeed(t, keep(programs, options, answer))
	files, err := filepath.Glob(filepath.Join(filepath.Dir(programs), folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	whole, err := os.ReadFile(files[0])
	must.Succeed(t, err)
	for _, damaged := range [][]byte{nil, whole[:4], whole[:len(whole)-1], append(bytes.Clone(whole[:len(whole)-1]), 0)} {
		must.Succeed(t, os.WriteFile(files[0], damaged, 0o600))
		if got := ask(t, programs, options, "-info"); got != "began: options" {
			t.Errorf("with %d bytes in place of %d: %q", len(damaged), len(whole), got)
		}
	}
}

// said is a shim that says what it was asked for, of a runtime.
type said struct {
	shim.Shim
	runtime string
}

func (s said) Info(_ context.Context, question io.Reader) (*types.RuntimeInfo, error) {
	asked, err := io.ReadAll(question)
	if err != nil {
		return nil, err
	}
	opts, err := typeurl.MarshalAnyToProto(&options.Options{BinaryName: s.runtime})
	return &types.RuntimeInfo{Name: string(asked), Options: opts, Features: opts}, err
}

// What is said of the carried runtime is kept, and of no other.
func TestCarriedIsKept(t *testing.T) {
	programs := build(t)
	carried, other := filepath.Join(programs, "runc"), filepath.Join(programs, "crun")
	for _, path := range []string{carried, other} {
		must.Succeed(t, os.WriteFile(path, nil, 0o600))
	}
	for _, runtime := range []string{other, "", carried} {
		info, err := Shim{said{runtime: runtime}, carried}.Info(t.Context(), strings.NewReader("options"))
		if err != nil || info.Name != "options" {
			t.Fatalf("%v, %v", info, err)
		}
		answer, err := proto.Marshal(info)
		must.Succeed(t, err)
		if kept := ask(t, programs, []byte("options"), "-info") == string(answer); kept != (runtime == carried) {
			t.Errorf("what is said of %q is kept: %t", runtime, kept)
		}
	}
}
