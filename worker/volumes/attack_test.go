package volumes

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// swapper exchanges a folder of a volume with a link that leads out of it, as
// fast as it can, the way a hostile container would while another is started.
func swapper(t *testing.T, volume, outside string) (stop func()) {
	t.Helper()
	honest, evil := filepath.Join(volume, "d"), filepath.Join(volume, "evil")
	assert.Must(t, os.Mkdir(honest, 0o777))
	assert.Must(t, os.WriteFile(filepath.Join(honest, "inside"), nil, 0o600))
	assert.Must(t, os.Symlink(outside, evil))
	done, running := make(chan struct{}), sync.WaitGroup{}
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, honest, unix.AT_FDCWD, evil, unix.RENAME_EXCHANGE)
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// precious is a folder of the host with one file.
func precious(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "precious")
	assert.Must(t, os.WriteFile(file, []byte("x"), 0o600))
	return dir, file
}

// TestSubPathUnderAttack: while a folder is swapped for a link out of the volume
// (CVE-2017-1002101, CVE-2021-25741), a sub path is either refused or inside.
func TestSubPathUnderAttack(t *testing.T) {
	dir := testPodDir(t)
	m := prepare(t, podWith(emptyDirVolume("cache")), dir, objects{})
	volume, _ := m.Path("cache")
	outside, _ := precious(t)
	stop := swapper(t, volume, outside)
	defer stop()
	refused, inside := 0, 0
	for i := 0; i < 20000 && (i < 300 || refused == 0 || inside == 0); i++ {
		source, err := mountSubPath(m, "d")
		if err != nil {
			refused++
			continue
		}
		inside++
		_, err = os.Stat(filepath.Join(source, "precious"))
		assert.Require(t, err != nil, "try %d: A-VOL-3 the host's folder is mounted", i)
		_, _ = mountSubPath(m, "d/new/deep")
	}
	t.Logf("%d refused, %d inside", refused, inside)
	assert.True(t, refused != 0 && inside != 0, "%d refused, %d inside: the attack was never in time", refused, inside)
	entries, err := os.ReadDir(outside)
	assert.True(t, err == nil && len(entries) == 1, "the host's folder has %v, %v, want only precious", entries, err)
}

// TestOwnershipUnderAttack: the walk that gives a claim to the fsGroup is not
// led out of it.
func TestOwnershipUnderAttack(t *testing.T) {
	volume := t.TempDir()
	outside, file := precious(t)
	stop := swapper(t, volume, outside)
	defer stop()
	group := int64(2000)
	for range 300 {
		_ = own(volume, &group, false) // a swap may fail it; it is tried again
	}
	var stat unix.Stat_t
	for _, path := range []string{outside, file} {
		err := unix.Stat(path, &stat)
		assert.True(t, err == nil && stat.Gid != 2000, "%s: group %d, %v, want the host's", path, stat.Gid, err)
	}
}

// TestRemoveUnderAttack: a process that nobody could kill swaps folders while the
// pod's folder is deleted.
func TestRemoveUnderAttack(t *testing.T) {
	outside, file := precious(t)
	for range 30 {
		dir := testPodDir(t)
		m := prepare(t, podWith(emptyDirVolume("cache")), dir, objects{})
		volume, _ := m.Path("cache")
		stop := swapper(t, volume, outside)
		_ = Remove(dir)
		stop()
		_, err := os.Stat(file)
		assert.Require(t, err == nil, "B-FIN-6 deleted through a link: %v", err)
	}
}

// TestSubPathOfHostileNames: what a container may put in the way is an error
// that hides the host's paths, never a hang.
func TestSubPathOfHostileNames(t *testing.T) {
	dir := testPodDir(t)
	m := prepare(t, podWith(emptyDirVolume("cache")), dir, objects{})
	volume, _ := m.Path("cache")
	assert.Must(t, unix.Mkfifo(filepath.Join(volume, "pipe"), 0o600))
	assert.Must(t, os.Symlink("loop", filepath.Join(volume, "loop")))
	c := &v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "cache", MountPath: "/c", SubPath: "pipe"}}}
	assert.NoError(t, assert.ErrorOf(m.Mounts(c, MountInput{})), "a pipe can be mounted as any file")
	for _, path := range []string{"pipe/below", "loop", "loop/below"} {
		assert.Fails(t, assert.ErrorOf(mountSubPath(m, path)), path, ": no error")
	}
}

// TestRemoveDeeperThanFilesCanBeOpen: a container can make more folders, one in
// the other, than a process can open; the pod is removed all the same.
func TestRemoveDeeperThanFilesCanBeOpen(t *testing.T) {
	dir := testPodDir(t)
	volume, _ := prepare(t, podWith(emptyDirVolume("cache")), dir, objects{}).Path("cache")
	fd, err := unix.Open(volume, unix.O_PATH|unix.O_DIRECTORY, 0)
	for i := 0; i < 1000 && err == nil; i++ {
		if err = unix.Mkdirat(fd, "d", 0o700); err != nil {
			break
		}
		var next int
		next, err = unix.Openat(fd, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
		_ = unix.Close(fd)
		fd = next
	}
	assert.Must(t, err)
	_ = unix.Close(fd)
	var limit unix.Rlimit
	assert.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	few := unix.Rlimit{Cur: 300, Max: limit.Max}
	assert.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	removed := Remove(dir)
	assert.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	assert.True(t, removed == nil, "B-FIN-6 %v", removed)
	_, err = os.Lstat(dir)
	assert.True(t, os.IsNotExist(err), "the pod's folder is still there: %v", err)
}
