//go:build realruntime

package leftovers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/cgroups"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/loopdevice"
)

// sleepVariable makes the test's binary a process that only waits.
const sleepVariable = "LEFTOVERS_TEST_SLEEP"

func TestMain(m *testing.M) {
	if os.Getenv(sleepVariable) != "" {
		fmt.Println("started")
		time.Sleep(time.Hour) // without cgo an empty select would be a deadlock that ends the program
	}
	os.Exit(m.Run())
}

// startSleeper starts a copy of the test's binary as the given program and
// returns once it runs.
func startSleeper(t *testing.T, program string, network *netns.NsHandle) *exec.Cmd {
	t.Helper()
	command := exec.Command(program)
	command.Env = append(os.Environ(), sleepVariable+"=1")
	out := assert.Get(command.StdoutPipe()).Must(t)
	start := command.Start
	if network != nil {
		start = func() error { return inNetwork(*network, command.Start) }
	}
	assert.Must(t, start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	assert.Must(t, assert.ErrorOf(io.ReadFull(out, make([]byte, len("started")))))
	return command
}

// inNetwork calls on a thread of its own, which ends with the goroutine because
// it stays locked.
func inNetwork(network netns.NsHandle, call func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(network); err != nil {
			done <- err
			return
		}
		done <- call()
	}()
	return <-done
}

// newNetwork makes a named network namespace.
func newNetwork(t *testing.T, name string) netns.NsHandle {
	t.Helper()
	made := make(chan netns.NsHandle)
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		handle, err := netns.NewNamed(name)
		if err != nil {
			failed <- err
			return
		}
		made <- handle
	}()
	select {
	case err := <-failed:
		t.Fatal(err)
	case handle := <-made:
		t.Cleanup(func() { _ = handle.Close(); _ = netns.DeleteNamed(name) })
		return handle
	}
	return 0
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	self := assert.Get(os.Executable()).Must(t)
	raw := assert.Get(os.ReadFile(self)).Must(t)
	assert.Must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	assert.Must(t, os.WriteFile(to, raw, 0o755))
}

// fixture is everything that a killed lifepod can leave, made by hand.
type fixture struct {
	place   Place
	unique  string
	cgroups []string
	keep    string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	unique := strconv.Itoa(os.Getpid())
	s := &fixture{unique: unique, place: Place{
		Root: t.TempDir(), RunDir: t.TempDir(), CgroupParent: "leftovers-test-" + unique, Bridge: "lftst" + unique,
		FilterTable: "lifepod_lftst" + unique,
	}}
	s.keep = filepath.Join(t.TempDir(), "keep")
	write(t, filepath.Join(s.keep, "data"), "precious")
	return s
}

func (s *fixture) mount(t *testing.T, kind, source, target string) {
	t.Helper()
	assert.Must(t, os.MkdirAll(target, 0o755))
	flags := uintptr(0)
	if kind == "bind" {
		flags = unix.MS_BIND
	}
	assert.Must(t, unix.Mount(source, target, kind, flags, ""))
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
}

func (s *fixture) makeMounts(t *testing.T) {
	volumes := filepath.Join(s.place.Root, "pods", "uid-1", "volumes")
	s.mount(t, "tmpfs", "tmpfs", filepath.Join(volumes, "memory"))
	s.mount(t, "tmpfs", "tmpfs", filepath.Join(volumes, "memory", "inner"))
	s.mount(t, "bind", s.keep, filepath.Join(volumes, "host"))
	s.mount(t, "tmpfs", "tmpfs", filepath.Join(s.place.RunDir, "state", "shm"))
}

func (s *fixture) makeCgroups(t *testing.T, pid int) {
	t.Helper()
	hierarchies := assert.Get(host().hierarchies()).Must(t)
	for _, hierarchy := range hierarchies {
		// A new cpuset of v1 takes no process before it has CPUs.
		if filepath.Base(hierarchy) == "cpuset" {
			continue
		}
		pod := filepath.Join(hierarchy, s.place.CgroupParent, "pod1")
		assert.Must(t, os.MkdirAll(pod, 0o755))
		t.Cleanup(func() { _ = cgroups.RemovePath(filepath.Dir(pod)) })
		assert.Must(t, cgroups.WriteCgroupProc(pod, pid))
		s.cgroups = append(s.cgroups, filepath.Dir(pod))
	}
}

