package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/unattended"
)

// verdict is a result with the advice shortened to whether there is any.
func verdict(result Result) string {
	text := fmt.Sprintf("%s: %s: %s", result.Name, result.Status, result.Found)
	if len(result.Advice) > 0 {
		text += " [advice]"
	}
	return text
}

type checkCase struct {
	name   string
	system fakeSystem
	files  map[string]string
	want   string
}

func testCheck(t *testing.T, check func(Host) Result, cases []checkCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Deep(t, "", c.want, verdict(check(hostWith(c.system, c.files))))
		})
	}
}

func TestKernel(t *testing.T) {
	testCheck(t, checkKernel, []checkCase{
		{"new", fakeSystem{release: "6.18.44-fc"}, nil, "kernel: ok: 6.18.44-fc"},
		{"5.10 is not 5.1", fakeSystem{release: "5.10.0-8-amd64"}, nil, "kernel: ok: 5.10.0-8-amd64"},
		{"two digits", fakeSystem{release: "7.0-rc1"}, nil, "kernel: ok: 7.0-rc1"},
		{"old for v2", fakeSystem{release: "5.4.0"}, nil, "kernel: warning: 5.4.0 [advice]"},
		{"too old", fakeSystem{release: "4.18.0-553.el8"}, nil, "kernel: error: 4.18.0-553.el8 [advice]"},
		{"unreadable", fakeSystem{release: "x"}, nil, `kernel: warning: unreadable version "x" [advice]`},
	})
}

func TestHostsFile(t *testing.T) {
	testCheck(t, checkHostsFile, []checkCase{
		{"there", fakeSystem{}, map[string]string{"etc/hosts": "127.0.0.1 localhost\n"}, "hosts file: ok: /etc/hosts is there"},
		{"minimal machine", fakeSystem{}, nil, "hosts file: error: there is no /etc/hosts [advice]"},
	})
}

func TestPrivileges(t *testing.T) {
	status := func(capabilities string) map[string]string {
		return map[string]string{"proc/self/status": "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t" + capabilities + "\n"}
	}
	testCheck(t, checkPrivileges, []checkCase{
		{"all", fakeSystem{}, status("000001ffffffffff"), "privileges: ok: root with every capability that matters"},
		{"no resource", fakeSystem{}, status("000001fffeffffff"), "privileges: warning: root without CAP_SYS_RESOURCE [advice]"},
		{"docker's set", fakeSystem{}, status("00000000a80425fb"), "privileges: error: root without CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SYS_RESOURCE [advice]"},
		{"user", fakeSystem{user: true}, status("0"), "privileges: warning: not root [advice]"},
		{"unreadable", fakeSystem{}, nil, "privileges: not checked: root; its capabilities can't be read from /proc/self/status"},
	})
}

func TestNamespaces(t *testing.T) {
	files := func(limit string, kinds ...string) map[string]string {
		all := map[string]string{"proc/sys/user/max_user_namespaces": limit}
		for _, kind := range kinds {
			all["proc/self/ns/"+kind] = ""
		}
		return all
	}
	base := []string{"mnt", "pid", "net", "ipc", "uts", "cgroup"}
	testCheck(t, checkNamespaces, []checkCase{
		{"all", fakeSystem{}, files("100", append(base, "user")...), "namespaces: ok: mnt, pid, net, ipc, uts, cgroup, user"},
		{"no user", fakeSystem{}, files("100", base...), "namespaces: warning: all but user namespaces [advice]"},
		{"user off", fakeSystem{}, files("0\n", append(base, "user")...), "namespaces: warning: user namespaces are switched off [advice]"},
		{"some", fakeSystem{}, files("0", "mnt", "pid", "ipc", "uts"), "namespaces: error: the kernel has no net, cgroup namespaces [advice]"},
	})
}

func TestSeccomp(t *testing.T) {
	const path = "proc/sys/kernel/seccomp/actions_avail"
	testCheck(t, checkSeccomp, []checkCase{
		{"filters", fakeSystem{}, map[string]string{path: "trap errno allow\n"}, "seccomp: ok: filters: trap errno allow"},
		{"none", fakeSystem{}, nil, "seccomp: error: the kernel has no seccomp filters [advice]"},
	})
}

