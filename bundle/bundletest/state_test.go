//go:build realruntime

package bundletest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// newRoot is a state folder; at the end of the test nothing of it may be left
// in the kernel.
func newRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	t.Cleanup(func() { wantNothingLeft(t, root) })
	return root
}

func open(t *testing.T, root string) *bundle.Runtime {
	t.Helper()
	r, err := bundle.Open(t.Context(), bundle.Config{Root: root})
	assert.Must(t, err)
	t.Cleanup(func() { closeRuntime(t, r) })
	return r
}

func closeRuntime(t *testing.T, r *bundle.Runtime) {
	t.Helper()
	if err := r.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func locate(t *testing.T, root string) bundle.Paths {
	t.Helper()
	p, err := bundle.Locate(root, "")
	assert.Must(t, err)
	return p
}

// containerd is the pid of the containerd of a root, as recorded.
func containerd(t *testing.T, root string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(locate(t, root).RunDir, "containerd.json"))
	assert.Must(t, err)
	var record struct{ PID int }
	assert.Must(t, json.Unmarshal(text, &record))
	return record.PID
}

func killContainerd(t *testing.T, root string) {
	t.Helper()
	assert.Must(t, syscall.Kill(containerd(t, root), syscall.SIGKILL))
}

// programsOf lists the processes whose program lies below the root.
func programsOf(root string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		exe, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(exe, root+"/") {
			found = append(found, filepath.Base(filepath.Dir(link))+" "+exe)
		}
	}
	return found
}

// wantNothingLeft looks for processes, mounts, sockets, the bridge, packet
// filter rules and cgroups of a root.
func wantNothingLeft(t *testing.T, root string) {
	t.Helper()
	p := locate(t, root)
	got := programsOf(root)
	// A network plugin that containerd had called when it was ended goes on for a moment.
	for limit := time.Now().Add(time.Minute); len(got) > 0 && time.Now().Before(limit); got = programsOf(root) {
		time.Sleep(10 * time.Millisecond)
	}
	assert.True(t, len(got) == 0, "processes left: %q", got)
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, root) && !strings.HasPrefix(m.Mountpoint, p.RunDir), false
	})
	assert.Must(t, err)
	for _, m := range mounts {
		t.Errorf("mount left: %s", m.Mountpoint)
	}
	if _, err := os.Stat(p.RunDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("run folder left: %v", err)
	}
	if _, err := netlink.LinkByName(p.Bridge()); err == nil {
		t.Errorf("bridge left: %s", p.Bridge())
	}
	if name := strings.TrimPrefix(p.CgroupParent(), "/"); name != "" {
		v1, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
		v2, _ := filepath.Glob("/sys/fs/cgroup/" + name)
		left := slices.Concat(v1, v2)
		assert.True(t, len(left) == 0, "cgroups left: %q", left)
	}
	for _, listing := range [][]string{{"nft", "list", "tables"}, {"iptables", "-w", "-t", "nat", "-S"}} {
		out, _ := exec.Command(listing[0], listing[1:]...).Output()
		name := strings.TrimPrefix(p.CgroupParent(), "/lifepod-")
		assert.True(t, !strings.Contains(string(out), name) && !strings.Contains(string(out), "cni_hostport"), "%s: rules left:\n%s", listing[0], out)
	}
}

// sessionOf is the session of a process.
func sessionOf(t *testing.T, pid int) int {
	t.Helper()
	session, err := unix.Getsid(pid)
	if err != nil {
		t.Fatalf("session of %s: %v", strconv.Itoa(pid), err)
	}
	return session
}
