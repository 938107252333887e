package testmachine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/e2e/testmachine/wire"
)

// accelerator is a way in which QEMU runs a guest.
type accelerator struct {
	architecture
	name      string
	arguments []string
	boot      time.Duration // how long the machine may take to boot
	slack     int           // how many times as long as on a real machine things may take
}

const emulation = "emulation"

// accelerators are those to try, the fastest first. That the device is there does not
// mean that a guest boots with it.
func (a architecture) accelerators() []accelerator {
	hardware := accelerator{architecture: a, name: "KVM", arguments: []string{"-accel", "kvm", "-cpu", "host"}, boot: 90 * time.Second, slack: 2}
	software := accelerator{architecture: a, name: emulation, arguments: []string{"-accel", "tcg,thread=multi", "-cpu", a.processor}, boot: 10 * time.Minute, slack: 10}
	if _, err := os.Stat("/dev/kvm"); err != nil || a.foreign() {
		return []accelerator{software}
	}
	return []accelerator{hardware, software}
}

// kernelArguments does not repeat what Debian has by default (cgroup v2, AppArmor). A
// kernel that panics boots again, which ends QEMU only if it is told so: see -action.
func (c Config) kernelArguments() string {
	arguments := "root=/dev/vda rw panic=1 systemd.show_status=no"
	if c.CgroupV1 {
		arguments += " systemd.unified_cgroup_hierarchy=0"
	}
	return arguments
}

// qemu is the command that runs the machine.
func qemu(a accelerator, c Config) *exec.Cmd {
	work := c.Work
	args := append([]string{
		"-M", a.machine, "-smp", "2", "-m", "3072", "-nodefaults", "-no-user-config", "-display", "none",
		"-action", "panic=shutdown",
		"-kernel", filepath.Join(work, "kernel"), "-initrd", filepath.Join(work, "initrd"), "-append", c.kernelArguments() + " console=" + a.console,
		"-drive", "file=" + filepath.Join(work, "disk") + ",if=virtio,format=raw,cache=unsafe",
		"-device", "virtio-serial", "-chardev", "socket,id=port,server=on,wait=off,path=" + socket(work),
		"-device", "virtserialport,chardev=port,name=" + wire.Port,
		"-serial", "file:" + console(work),
		"-netdev", fmt.Sprintf("dgram,id=lan,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s", c.networkSocket(c.Number), c.networkSocket(3-c.Number)),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=lan,mac=52:54:00:12:34:%02x", int(c.Number)),
		"-device", "virtio-rng-pci",
	}, a.arguments...)
	cmd := exec.Command("qemu-system-"+a.qemu, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return cmd
}

// networkSocket gets the frames that are meant for a machine. Without that one, they are lost.
func (c Config) networkSocket(n Number) string { return filepath.Join(c.Network, n.Name()+".lan") }

func socket(work string) string  { return filepath.Join(work, "port") }
func console(work string) string { return filepath.Join(work, "console.log") }