func TestCgroups(t *testing.T) {
	const v2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	v1 := func(names ...string) string {
		text := "40 20 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		for i, name := range names {
			text += fmt.Sprintf("%d 20 0:%d / /sys/fs/cgroup/%s rw - cgroup cgroup rw,%s\n", 50+i, 50+i, name, name)
		}
		return text
	}
	files := func(mounts, controllers string) map[string]string {
		return map[string]string{"proc/self/mountinfo": mounts, "sys/fs/cgroup/cgroup.controllers": controllers}
	}
	testCheck(t, checkCgroups, []checkCase{
		{"v2", fakeSystem{}, files(v2, "cpuset cpu io memory pids\n"), "cgroups: ok: v2 with cpu, memory, pids"},
		{"v2 not delegated", fakeSystem{}, files(v2, "memory pids"), "cgroups: error: v2 without the controllers cpu [advice]"},
		{"v2 read-only", fakeSystem{}, files(strings.Replace(v2, "rw,nosuid", "ro,nosuid", 1), "cpu memory pids"), "cgroups: error: v2, but mounted read-only [advice]"},
		{"v1", fakeSystem{}, files(v1("cpu,cpuacct", "memory", "pids"), ""), "cgroups: warning: v1 with cpu, memory, pids [advice]"},
		{"v1 without memory", fakeSystem{}, files(v1("cpu", "pids"), ""), "cgroups: error: v1 without the controllers memory [advice]"},
		{"none", fakeSystem{}, files("25 1 8:1 / / rw - ext4 /dev/sda1 rw\n", ""), "cgroups: error: none mounted [advice]"},
		{"unreadable", fakeSystem{}, nil, "cgroups: not checked: the mounts can't be read: open proc/self/mountinfo: file does not exist"},
	})
}

func TestOverlay(t *testing.T) {
	testCheck(t, checkOverlay, []checkCase{
		{"built in", fakeSystem{}, map[string]string{"proc/filesystems": "nodev\tsysfs\nnodev\toverlay\n"}, "overlayfs: ok: in the kernel"},
		{"module", fakeSystem{release: "6.1"}, map[string]string{"lib/modules/6.1/modules.dep": "kernel/fs/overlayfs/overlay.ko.xz: kernel/x.ko\n"}, "overlayfs: ok: a module that is loaded when needed"},
		{"none", fakeSystem{release: "6.1"}, map[string]string{"lib/modules/6.1/modules.dep": "kernel/fs/nooverlay.ko:\n"}, "overlayfs: warning: the kernel doesn't have it [advice]"},
	})
}

func TestNetwork(t *testing.T) {
	broken := errors.New("make a bridge: operation not supported")
	testCheck(t, checkBridge, []checkCase{
		{"works", fakeSystem{}, nil, "bridge and veth: ok: can be made"},
		{"broken", fakeSystem{bridge: broken}, nil, "bridge and veth: error: make a bridge: operation not supported [advice]"},
		{"user", fakeSystem{user: true, bridge: broken}, nil, "bridge and veth: not checked: only root can try"},
	})
	testCheck(t, checkNAT, []checkCase{
		{"both", fakeSystem{programs: "iptables nft"}, nil, "address translation: ok: nft makes the rules that pods need"},
		{"one works", fakeSystem{programs: "iptables nft", nat: map[string]error{"nft": broken}}, nil, "address translation: ok: iptables makes the rules that pods need"},
		{"none", fakeSystem{}, nil, "address translation: error: neither nft nor iptables is installed [advice]"},
		{"broken", fakeSystem{programs: "nft", nat: map[string]error{"nft": errors.New("nft: exit status 1: no")}}, nil, "address translation: error: nft: exit status 1: no [advice]"},
		{"user", fakeSystem{user: true}, map[string]string{"usr/sbin/iptables": ""}, "address translation: not checked: iptables installed; only root can try"},
	})
	const flag = "proc/sys/net/bridge/bridge-nf-call-iptables"
	testCheck(t, checkBridgeFilter, []checkCase{
		{"on", fakeSystem{}, map[string]string{flag: "1\n"}, "br_netfilter: ok: loaded"},
		{"off", fakeSystem{}, map[string]string{flag: "0\n"}, "br_netfilter: warning: loaded, but switched off [advice]"},
		{"absent", fakeSystem{}, nil, "br_netfilter: warning: not loaded [advice]"},
	})
	const forward = "proc/sys/net/ipv4/ip_forward"
	testCheck(t, checkForwarding, []checkCase{
		{"on", fakeSystem{}, map[string]string{forward: "1\n"}, "IP forwarding: ok: on"},
		{"off", fakeSystem{}, map[string]string{forward: "0\n"}, "IP forwarding: ok: off; the first pod's network turns it on"},
	})
}

