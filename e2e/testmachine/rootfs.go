package testmachine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suite is Debian 12.
const suite = "bookworm"

// packages are installed besides the essential ones, without what they recommend.
var packages = []string{
	"apparmor", "bash", "dbus", "e2fsprogs", "iproute2", "kmod", "linux-image-amd64",
	"nftables", "procps", "python3-minimal", "systemd-sysv", "udev", "util-linux",
}

// bootstrapArguments are those of mmdebstrap but for the archive. The initial RAM disk
// needs nothing but the modules of the disk; a small one is read faster.
var bootstrapArguments = []string{
	"--mode=root", "--variant=minbase", "--include=" + strings.Join(packages, ","),
	`--aptopt=Acquire::Languages "none"`,
	`--aptopt=APT::Install-Recommends "false"`,
	"--essential-hook=mkdir -p $1/etc/initramfs-tools/conf.d $1/usr/share/initramfs-tools/modules.d",
	"--essential-hook=echo MODULES=list > $1/etc/initramfs-tools/conf.d/testmachine",
	`--essential-hook=printf 'virtio_pci\nvirtio_blk\next4\n' > $1/usr/share/initramfs-tools/modules.d/testmachine`,
}

// rootArchive is the archive of the root file system, made if it is not there yet.
func rootArchive(cache string, log io.Writer) (string, error) {
	path := filepath.Join(cache, "root-"+archiveKey()+".tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := removeOthers(cache); err != nil {
		return "", err
	}
	fmt.Fprintln(log, "making the root file system of the test machine, which is kept for the next time")
	part := path + ".part.tar" // mmdebstrap goes by the suffix
	cmd := exec.Command("mmdebstrap", append(bootstrapArguments, suite, part)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("mmdebstrap: %w\n%s", err, out), os.Remove(part))
	}
	return path, os.Rename(part, path)
}

// archiveKey names all that goes into the root file system.
func archiveKey() string {
	sum := sha256.Sum256([]byte(suite + "\n" + strings.Join(bootstrapArguments, "\n")))
	return hex.EncodeToString(sum[:6])
}

// removeOthers removes archives of other contents: each has half a gigabyte.
func removeOthers(cache string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(cache, "root-*.tar"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