// makeNetwork connects one namespace to the bridge; another one holds the shim.
func (s *fixture) makeNetwork(t *testing.T) (cabled, shims netns.NsHandle) {
	t.Helper()
	cabled, shims = newNetwork(t, "lftst-cable-"+s.unique), newNetwork(t, "lftst-shim-"+s.unique)
	attributes := netlink.NewLinkAttrs()
	attributes.Name = s.place.Bridge
	bridge := &netlink.Bridge{LinkAttrs: attributes}
	assert.Must(t, netlink.LinkAdd(bridge))
	t.Cleanup(func() { _ = netlink.LinkDel(bridge) })
	attributes = netlink.NewLinkAttrs()
	attributes.Name = "lfv" + s.unique
	attributes.MasterIndex = bridge.Index
	cable := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(cabled))}
	assert.Must(t, netlink.LinkAdd(cable))
	t.Cleanup(func() { _ = netlink.LinkDel(cable) })
	return cabled, shims
}

// makeFilter makes what each of the two programs would.
func (s *fixture) makeFilter(t *testing.T) {
	t.Helper()
	rule := strings.Fields("POSTROUTING -s 192.0.2.0/24 ! -d 192.0.2.0/24 -m comment --comment " + s.place.FilterTable + " -j MASQUERADE")
	for _, call := range [][]string{
		{"nft", "add table ip " + s.place.FilterTable},
		append([]string{"iptables", "-w", "-t", "nat", "-A"}, rule...),
	} {
		out, err := exec.Command(call[0], call[1:]...).CombinedOutput()
		assert.Require(t, err == nil, "%q: %v %s", call, err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("nft", "delete table ip "+s.place.FilterTable).Run()
		_ = exec.Command("iptables", append([]string{"-w", "-t", "nat", "-D"}, rule...)...).Run()
	})
}

// podThings are what a pod has below the root beside its folder.
var podThings = []string{"logs/default_web_uid-1/app/0.log", "ipam/pods/uid-1", "runs/.new-7", "runs/uid-1.json"}

func (s *fixture) makeRecords(t *testing.T) {
	t.Helper()
	for _, path := range podThings {
		write(t, filepath.Join(s.place.Root, path), "x")
	}
}

func TestFindAndSweepReal(t *testing.T) {
	s := newFixture(t)
	_, shims := s.makeNetwork(t)
	shimProgram := filepath.Join(s.place.Root, "bundle", "bin", "containerd-shim-runc-v2")
	copyProgram(t, shimProgram)
	shim := startSleeper(t, shimProgram, &shims)
	outside := filepath.Join(t.TempDir(), "sleeper")
	copyProgram(t, outside)
	contained, bystander := startSleeper(t, outside, nil), startSleeper(t, outside, nil)
	s.makeCgroups(t, contained.Process.Pid)
	s.makeMounts(t)
	s.makeFilter(t)
	s.makeRecords(t)

	found := assert.Get(Find(t.Context(), s.place)).Must(t)
	diff := cmp.Diff(s.want(shim.Process.Pid), lines(found))
	assert.Require(t, diff == "", "found (-want +got):\n%s", diff)
	assert.Must(t, Sweep(t.Context(), found))
	after := assert.Get(Find(t.Context(), s.place)).Must(t)
	assert.Deep(t, "after the sweep", []string(nil), lines(after))
	assert.NoError(t, bystander.Process.Signal(unix.Signal(0)), "a process outside")
	if data, err := os.ReadFile(filepath.Join(s.keep, "data")); string(data) != "precious" || err != nil {
		t.Errorf("the host's folder that a pod had mounted: want its data, got %q, %v", data, err)
	}
	assert.NoError(t, Sweep(t.Context(), found), "sweeping the same again")
}