func TestResources(t *testing.T) {
	testCheck(t, checkMemory, []checkCase{
		{"plenty", fakeSystem{}, map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    2097152 kB\n"}, "memory: ok: 2GiB available"},
		{"scarce", fakeSystem{}, map[string]string{"proc/meminfo": "MemAvailable:    102400 kB\n"}, "memory: warning: 100MiB available [advice]"},
		{"unreadable", fakeSystem{}, nil, "memory: not checked: /proc/meminfo can't be read"},
	})
	limits := func(instances, watches string) map[string]string {
		return map[string]string{"proc/sys/fs/inotify/max_user_instances": instances, "proc/sys/fs/inotify/max_user_watches": watches}
	}
	testCheck(t, checkInotify, []checkCase{
		{"default", fakeSystem{}, limits("128\n", "65536\n"), "inotify: ok: 128 instances, 65536 watches per user"},
		{"few", fakeSystem{}, limits("64", "65536"), "inotify: warning: 64 instances, 65536 watches per user [advice]"},
	})
	testCheck(t, checkClock, []checkCase{
		{"right", fakeSystem{now: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)}, nil, "clock: ok: 2027-01-02 03:04:05 UTC"},
		{"unset", fakeSystem{now: time.Unix(0, 0)}, nil, "clock: warning: 1970-01-01 00:00:00 UTC is in the past [advice]"},
	})
}

func TestStateFolderAndDisk(t *testing.T) {
	const root = "/var/lib/lifepod"
	ext4 := FileSystem{Type: unix.EXT4_SUPER_MAGIC, SizeBytes: 100 << 30, FreeBytes: 50 << 30, Inodes: 100, FreeInodes: 90}
	with := func(change func(*FileSystem)) fakeSystem {
		fileSystem := ext4
		change(&fileSystem)
		return fakeSystem{fileSystem: fileSystem}
	}
	files := map[string]string{"var/lib/x": ""}
	testCheck(t, func(h Host) Result { return checkStateFolder(h, root) }, []checkCase{
		{"fits", fakeSystem{fileSystem: ext4}, files, "state folder: ok: /var/lib/lifepod can hold overlays"},
		{"NFS", with(func(f *FileSystem) { f.Type = unix.NFS_SUPER_MAGIC }), files, "state folder: warning: /var/lib/lifepod is on NFS, which can't hold overlays [advice]"},
		{"refused", fakeSystem{fileSystem: ext4, overlay: errors.New("invalid argument")}, files, "state folder: warning: /var/lib/lifepod can't hold overlays: invalid argument [advice]"},
		{"user", fakeSystem{fileSystem: ext4, user: true}, files, "state folder: not checked: /var/lib/lifepod: only root can try"},
	})
	testCheck(t, func(h Host) Result { return checkDisk(h, root) }, []checkCase{
		{"free", fakeSystem{fileSystem: ext4}, files, "disk space: ok: 50GiB free below /var/lib/lifepod (50%), 90% of the inodes"},
		{"btrfs", with(func(f *FileSystem) { f.Inodes = 0 }), files, "disk space: ok: 50GiB free below /var/lib/lifepod (50%)"},
		{"scarce", with(func(f *FileSystem) { f.FreeBytes = 5 << 30 }), files, "disk space: warning: 5GiB free below /var/lib/lifepod (5%), 90% of the inodes [advice]"},
		{"inodes", with(func(f *FileSystem) { f.FreeInodes = 3 }), files, "disk space: warning: 50GiB free below /var/lib/lifepod (50%), 3% of the inodes [advice]"},
		{"full", with(func(f *FileSystem) { f.FreeBytes = 1 << 20 }), files, "disk space: error: 1MiB free below /var/lib/lifepod (0%), 90% of the inodes [advice]"},
	})
}

func TestRuntime(t *testing.T) {
	answer := func(version string, err error) Options {
		return Options{Runtime: func(context.Context) (string, error) { return version, err }}
	}
	for want, options := range map[string]Options{
		"runtime: ok: containerd 2.4.2 answers":                    answer("containerd 2.4.2", nil),
		"runtime: ok: not running; lifepod starts it when needed":  answer("", nil),
		"runtime: error: /run/x.sock: connection refused [advice]": answer("", errors.New("/run/x.sock: connection refused")),
	} {
		assert.Equal(t, want, verdict(checkRuntime(t.Context(), options)), "verdict")
	}
}

func TestLeftovers(t *testing.T) {
	found := []leftovers.Leftover{{Kind: leftovers.Mount, Name: "/m", Detail: "tmpfs"}}
	list := func(context.Context) ([]leftovers.Leftover, error) { return found, nil }
	busy := func() (bool, error) { return true, nil }
	none := func(context.Context) ([]leftovers.Leftover, error) { return nil, nil }
	for _, c := range []struct {
		system  fakeSystem
		options Options
		want    Result
	}{
		{fakeSystem{}, Options{Root: "/r", Leftovers: list, SweepCommand: "lifepod doctor --sweep"}, Result{
			Name: "leftovers", Status: Warning, Found: "1 of a lifepod that was killed, or of a pod that was kept (--keep)",
			Advice: []string{"mount /m (tmpfs)", "remove them: lifepod doctor --sweep"},
		}},
		{fakeSystem{}, Options{Root: "/r", Leftovers: none}, Result{Name: "leftovers", Status: OK, Found: "none below /r"}},
		{fakeSystem{}, Options{Root: "/r", Leftovers: list, InUse: busy}, Result{
			Name: "leftovers", Status: OK, Found: "not looked for: a lifepod is using /r",
		}},
		{fakeSystem{}, Options{Root: "/r", Leftovers: list, Unattended: attendedByNobody}, Result{
			Name: "leftovers", Status: OK, Found: "none below /r",
		}},
		{fakeSystem{user: true}, Options{Root: "/r", Leftovers: list}, Result{
			Name: "leftovers", Status: NotChecked, Found: "only root can look",
		}},
	} {
		assert.Deep(t, "", c.want, checkLeftovers(t.Context(), hostWith(c.system, nil), c.options))
	}
}

