package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// TestTooLarge (A-ENV-11) asks the kernel, too: what is refused here can't be executed, what is just below can.
func TestTooLarge(t *testing.T) {
	most := 32 * os.Getpagesize()
	text := func(bytes int) string { return strings.Repeat("x", bytes) }
	one := func(bytes int) *specs.Process {
		return &specs.Process{Args: []string{"/bin/true"}, Env: []string{"BIG=" + text(bytes-len("BIG=")-1)}}
	}
	argument := func(bytes int) *specs.Process {
		return &specs.Process{Args: []string{"/bin/true", text(bytes - 1)}}
	}
	many := func(spare int) *specs.Process { // which fill what there is, but for the name of the program
		p := &specs.Process{Args: []string{"/bin/true"}}
		left := totalLimit(p) - 2*len("/bin/true\x00") - 8 - spare
		for ; left > 2000; left -= 1000 {
			name := fmt.Sprintf("A%04d=", len(p.Env))
			p.Env = append(p.Env, name+text(1000-8-1-len(name)))
		}
		p.Env = append(p.Env, "B="+text(left-8-1-len("B=")))
		return p
	}
	for _, c := range []struct {
		name string
		p    *specs.Process
		want string
	}{
		{"nothing", nil, ""},
		{"a variable that just fits", one(most), ""},
		{"a variable too large", one(most + 1), `argument list too long: environment variable "BIG" needs 131073 bytes, the kernel takes 131072`},
		{"an argument that just fits", argument(most), ""},
		{"an argument too large", argument(most + 1), "argument list too long: argument 1 needs 131073 bytes, the kernel takes 131072"},
		{"all just fits", many(0), ""},
		{"all too large", many(-30), "environment variables need"},
	} {
		err := tooLarge(c.p)
		assert.True(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want) || os.Getpagesize() != 4096), "%s: %v, want %q", c.name, err, c.want)
		if c.p == nil {
			continue
		}
		begun := (&exec.Cmd{Path: "/bin/true", Args: c.p.Args, Env: c.p.Env}).Run()
		if refused := errors.Is(begun, syscall.E2BIG); refused != (c.want != "") {
			t.Errorf("%s: the kernel says %v", c.name, begun)
		}
	}
}

func TestStackLimitOfItsOwn(t *testing.T) {
	p := &specs.Process{Rlimits: []specs.POSIXRlimit{{Type: "RLIMIT_STACK", Soft: 4 << 20}}}
	if got := totalLimit(p); got != 1<<20 {
		t.Errorf("%d bytes, want 1 MiB", got)
	}
	p.Rlimits[0].Soft = 1
	if got := totalLimit(p); got != leastTotal {
		t.Errorf("%d bytes, want %d", got, leastTotal)
	}
}

func TestWithLimit(t *testing.T) {
	limit := int64(1 << 20)
	spec := &specs.Spec{Linux: &specs.Linux{Resources: &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: &limit}}}}
	low := errors.New("container init was OOM-killed (memory limit too low?)")
	if got := withLimit(low, spec); !errors.Is(got, low) || got.Error() != low.Error()+": the limit is 1048576 bytes" {
		t.Error(got)
	}
	if other := errors.New("other"); withLimit(other, spec) != other || withLimit(low, &specs.Spec{Linux: &specs.Linux{}}) != low { //nolint:errorlint // the very same errors
		t.Error("an error that has nothing to do with it was changed")
	}
}