func (s *fixture) want(shim int) []string {
	volumes := filepath.Join(s.place.Root, "pods", "uid-1", "volumes")
	want := []string{"process " + strconv.Itoa(shim)}
	for _, path := range s.cgroups {
		want = append(want, "cgroup "+path)
	}
	return append(want,
		"mount "+filepath.Join(s.place.RunDir, "state", "shm"),
		"mount "+filepath.Join(volumes, "host"),
		"mount "+filepath.Join(volumes, "memory", "inner"),
		"mount "+filepath.Join(volumes, "memory"),
		"network namespace /run/netns/lftst-cable-"+s.unique,
		"network namespace /run/netns/lftst-shim-"+s.unique,
		"bridge "+s.place.Bridge,
		"nft table "+s.place.FilterTable,
		"iptables rule -A POSTROUTING -s 192.0.2.0/24 ! -d 192.0.2.0/24 -m comment --comment "+s.place.FilterTable+" -j MASQUERADE",
		"pod folder "+filepath.Join(s.place.Root, "pods", "uid-1"),
		"log folder "+filepath.Join(s.place.Root, "logs", "default_web_uid-1"),
		"address record "+filepath.Join(s.place.Root, "ipam", "pods", "uid-1"),
		"pod record "+filepath.Join(s.place.Root, "runs", ".new-7"),
		"pod record "+filepath.Join(s.place.Root, "runs", "uid-1.json"),
		"run folder "+s.place.RunDir,
	)
}

func lines(found []Leftover) []string {
	var all []string
	for _, leftover := range found {
		all = append(all, string(leftover.Kind)+" "+leftover.Name)
	}
	return all
}

// A volume that is a file below the root, mounted or a block device, goes with its loop
// device; one of a file elsewhere is an administrator's.
func TestLoops(t *testing.T) {
	s := newFixture(t)
	loop := func(image string) string {
		run := func(name string, args ...string) string {
			out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
			assert.Require(t, err == nil, "%s: %v: %s", name, err, out)
			return strings.TrimSpace(string(out))
		}
		write(t, image, "")
		assert.Must(t, os.Truncate(image, 16<<20))
		run("mkfs.ext4", "-q", "-F", image)
		device := run("losetup", "--find", "--show", image)
		t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
		return device
	}
	mounted, used, disk := loop(filepath.Join(s.place.Root, "a")), loop(filepath.Join(s.place.Root, "b")), loop(filepath.Join(t.TempDir(), "disk"))
	target := filepath.Join(s.place.Root, "node", "mount")
	s.mount(t, "ext4", mounted, target)
	s.mount(t, "ext4", disk, filepath.Join(s.place.Root, "data"))
	found := assert.Get(Find(t.Context(), s.place)).Must(t)
	want, got := []string{"loop device " + mounted, "loop device " + used, "mount " + target, "run folder " + s.place.RunDir}, lines(found)
	slices.Sort(want)
	slices.Sort(got)
	diff := cmp.Diff(want, got)
	assert.Require(t, diff == "", "found (-want +got):\n%s", diff)
	for range 2 {
		assert.Must(t, Sweep(t.Context(), found))
	}
	// The kernel detaches a device once nobody has it open any more, and another process may just be looking at it.
	var files map[string]string
	late := time.After(time.Minute)
	attached := func(device string) bool { return strings.HasPrefix(files[device], s.place.Root) }
	for {
		files = assert.Get(loopdevice.Files()).Must(t)
		if !attached(mounted) && !attached(used) {
			break
		}
		select {
		case <-late:
			t.Fatalf("%s or %s is still of a file below %s: %v", mounted, used, s.place.Root, files)
		case <-time.After(20 * time.Millisecond):
		}
	}
	file := files[disk]
	assert.True(t, file != "", "%s, which is of a file elsewhere, is detached", disk)
}

// A folder with something still mounted in it stays, whoever mounted it.
func TestSweepSparesMountedFolder(t *testing.T) {
	s := newFixture(t)
	pod := filepath.Join(s.place.Root, "pods", "uid-1")
	s.mount(t, "bind", s.keep, filepath.Join(pod, "host"))
	err := Sweep(t.Context(), []Leftover{{Kind: PodFolder, Name: pod}})
	assert.Error(t, "remove pod folder "+pod+": "+filepath.Join(pod, "host")+" is still mounted in it", err)
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(s.keep, "data"))))
}