func attendedByNobody() []unattended.Pod {
	pod := func(name string, of unattended.Pod) unattended.Pod {
		object := &v1.Pod{}
		object.Namespace, object.Name, of.Root = "default", name, bundle.DefaultRoot
		return unattended.New(object, lifecycle.Checkpoint{}, of)
	}
	return []unattended.Pod{pod("train", unattended.Pod{Command: unattended.Run, Runs: true}), pod("web-n1", unattended.Pod{Command: unattended.Agent, Runs: true})}
}

// Pods whose lifepod has ended are reported as what they are, not as leftovers.
func TestUnattendedPods(t *testing.T) {
	want := Result{Name: "unattended pods", Status: Warning, Found: "2 below /r", Advice: []string{
		"default/train: its lifepod run was killed: run the same manifests again to resume it, or `lifepod stop default/train` to end it",
		"default/web-n1: its lifepod agent does not run: start lifepod agent again to resume it, or `lifepod down` to end all pods of this state folder",
	}}
	assert.Deep(t, "", want, checkUnattended(hostWith(fakeSystem{}, nil), Options{Root: "/r", Unattended: attendedByNobody}))
}

func TestManyLeftoversAreSummarized(t *testing.T) {
	found := []leftovers.Leftover{
		{Kind: leftovers.Process, Name: "7", Detail: "containerd"},
		{Kind: leftovers.Cgroup, Name: "/a"}, {Kind: leftovers.Cgroup, Name: "/b"}, {Kind: leftovers.Cgroup, Name: "/c"},
		{Kind: leftovers.Bridge, Name: "lp0"},
	}
	assert.Deep(t, "", []string{"process 7 (containerd)", "cgroup /a and 2 more of its kind", "bridge lp0"}, summarize(found))
}

func TestPrint(t *testing.T) {
	results := []Result{ok("kernel", "6.1"), warn("IP forwarding", "a <b>", "do x", "then y"), notChecked("x", "why")}
	var text, raw strings.Builder
	assert.Must(t, Print(&text, results))
	want := "" +
		"ok           kernel         6.1\n" +
		"warning      IP forwarding  a <b>\n" +
		"             → do x\n" +
		"             → then y\n" +
		"not checked  x              why\n"
	assert.Deep(t, "text", want, text.String())
	assert.Must(t, PrintJSON(&raw, results[1:2]))
	wantJSON := "[\n  {\n    \"name\": \"IP forwarding\",\n    \"status\": \"warning\",\n    \"found\": \"a <b>\",\n" +
		"    \"advice\": [\n      \"do x\",\n      \"then y\"\n    ]\n  }\n]\n"
	assert.Deep(t, "JSON", wantJSON, raw.String())
}

// The real machine, whatever it is: every check says something, and none of
// them leaves anything.
func TestPrintIsPlain(t *testing.T) {
	results := []Result{{Name: "x", Found: "\x1b[2J\u009b", Advice: []string{"\x1b[2J\u009b"}}}
	for name, print := range map[string]func(io.Writer, []Result) error{"text": Print, "json": PrintJSON} {
		var out strings.Builder
		assert.Must(t, print(&out, results))
		assert.True(t, !strings.ContainsAny(out.String(), "\x1b\u009b"), "%s: %q", name, out.String())
	}
}

func TestRunOnThisMachine(t *testing.T) {
	root := t.TempDir()
	results := Run(t.Context(), Options{Root: root + "/not/there/yet", Bridge: "lifepod0"})
	got := map[string]bool{}
	for _, result := range results {
		assert.True(t, result.Found != "" && (result.Status != Error || len(result.Advice) != 0),
			"%s: want a finding, and advice with an error, got %+v", result.Name, result)
		got[result.Name] = true
	}
	want := 17
	assert.True(t, len(got) == want && len(results) == want, "want %d different checks, got %d: %v", want, len(got), got)
	left, err := os.ReadDir(root)
	assert.True(t, len(left) == 0 && err == nil, "after the checks: want an empty folder, got %v, %v", left, err)
}
