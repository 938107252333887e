package testmachine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// bookworm is Debian 12.
const bookworm = "bookworm"

// packages are installed besides the essential ones, without what they recommend.
func (a architecture) packages() string {
	return strings.Join([]string{
		"apparmor", "bash", "crun", "dbus", "e2fsprogs", "iproute2", "kmod", "linux-image-" + a.debian,
		"nftables", "procps", "python3-minimal", "systemd-sysv", "udev", "util-linux",
	}, ",")
}

// ramDisk configures the initial RAM disk of the root file system $1. It needs nothing but
// the modules of the disk; a small one is read faster.
const ramDisk = `mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
echo MODULES=list > "$1/etc/initramfs-tools/conf.d/testmachine"
printf 'virtio_pci\nvirtio_blk\next4\n' > "$1/usr/share/initramfs-tools/modules.d/testmachine"`

// bootstrap is the command that makes an archive of the root file system, but for the path.
func (a architecture) bootstrap() []string {
	return []string{
		"mmdebstrap", "--mode=root", "--architectures=" + a.debian, "--variant=minbase", "--include=" + a.packages(),
		`--aptopt=Acquire::Languages "none"`,
		`--aptopt=APT::Install-Recommends "false"`,
		"--essential-hook=" + ramDisk, a.suite,
	}
}

// rootArchive is the archive of the root file system, made if it is not there yet.
func rootArchive(cache string, a architecture, log io.Writer) (string, error) {
	path := filepath.Join(cache, a.archivePrefix()+a.archiveKey()+".tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := a.removeOthers(cache); err != nil {
		return "", err
	}
	fmt.Fprintln(log, "making the root file system of the test machine, which is kept for the next time")
	part := path + ".part.tar" // mmdebstrap goes by the suffix
	args := a.runnable(append(a.bootstrap(), part))
	if err := command(args[0], args[1:]...); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	return path, os.Rename(part, path)
}

// archiveKey names all that goes into the root file system.
func (a architecture) archiveKey() string {
	sum := sha256.Sum256([]byte(strings.Join(a.bootstrap(), "\n")))
	return hex.EncodeToString(sum[:6])
}

// archivePrefix begins the names of archives of that release and architecture.
func (a architecture) archivePrefix() string {
	if a.suite == bookworm {
		return "root-" + a.debian + "-"
	}
	return "root-" + a.suite + "-" + a.debian + "-"
}

// removeOthers removes such archives of other contents: each has half a gigabyte.
func (a architecture) removeOthers(cache string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(cache, a.archivePrefix()+"*.tar"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
