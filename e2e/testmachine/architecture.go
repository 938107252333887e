package testmachine

import (
	"fmt"
	"runtime"
)

// architecture is the kind of processor that a machine has.
type architecture struct {
	debian    string // its name in Debian, and in Go
	qemu      string // its name in QEMU
	machine   string // QEMU's name of a machine that has it
	processor string // QEMU's name of the one that is emulated
	console   string // the kernel's name of the serial console
	suite     string // Debian's release
}

// Five-level page tables, which max has, make emulation slower; so do the pointers that
// are signed of the arm64 processors after neoverse-n1.
var architectures = []architecture{
	{debian: "amd64", qemu: "x86_64", machine: "q35", processor: "max,la57=off", console: "ttyS0"},
	{debian: "arm64", qemu: "aarch64", machine: "virt,gic-version=max", processor: "neoverse-n1", console: "ttyAMA0"},
}

func findArchitecture(name string) (architecture, error) {
	var known []string
	for _, one := range architectures {
		if one.debian == name {
			return one, nil
		}
		known = append(known, one.debian)
	}
	return architecture{}, fmt.Errorf("there is no test machine of architecture %q, only of %q", name, known)
}

// foreign says whether programs for it can't be run here.
func (a architecture) foreign() bool { return a.debian != runtime.GOARCH }

// runnable is a command that runs another one, which runs programs for the architecture.
// Debian's qemu-user-static has the kernel know them on a machine with systemd; elsewhere it
// does as long as the command runs.
func (a architecture) runnable(command []string) []string {
	if !a.foreign() {
		return command
	}
	const script = `qemu=$1; shift
! arch-test "$0" >/dev/null || exec "$@"
trap 'exit 1' INT TERM
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
cat "/usr/lib/binfmt.d/$qemu.conf" > /proc/sys/fs/binfmt_misc/register
trap 'echo -1 > "/proc/sys/fs/binfmt_misc/$qemu"' EXIT
"$@"`
	return append([]string{"unshare", "--mount", "sh", "-ec", script, a.debian, "qemu-" + a.qemu}, command...)
}
