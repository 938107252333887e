package bundle

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// openRoot is a root as it is when the driver is settled.
func openRoot(t *testing.T) *Runtime {
	t.Helper()
	r := &Runtime{paths: Paths{Root: t.TempDir(), RunDir: t.TempDir()}}
	var err error
	r.users, err = tryLock(r.paths.usersLock(), unix.LOCK_SH)
	assert.Must(t, err)
	t.Cleanup(func() { r.users.Close() })
	return r
}

func TestDriverOfRoot(t *testing.T) {
	for name, test := range map[string]struct {
		before func(t *testing.T, p Paths)
		wanted CgroupDriver
		want   CgroupDriver
	}{
		"said":                    {wanted: Systemd, want: Systemd},
		"not said":                {want: Cgroupfs},
		"what the root has":       {before: has(Systemd), want: Systemd},
		"what the root has, said": {before: has(Systemd), wanted: Systemd, want: Systemd},
		"of an earlier lifepod":   {before: recorded, want: Cgroupfs},
		"changed without pods":    {before: has(Cgroupfs), wanted: Systemd, want: Systemd},
		"changed back":            {before: has(Systemd), wanted: Cgroupfs, want: Cgroupfs},
	} {
		t.Run(name, func(t *testing.T) {
			r := openRoot(t)
			if test.before != nil {
				test.before(t, r.paths)
			}
			got, err := r.driverOf(test.wanted)
			assert.True(t, err == nil && got == test.want && r.paths.usesSystemd() == (test.want == Systemd),
				"%s, %v; by systemd: %v", got, err, r.paths.usesSystemd())
		})
	}
}

// TestDriverInUse: pods keep the driver that they began with.
func TestDriverInUse(t *testing.T) {
	r := openRoot(t)
	has(Cgroupfs)(t, r.paths)
	other := assert.Get(tryLock(r.paths.usersLock(), unix.LOCK_SH)).Must(t)
	defer other.Close()
	assert.ErrorContains(t, "have cgroupfs: `lifepod --root "+r.paths.Root+" down` ends them", assert.ErrorOf(r.driverOf(Systemd)))
	assert.True(t, !r.paths.usesSystemd(), "the driver has changed under the pods")
}

func has(driver CgroupDriver) func(*testing.T, Paths) {
	return func(t *testing.T, p Paths) {
		assert.Must(t, os.Symlink(string(driver), p.cgroupDriver()))
	}
}

func recorded(t *testing.T, p Paths) {
	assert.Must(t, os.WriteFile(filepath.Join(p.RunDir, "containerd.json"), nil, 0o600))
}
