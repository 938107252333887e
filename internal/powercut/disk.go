// Package powercut gives tests a disk whose power they can cut: what is not on
// the disk by then is lost. It needs root.
package powercut

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// Disk is an ext4 file system of a test's own, which ends with the test.
type Disk struct {
	Dir string // where it is mounted

	t     *testing.T
	image string
}

// NewDisk makes an empty file system and mounts it.
func NewDisk(t *testing.T) Disk {
	t.Helper()
	parent := t.TempDir()
	d := Disk{Dir: filepath.Join(parent, "disk"), t: t, image: filepath.Join(parent, "image")}
	assert.Must(t, os.Mkdir(d.Dir, 0o700))
	assert.Must(t, os.WriteFile(d.image, nil, 0o600))
	assert.Must(t, os.Truncate(d.image, 16<<20))
	d.command("mkfs.ext4", "-q", d.image)
	d.mount()
	t.Cleanup(func() { d.command("umount", d.Dir) })
	return d
}

// Settle writes to the disk all that is not there yet, so that a later Cut shows
// what the code between them has made durable.
func (d Disk) Settle() {
	d.t.Helper()
	d.command("sync", "-f", d.Dir)
}

// Cut loses all that is not on the disk, and mounts what is. No file of the disk
// may be open.
func (d Disk) Cut() {
	d.t.Helper()
	const shutdown, noLogFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, and the flag that the journal is lost, too
	dir, err := os.Open(d.Dir)
	assert.Must(d.t, err)
	if err := unix.IoctlSetPointerInt(int(dir.Fd()), shutdown, noLogFlush); err != nil {
		d.t.Fatalf("cut the power of %s: %v", d.Dir, err)
	}
	assert.Must(d.t, dir.Close())
	d.command("umount", d.Dir)
	d.mount()
}

func (d Disk) mount() {
	d.t.Helper()
	d.command("mount", "-t", "ext4", "-o", "loop", d.image, d.Dir)
}

func (d Disk) command(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
