package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/lifecycle"
)

// Kernel is what a node's configuration may want of this machine's.
type Kernel struct {
	CgroupV1 bool
	Proc     string // where it is mounted
}

// ThisKernel is the one that runs.
func ThisKernel() Kernel {
	return Kernel{CgroupV1: !cgroups.IsCgroup2UnifiedMode(), Proc: "/proc"}
}

// SwapOn says whether the machine has swap in use.
func (k Kernel) SwapOn() (bool, error) {
	table, err := os.ReadFile(filepath.Join(k.Proc, "swaps"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // a kernel without swap
	}
	if err != nil {
		return false, fmt.Errorf("look for swap: %w", err)
	}
	return bytes.Count(bytes.TrimSpace(table), []byte("\n")) > 0, nil
}

// MaxPIDs is how many processes and threads the machine can have.
func (k Kernel) MaxPIDs() (int64, error) {
	least := int64(math.MaxInt64)
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := os.ReadFile(filepath.Join(k.Proc, "sys/kernel", name))
		if err != nil {
			return 0, fmt.Errorf("read the kernel's limit of processes: %w", err)
		}
		count, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the kernel's limit of processes, kernel.%s: %w", name, err)
		}
		least = min(least, count)
	}
	return least, nil
}

// kubernetesSettings are the kernel's settings that Kubernetes relies on (A-RES-2).
var kubernetesSettings = []struct {
	name string
	want int
}{
	{"vm.overcommit_memory", 1},
	{"vm.panic_on_oom", 0},
	{"kernel.panic", 10},
	{"kernel.panic_on_oops", 1},
	{"kernel.keys.root_maxkeys", 1000000},
	{"kernel.keys.root_maxbytes", 25000000},
}

// Unexpected are the settings that differ from those that Kubernetes relies on, each as
// a sentence.
func (k Kernel) Unexpected() ([]string, error) {
	var out []string
	for _, s := range kubernetesSettings {
		text, err := os.ReadFile(filepath.Join(k.Proc, "sys", filepath.Join(strings.Split(s.name, ".")...)))
		if err != nil {
			return nil, fmt.Errorf("read the kernel's setting %s: %w", s.name, err)
		}
		if is := strings.TrimSpace(string(text)); is != strconv.Itoa(s.want) {
			out = append(out, fmt.Sprintf("%s is %s: should be %d", s.name, is, s.want))
		}
	}
	return out, nil
}

// BootID is another one after each start of the machine.
func BootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the machine's boot ID: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Clock says how the wall clock stands to the clock that counts since the machine's
// start, which nobody can set. It is zero where that is not known.
func Clock() lifecycle.Clock {
	boot, err := BootID()
	var since unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &since) != nil {
		return lifecycle.Clock{}
	}
	return lifecycle.Clock{Boot: boot, Started: time.Now().Add(-time.Duration(since.Nano())).UTC()}
}
