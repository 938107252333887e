//go:build realruntime

package bundletest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

func TestOpenAndClose(t *testing.T) {
	root := newRoot(t)
	r := open(t, root)
	status := assert.Get(dial(t, r).Status(t.Context(), &cri.StatusRequest{})).Must(t)
	for _, condition := range status.GetStatus().GetConditions()[:2] {
		assert.True(t, condition.GetStatus(), "condition %s is false: %s", condition.GetType(), condition.GetMessage())
	}
	pid := containerd(t, root)
	assert.True(t, sessionOf(t, pid) == pid, "containerd is in the session of who started it: Ctrl-C would reach it")
	if _, err := r.Paths().Exclude(); !errors.Is(err, bundle.ErrInUse) {
		t.Errorf("excluding others from an open root: error %v, want %v", err, bundle.ErrInUse)
	}
	closeRuntime(t, r)
	wantNothingLeft(t, root)
	wantFile(t, r.Paths().Containerd())
}

func TestShare(t *testing.T) {
	root := newRoot(t)
	first := startHolder(t, root)
	pid := containerd(t, root)
	second := startHolder(t, root)
	again := containerd(t, root)
	assert.True(t, again == pid, "containerd has pid %d, then %d: the second process did not share it", pid, again)
	// Both hear of a restart, whoever supervises.
	killContainerd(t, root)
	first.hears(t, "restarted")
	second.hears(t, "restarted")
	first.close(t)
	pid = containerd(t, root)
	got := sessionOf(t, pid)
	assert.True(t, got == pid, "containerd %d was stopped although the root is in use", pid)
	// The second one has taken over.
	killContainerd(t, root)
	second.hears(t, "restarted")
	second.close(t)
}

func TestTakeOverFromKilled(t *testing.T) {
	root := newRoot(t)
	first := startHolder(t, root)
	second := startHolder(t, root)
	pid := containerd(t, root)
	first.kill(t)
	third := startHolder(t, root)
	again := containerd(t, root)
	assert.True(t, again == pid, "containerd has pid %d, then %d: it was not adopted", pid, again)
	killContainerd(t, root)
	second.hears(t, "restarted")
	third.hears(t, "restarted")
	second.close(t)
	third.close(t)
}

// A killed lifepod leaves containerd running; the next one adopts it, or puts
// right what the kill left half done.
func TestRepair(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, p bundle.Paths)
		adopts bool
	}{
		"nothing more": {func(*testing.T, bundle.Paths) {}, true},
		"killed before the record was written": {func(t *testing.T, p bundle.Paths) {
			assert.Must(t, os.Truncate(filepath.Join(p.RunDir, "containerd.json"), 0))
		}, false},
		"containerd is gone too": {func(t *testing.T, p bundle.Paths) { killContainerd(t, p.Root) }, false},
		"containerd and its socket are gone": {func(t *testing.T, p bundle.Paths) {
			assert.Must(t, os.Remove(p.Socket()))
			killContainerd(t, p.Root)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := newRoot(t)
			killed := startHolder(t, root)
			pid := containerd(t, root)
			killed.kill(t)
			test.damage(t, locate(t, root))
			r := open(t, root)
			again := containerd(t, root)
			assert.True(t, (again == pid) == test.adopts, "containerd had pid %d and has %d; want adopted: %v", pid, again, test.adopts)
			if got := countContainerd(root); got != 1 {
				t.Errorf("%d containerds run, want 1: %q", got, programsOf(root))
			}
			closeRuntime(t, r)
		})
	}
}

func countContainerd(root string) int {
	n := 0
	for _, program := range programsOf(root) {
		if strings.HasSuffix(program, "/bin/containerd") {
			n++
		}
	}
	return n
}

func TestContainerOutlivesContainerd(t *testing.T) {
	root := newRoot(t)
	r := open(t, root)
	p := runPod(t, r)
	before := p.status(t)
	killContainerd(t, root)
	<-r.Restarts()
	after := p.status(t)
	if after.GetState() != cri.ContainerState_CONTAINER_RUNNING || after.GetStartedAt() != before.GetStartedAt() {
		t.Errorf("container after the restart: %v, started at %d; want it running since %d",
			after.GetState(), after.GetStartedAt(), before.GetStartedAt())
	}
	p.remove(t)
	closeRuntime(t, r)
}

// A pod that is kept goes on, and so does containerd, through which its output
// goes; both are there for the next one.
func TestContainerOutlivesClose(t *testing.T) {
	root := newRoot(t)
	first := open(t, root)
	kept := runPod(t, first)
	before := kept.status(t)
	closeRuntime(t, first)
	if got := countContainerd(root); got != 1 {
		t.Errorf("%d containerds run beside the kept pod, want 1: %q", got, programsOf(root))
	}
	pid := containerd(t, root)
	second := open(t, root)
	assert.Equal(t, pid, containerd(t, root), "containerd %d was replaced by", pid)
	kept.client = dial(t, second)
	if after := kept.status(t); after.GetState() != cri.ContainerState_CONTAINER_RUNNING || after.GetStartedAt() != before.GetStartedAt() {
		t.Errorf("kept container: %v", after)
	}
	kept.remove(t)
	closeRuntime(t, second)
	if got := countContainerd(root); got != 0 {
		t.Errorf("%d containerds run after the last pod: %q", got, programsOf(root))
	}
}

func TestHostPortIsRemoved(t *testing.T) {
	root := newRoot(t)
	r := open(t, root)
	p := runPod(t, r, &cri.PortMapping{ContainerPort: 80, HostPort: 28080, HostIp: "127.0.0.1"})
	p.remove(t)
	closeRuntime(t, r)
}

func TestTwoRoots(t *testing.T) {
	first, second := open(t, newRoot(t)), open(t, newRoot(t))
	runPod(t, first)
	runPod(t, second)
}

func TestStartErrorShowsLog(t *testing.T) {
	root := newRoot(t)
	p := locate(t, root)
	// containerd cannot listen where a folder is.
	assert.Must(t, os.MkdirAll(filepath.Join(p.Socket(), "in-the-way"), 0o700))
	_, err := bundle.Open(t.Context(), bundle.Config{Root: root})
	if err == nil || !strings.Contains(err.Error(), "the end of "+p.Log()) || !strings.Contains(err.Error(), "containerd.sock") {
		t.Errorf("error %v, want the end of containerd's log", err)
	}
}

func TestFullDisk(t *testing.T) {
	root := newRoot(t)
	assert.Must(t, unix.Mount("tmpfs", root, "tmpfs", 0, "size=2m,mode=700"))
	defer func() {
		assert.NoError(t, unix.Unmount(root, 0))
	}()
	_, err := bundle.Open(t.Context(), bundle.Config{Root: root})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "MiB are free; make room") {
		t.Errorf("error %v, want it to say how much is free", err)
	}
}

// The masquerading rule is there while the root is open.
func TestMasquerade(t *testing.T) {
	root := newRoot(t)
	r := assert.Get(bundle.Open(t.Context(), bundle.Config{Root: root, Subnet: "10.66.7.0/24"})).Must(t)
	defer closeRuntime(t, r)
	rules, _ := exec.Command("nft", "list", "ruleset").Output()
	assert.True(t, strings.Contains(string(rules), "ip saddr 10.66.7.0/24") && strings.Contains(string(rules), "masquerade"), "no masquerading rule for the subnet in:\n%s", rules)
}
