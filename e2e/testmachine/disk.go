package testmachine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// diskSize is that of a small server; the file is sparse.
const diskSize = "8G"

// filesOf are those of a machine, by path. The scripts' service is not what is tested: it
// outlives its time limits, and what scripts leave in the background outlives it.
func filesOf(n Number) map[string]string {
	return map[string]string{
		"etc/hostname": n.Name() + "\n",
		"etc/hosts":    "127.0.0.1 localhost\n127.0.1.1 " + n.Name() + "\n",
		"etc/fstab":    "/dev/vda / ext4 defaults 0 1\n",
		"etc/systemd/system/testmachine.service": `[Unit]
Description=scripts of the tests
Requires=dev-virtio\x2dports-lifepod.test.device
After=dev-virtio\x2dports-lifepod.test.device systemd-networkd.service dbus.service

[Service]
ExecStart=/usr/local/sbin/testmachine-guest
KillMode=process
Delegate=yes
OOMScoreAdjust=-1000
`,
		"etc/systemd/network/10-test.network": `[Match]
Type=ether
Name=en*

[Network]
Address=` + n.Address() + `/24
Gateway=10.0.2.1
LinkLocalAddressing=no
`,
		// Emulation takes its time, which is not the units' fault.
		"etc/systemd/system.conf.d/slow.conf":   "[Manager]\nDefaultTimeoutStartSec=600s\nDefaultDeviceTimeoutSec=600s\n",
		"etc/systemd/journald.conf.d/keep.conf": "[Journal]\nStorage=persistent\nRateLimitBurst=0\n",
	}
}

// links are symbolic ones, path and target. A getty would reset the console.
var links = map[string]string{
	"etc/systemd/system/multi-user.target.wants/testmachine.service":                      "../testmachine.service",
	"etc/systemd/system/multi-user.target.wants/systemd-networkd.service":                 "/lib/systemd/system/systemd-networkd.service",
	"etc/systemd/system/network-online.target.wants/systemd-networkd-wait-online.service": "/lib/systemd/system/systemd-networkd-wait-online.service",
	"etc/systemd/system/getty.target":                                                     "/dev/null",
	"etc/systemd/system/apt-daily.timer":                                                  "/dev/null",
	"etc/systemd/system/apt-daily-upgrade.timer":                                          "/dev/null",
}

// makeDisk makes disk, kernel and initial RAM disk of the machine in the folder work.
func makeDisk(c Config, archive, work string) error {
	root := filepath.Join(work, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }()
	if err := command("tar", "-xf", archive, "-C", root); err != nil {
		return err
	}
	if err := addFiles(c, root); err != nil {
		return err
	}
	for from, to := range map[string]string{"vmlinuz": "kernel", "initrd.img": "initrd"} {
		found, err := filepath.Glob(filepath.Join(root, "boot", from+"-*"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("the root file system has %d files boot/%s-*, not one: %w", len(found), from, err)
		}
		if err := os.Rename(found[0], filepath.Join(work, to)); err != nil {
			return err
		}
	}
	return command("mke2fs", "-q", "-t", "ext4", "-d", root, filepath.Join(work, "disk"), diskSize)
}

// packagePath is where the machine finds lifepod's package when it boots first.
const packagePath = "/lifepod.deb"

// addFiles adds what is tested, and what runs the tests' scripts.
func addFiles(c Config, root string) error {
	if err := command("cp", c.Package, filepath.Join(root, packagePath)); err != nil {
		return err
	}
	if err := command("cp", "-r", filepath.Join(c.Repository, "examples"), filepath.Join(root, "root", "examples")); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(root, "usr/local/sbin/testmachine-guest"), "./e2e/testmachine/guest")
	build.Dir = c.Repository
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+c.Architecture)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the guest's program: %w\n%s", err, out)
	}
	for path, text := range filesOf(c.Number) {
		if err := makeFile(filepath.Join(root, path), func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }); err != nil {
			return err
		}
	}
	for path, target := range links {
		if err := makeFile(filepath.Join(root, path), func(path string) error { return os.Symlink(target, path) }); err != nil {
			return err
		}
	}
	return nil
}

// makeFile calls what makes the file at path, in whose place nothing is then.
func makeFile(path string, write func(path string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return write(path)
}

// command is an error with the program's output if it fails.
func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), errors.New(string(out)))
	}
	return nil
}
