//go:build cgo && seccomp

package filters

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/seccomp"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// This program is what becomes a container's process, too: it has its filter loaded, and says what getppid answers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "init" {
		if _, err := seccomp.InitSeccomp(refusing("getppid")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _, errno := unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		fmt.Println(int(errno))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// refusing is a profile that allows all calls but those, which get ENOTTY.
func refusing(calls ...string) *configs.Seccomp {
	errno := uint(unix.ENOTTY)
	profile := &configs.Seccomp{DefaultAction: configs.Allow}
	for _, call := range calls {
		profile.Syscalls = append(profile.Syscalls, &configs.Syscall{Name: call, Action: configs.Errno, ErrnoRet: &errno})
	}
	return profile
}

func newBundle(t *testing.T) string {
	t.Helper()
	bundle := t.TempDir()
	assert.Must(t, os.Mkdir(filepath.Join(bundle, "rootfs"), 0o755))
	return bundle
}

// begin begins a process as runc's library does, and returns what it says.
func begin(t *testing.T, bundle, action string) string {
	t.Helper()
	own := assert.Get(os.Executable()).Must(t)
	cmd := exec.Command(own, action)
	cmd.Dir = filepath.Join(bundle, "rootfs")
	out, err := cmd.Output()
	assert.Require(t, err == nil, "%v: %s", err, out)
	return strings.TrimSpace(string(out))
}

func provided(t *testing.T, bundle string) []byte {
	t.Helper()
	return assert.Get(os.ReadFile(filepath.Join(bundle, fileName))).Must(t)
}

// What is provided is what libseccomp makes of the profile, and nothing is loaded into the process that has it made.
func TestFilterIsLibseccomps(t *testing.T) {
	bundle := newBundle(t)
	assert.Must(t, Cache(filepath.Join(bundle, "filters")).Provide(bundle, refusing("getppid", "personality")))
	filter, err := libseccomp.NewFilter(libseccomp.ActAllow)
	assert.Must(t, err)
	for _, name := range []string{"getppid", "personality"} {
		call, err := libseccomp.GetSyscallFromName(name)
		assert.Must(t, err)
		assert.Must(t, filter.AddRule(call, libseccomp.ActErrno.SetReturnCode(int16(unix.ENOTTY))))
	}
	file := assert.Get(os.Create(filepath.Join(bundle, "want"))).Must(t)
	assert.Must(t, filter.ExportBPF(file), file.Close())
	want, err := os.ReadFile(file.Name())
	assert.Require(t, err == nil && len(want) != 0, "%d bytes, %v", len(want), err)
	assert.True(t, bytes.Equal(provided(t, bundle), want), "the filter is another one than libseccomp makes")
	status, err := os.ReadFile("/proc/thread-self/status")
	assert.True(t, err == nil && strings.Contains(string(status), "\nSeccomp:\t0\n"), "this process is confined (%v)", err)
}

// The process takes the filter that lies in its bundle, and has it made if there is none.
func TestProcessTakesTheFilter(t *testing.T) {
	notTTY, allowed := fmt.Sprint(int(unix.ENOTTY)), "0"
	bundle := newBundle(t)
	assert.Equal(t, notTTY, begin(t, bundle, "init"), "without a filter in the bundle")
	cache := Cache(filepath.Join(bundle, "filters"))
	assert.Must(t, cache.Provide(bundle, refusing("getppid")))
	assert.Equal(t, notTTY, begin(t, bundle, "init"), "with its filter")
	if err := cache.Provide(bundle, refusing("personality")); err != nil { // shows whose filter it is
		t.Fatal(err)
	}
	assert.Equal(t, allowed, begin(t, bundle, "init"), "with another filter")
	assert.Must(t, os.Truncate(filepath.Join(bundle, fileName), 12))
	assert.Equal(t, notTTY, begin(t, bundle, "init"), "with a damaged filter")
}

// A filter is made once for each profile, and again if what was kept is damaged.
func TestFilterIsMadeOnce(t *testing.T) {
	bundle := newBundle(t)
	cache := Cache(filepath.Join(bundle, "filters"))
	kept := func() string {
		t.Helper()
		files, err := os.ReadDir(string(cache))
		assert.Require(t, err == nil && len(files) == 1, "%d filters are kept, %v", len(files), err)
		return filepath.Join(string(cache), files[0].Name())
	}
	for range 2 {
		assert.Must(t, cache.Provide(bundle, refusing("getppid")))
	}
	filter, other := provided(t, bundle), []byte("12345678")
	assert.Must(t, cache.keep(kept(), other))
	if err := cache.Provide(bundle, refusing("getppid")); err != nil || !bytes.Equal(provided(t, bundle), other) {
		t.Errorf("what is kept is not provided (%v)", err)
	}
	assert.Must(t, os.Truncate(kept(), 39))
	if err := cache.Provide(bundle, refusing("getppid")); err != nil || !bytes.Equal(provided(t, bundle), filter) {
		t.Errorf("a damaged filter is provided (%v)", err)
	}
}

// What can't be made a filter of, the process itself has to refuse, in runc's words.
func TestNoFilter(t *testing.T) {
	bundle := newBundle(t)
	cache := Cache(filepath.Join(bundle, "filters"))
	assert.NoError(t, cache.Provide(bundle, nil))
	wrong := refusing("getppid")
	wrong.Architectures = []string{"pdp11"}
	assert.Fails(t, cache.Provide(bundle, wrong), "a filter was made for a machine that libseccomp doesn't know")
	if _, err := os.Stat(filepath.Join(bundle, fileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a filter (%v)", err)
	}
}

// However many profiles there are, few filters are kept.
func TestFewFiltersAreKept(t *testing.T) {
	cache := Cache(filepath.Join(t.TempDir(), "filters"))
	for n := range 2*most + 1 {
		assert.Must(t, cache.keep(filepath.Join(string(cache), fmt.Sprint(n)), []byte("12345678")))
	}
	if files, err := os.ReadDir(string(cache)); err != nil || len(files) != 1 {
		t.Errorf("%d filters are kept, %v", len(files), err)
	}
}
