package leftovers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/sys/mountinfo"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// fakeProc is a /proc of the given processes.
type fakeProcess struct {
	pid       int
	program   string
	arguments []string
	state     string
	parent    int
}

func fakeSystem(t *testing.T, processes ...fakeProcess) system {
	t.Helper()
	proc := t.TempDir()
	for _, p := range processes {
		folder := filepath.Join(proc, strconv.Itoa(p.pid))
		write(t, filepath.Join(folder, "cmdline"), strings.Join(p.arguments, "\x00")+"\x00")
		state := p.state
		if state == "" {
			state = "S"
		}
		write(t, filepath.Join(folder, "stat"), strconv.Itoa(p.pid)+" (a) b) "+state+" "+strconv.Itoa(p.parent)+
			" 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 777 20"+strings.Repeat(" 0", 29))
		assert.Must(t, os.Symlink(p.program, filepath.Join(folder, "exe")))
	}
	return system{proc: proc, cgroup: t.TempDir(), run: func(context.Context, string, string, ...string) (string, error) {
		return "", errors.New("not installed")
	}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.Must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestFindProcesses(t *testing.T) {
	const root, run = "/srv/pods", "/run/pods"
	s := fakeSystem(t,
		fakeProcess{pid: 11, program: root + "/bundle/x/bin/containerd-shim-runc-v2 (deleted)",
			arguments: []string{root + "/bundle/x/bin/containerd-shim-runc-v2", "-id", "abc"}},
		fakeProcess{pid: 12, program: root + "/bundle/x/bin/containerd",
			arguments: []string{root + "/bundle/x/bin/containerd", "--config", root + "/containerd.toml"}},
		fakeProcess{pid: 13, program: "/usr/bin/containerd-shim-runc-v2",
			arguments: []string{"shim", "-address", run + "/containerd.sock"}},
		fakeProcess{pid: 14, program: "/usr/bin/containerd",
			arguments: []string{"containerd", "--address=unix://" + run + "/containerd.sock"}},
		fakeProcess{pid: 21, program: "/usr/bin/vim", arguments: []string{"vim", root + "/containerd.toml"}},
		fakeProcess{pid: 22, program: "/usr/bin/containerd", arguments: []string{"containerd", "--address", "/run/containerd/containerd.sock"}},
		fakeProcess{pid: 23, program: root + "-2/bin/containerd", arguments: []string{"containerd", run + "-2/x"}},
		fakeProcess{pid: 24, program: root + "/bin/runc", arguments: []string{"runc"}, state: "Z"},
		fakeProcess{pid: 30, program: root + "/bin/lifepod", arguments: []string{"lifepod"}},
		fakeProcess{pid: os.Getpid(), program: root + "/bin/lifepod", arguments: []string{"lifepod"}, parent: 30},
	)
	found := assert.Get(s.findProcesses(Place{Root: root, RunDir: run})).Must(t)
	var got []string
	for _, leftover := range found {
		got = append(got, leftover.Name)
	}
	assert.Deep(t, "processes, containerd first", []string{"12", "14", "11", "13"}, got)
	assert.Equal(t, (pidfd.ID{PID: 12, StartTicks: 777}), found[0].process, "identity")
}

func TestFindCgroups(t *testing.T) {
	for _, c := range []struct {
		name    string
		folders []string
		want    []Leftover
	}{
		{"v1", []string{"memory/lifepod/pod1/c", "pids/lifepod", "cpu/other"}, []Leftover{
			{Kind: Cgroup, Name: "memory/lifepod", Detail: "2 cgroups below it, 0 processes"},
			{Kind: Cgroup, Name: "pids/lifepod", Detail: "0 cgroups below it, 0 processes"},
		}},
		{"v2", []string{"lifepod/pod1", "lifepod-2", "system.slice/lifepod"}, []Leftover{
			{Kind: Cgroup, Name: "lifepod", Detail: "1 cgroup below it, 0 processes"},
		}},
		{"v2 by systemd", []string{"lifepod.slice/lifepod-pod1.slice", "lifepod_2.slice"}, []Leftover{
			{Kind: Cgroup, Name: "lifepod.slice", Detail: "1 cgroup below it, 0 processes"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fakeSystem(t)
			for _, folder := range c.folders {
				assert.Must(t, os.MkdirAll(filepath.Join(s.cgroup, folder), 0o755))
			}
			if c.name != "v1" {
				write(t, filepath.Join(s.cgroup, "cgroup.controllers"), "cpu memory pids\n")
			}
			got := assert.Get(s.findCgroups(Place{CgroupParent: "/lifepod"})).Must(t)
			for i := range got {
				got[i].Name, _ = filepath.Rel(s.cgroup, got[i].Name)
			}
			assert.Deep(t, "cgroups", c.want, got, cmpopts.IgnoreUnexported(Leftover{}))
		})
	}
}

// An empty parent must never mean the whole hierarchy.
func TestNoPlaceFindsNothing(t *testing.T) {
	s := fakeSystem(t)
	assert.Must(t, os.MkdirAll(filepath.Join(s.cgroup, "memory", "x"), 0o755))
	for _, place := range []Place{{}, {CgroupParent: "/"}, {CgroupParent: ".."}, {Root: "/", RunDir: "/"}} {
		found, err := s.find(t.Context(), place)
		assert.True(t, len(found) == 0 && err == nil, "place %+v: want nothing, got %v, %v", place, found, err)
	}
}

func TestIsDisk(t *testing.T) {
	for _, c := range []struct {
		mount mountinfo.Info
		want  bool
	}{
		{mountinfo.Info{Root: "/", Source: "/dev/sdb1", FSType: "ext4"}, true},
		{mountinfo.Info{Root: "/home/me/data", Source: "/dev/sda1", FSType: "ext4"}, false},
		{mountinfo.Info{Root: "/", Source: "overlay", FSType: "overlay"}, false},
		{mountinfo.Info{Root: "net:[4026]", Source: "nsfs", FSType: "nsfs"}, false},
	} {
		assert.Equal(t, c.want, isDisk(&c.mount), "isDisk(%s of %s)", c.mount.Root, c.mount.Source)
	}
}

func TestSweepSparesAnotherProcessOfThatPID(t *testing.T) {
	self := assert.Get(pidfd.Find(os.Getpid())).Must(t)
	self.StartTicks++
	assert.NoError(t, Sweep(t.Context(), []Leftover{{Kind: Process, process: self}}), "the process that asks")
}

// What unattended pods use is no leftover; folders of others are.
func TestWithout(t *testing.T) {
	found := []Leftover{
		{Kind: Process, Name: "7"}, {Kind: Cgroup, Name: "/lifepod"}, {Kind: Mount, Name: "/r/pods/u1/volumes/v"}, {Kind: Bridge, Name: "lp0"},
		{Kind: PodFolder, Name: "/r/pods/u1"}, {Kind: PodFolder, Name: "/r/pods/u2"}, {Kind: LogFolder, Name: "/r/logs/default_web_u1"},
		{Kind: PodRecord, Name: "/r/runs/u1.json"}, {Kind: PodRecord, Name: "/r/runs/u2.json"}, {Kind: RunFolder, Name: "/run/lifepod"},
	}
	want := []Leftover{{Kind: PodFolder, Name: "/r/pods/u2"}, {Kind: PodRecord, Name: "/r/runs/u2.json"}}
	assert.Deep(t, "", want, Without(found, []string{"u1"}, true), cmpopts.IgnoreUnexported(Leftover{}))
	got := Without(found, []string{"u1"}, false)
	assert.True(t, len(got) == 6, "while none of them runs: %v", got)
	got = Without(found, nil, false)
	assert.True(t, len(got) == len(found), "without unattended pods: %v", got)
}
