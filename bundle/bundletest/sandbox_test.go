//go:build realruntime

package bundletest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// sandboxPID is the process of the pod's sandbox, as CRI tells it (crictl inspectp).
func (p *pod) sandboxPID(t *testing.T) int {
	t.Helper()
	answer := assert.Get(p.client.PodSandboxStatus(t.Context(), &cri.PodSandboxStatusRequest{PodSandboxId: p.sandbox, Verbose: true})).Must(t)
	return pidOf(t, answer.Info)
}

// pidOf is the process that CRI tells of verbosely.
func pidOf(t *testing.T, verbose map[string]string) int {
	t.Helper()
	var info struct{ PID int }
	err := json.Unmarshal([]byte(verbose["info"]), &info)
	assert.Require(t, err == nil && info.PID != 0, "%v: %s", err, verbose["info"])
	return info.PID
}

func (p *pod) state(t *testing.T) cri.PodSandboxState {
	t.Helper()
	answer := assert.Get(p.client.PodSandboxStatus(t.Context(), &cri.PodSandboxStatusRequest{PodSandboxId: p.sandbox})).Must(t)
	return answer.GetStatus().GetState()
}

func (p *pod) awaitNotReady(t *testing.T) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); p.state(t) == cri.PodSandboxState_SANDBOX_READY; time.Sleep(10 * time.Millisecond) {
		assert.Require(t, !time.Now().After(limit), "the sandbox is still ready")
	}
}

// awaitExit returns when CRI knows that the container has ended.
func (p *pod) awaitExit(t *testing.T) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); p.status(t).GetState() == cri.ContainerState_CONTAINER_RUNNING; time.Sleep(10 * time.Millisecond) {
		assert.Require(t, !time.Now().After(limit), "the container still runs")
	}
}

// awaitRemoval removes a sandbox that has ended unasked. That fails until CRI has heard of its container's
// end, and while containerd cleans up after the shim.
func (p *pod) awaitRemoval(t *testing.T) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, err := p.client.RemovePodSandbox(t.Context(), &cri.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
		if err == nil {
			p.sandbox = ""
			return
		}
		assert.Require(t, !time.Now().After(limit), "remove the sandbox: %v", err)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	assert.Must(t, syscall.Kill(pid, syscall.SIGKILL))
}

// A sandbox is one process, which runc knows nothing of; its end, seen by the shim or
// by who cleans up after it, is the sandbox's end.
func TestSandboxIsNoContainer(t *testing.T) {
	root := newRoot(t)
	r := open(t, root)
	p := runPod(t, r)
	containers, err := filepath.Glob(filepath.Join(r.Paths().RunDir, "runc/k8s.io/*"))
	assert.True(t, err == nil && len(containers) == 1 && filepath.Base(containers[0]) == p.container, "runc has %q, %v; want only container %s", containers, err, p.container)
	holder := p.sandboxPID(t)
	for _, kind := range []string{"net", "ipc", "uts"} {
		if sandbox, container := namespaceOf(t, holder, kind), namespaceOf(t, p.containerPID(t), kind); sandbox != container {
			t.Errorf("namespace %s: the sandbox's is %s, the container's %s", kind, sandbox, container)
		}
	}
	cgroups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", holder))
	want := r.CgroupParent() + "/pod/" + p.sandbox
	assert.True(t, err == nil && strings.Contains(string(cgroups), want), "it is not in cgroup %s: %v\n%s", want, err, cgroups)
	killContainerd(t, root)
	<-r.Restarts()
	if state := p.state(t); state != cri.PodSandboxState_SANDBOX_READY || p.sandboxPID(t) != holder {
		t.Errorf("after containerd was started again: %s, process %d, was %d", state, p.sandboxPID(t), holder)
	}
	kill(t, holder)
	p.awaitNotReady(t)
	p.awaitRemoval(t)

	p = runPod(t, r)
	holder = p.sandboxPID(t)
	shim, id := awaitShim(t, r.Paths())
	assert.Require(t, id == p.sandbox, "the shim is of sandbox %s", id)
	kill(t, shim)
	p.awaitNotReady(t)
	p.awaitExit(t)
	awaitGone(t, fmt.Sprintf("/proc/%d/ns/net", holder))
	p.awaitRemoval(t)
	closeRuntime(t, r)
}

// The runtime itself writes to no file of the machine, whatever the texts of a request: no admission is
// asked here. The first two of them are what a sandbox without runc is made of.
func TestRequestWritesNoFileOfTheMachine(t *testing.T) {
	folder, err := os.MkdirTemp("", "c") // short enough for a hostname
	assert.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	canary := filepath.Join(folder, "c")
	assert.Must(t, os.WriteFile(canary, []byte("as before"), 0o600))
	r := open(t, newRoot(t))
	assert.Must(t, assert.ErrorOf(r.ImportImages(t.Context())))
	attack := "\x00" + canary + "\x00changed"
	for name, change := range map[string]func(*cri.PodSandboxConfig){
		"a sysctl that every pod has": func(c *cri.PodSandboxConfig) {
			c.Linux.Sysctls = map[string]string{"net.ipv4.ip_unprivileged_port_start": "0" + attack}
		},
		"hostname": func(c *cri.PodSandboxConfig) { c.Hostname = "a" + attack },
		"a sysctl": func(c *cri.PodSandboxConfig) { c.Linux.Sysctls = map[string]string{"kernel.msgmax": "8192" + attack} },
		"a sysctl elsewhere": func(c *cri.PodSandboxConfig) {
			c.Linux.Sysctls = map[string]string{"net./../../.." + canary: "changed"}
		},
	} {
		p := &pod{client: dial(t, r)}
		config := sandboxConfig(r)
		change(config)
		answer, err := p.client.RunPodSandbox(t.Context(), &cri.RunPodSandboxRequest{Config: config})
		p.sandbox = answer.GetPodSandboxId()
		text, failed := os.ReadFile(canary)
		assert.True(t, failed == nil && string(text) == "as before", "%s: a file of the machine is %q, %v; the request: %v", name, text, failed, err)
		p.remove(t)
	}
}

func namespaceOf(t *testing.T, pid int, kind string) string {
	t.Helper()
	return assert.Get(os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))).Must(t)
}

// containerPID is the process of the pod's container.
func (p *pod) containerPID(t *testing.T) int {
	t.Helper()
	answer := assert.Get(p.client.ContainerStatus(t.Context(), &cri.ContainerStatusRequest{ContainerId: p.container, Verbose: true})).Must(t)
	return pidOf(t, answer.Info)
}
