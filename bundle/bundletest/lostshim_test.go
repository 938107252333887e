//go:build realruntime

package bundletest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// A shim that containerd loses, because it does not end in the time that containerd
// has for it after the caller of RunPodSandbox has given up, is ended as soon as
// containerd tells that it has forgotten the sandbox, and not only by the periodic looks:
// three in a row have to find it unknown.
func TestLostShimIsEndedSoon(t *testing.T) {
	const looks = 2 * 10 * time.Second // from the first to the third
	root := newRoot(t)
	r := open(t, root)
	defer closeRuntime(t, r)
	assert.Must(t, assert.ErrorOf(r.ImportImages(t.Context())))
	pid, id := loseShim(t, r, root)
	awaitForgotten(t, r, id)
	forgotten := time.Now()
	awaitGone(t, fmt.Sprintf("/proc/%d/fd/0", pid))
	took := time.Since(forgotten)
	assert.True(t, took <= looks, "the shim lived %v longer than its sandbox", took)
}

// awaitForgotten waits until containerd has deleted the container of a sandbox.
func awaitForgotten(t *testing.T, r *bundle.Runtime, id string) {
	t.Helper()
	client, ctx := containersapi.NewContainersClient(connect(t, r)), metadata.AppendToOutgoingContext(t.Context(), "containerd-namespace", "k8s.io")
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if _, err := client.Get(ctx, &containersapi.GetContainerRequest{ID: id}); status.Code(err) == codes.NotFound {
			return
		}
	}
	t.Fatal("containerd still has the container of the sandbox")
}

func knows(t *testing.T, client cri.RuntimeServiceClient, id string) bool {
	t.Helper()
	list := assert.Get(client.ListPodSandbox(t.Context(), &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{Id: id}})).Must(t)
	return len(list.Items) > 0
}

// loseShim stops a shim before it has made its sandbox, and gives that up. A sandbox that is made by then,
// or that containerd keeps to remove it later, is removed, and another one is begun.
func loseShim(t *testing.T, r *bundle.Runtime, root string) (pid int, id string) {
	t.Helper()
	client := dial(t, r)
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); {
		calling, giveUp := context.WithCancel(t.Context())
		answered := make(chan error, 1)
		go func() {
			_, err := client.RunPodSandbox(calling, &cri.RunPodSandboxRequest{Config: &cri.PodSandboxConfig{
				Metadata:     &cri.PodSandboxMetadata{Name: "lost", Namespace: "default", Uid: "0b7cf1b0-lost"},
				LogDirectory: filepath.Join(root, "logs"),
				Linux:        &cri.LinuxPodSandboxConfig{CgroupParent: r.CgroupParent() + "/lost"},
			}})
			answered <- err
		}()
		pid, id = awaitShim(t, r.Paths())
		suspend(t, pid)
		giveUp()
		if err := <-answered; err != nil && !knows(t, client, id) {
			return pid, id
		}
		assert.Must(t, syscall.Kill(pid, unix.SIGCONT))
		assert.Must(t, assert.ErrorOf(client.StopPodSandbox(t.Context(), &cri.StopPodSandboxRequest{PodSandboxId: id})))
		assert.Must(t, assert.ErrorOf(client.RemovePodSandbox(t.Context(), &cri.RemovePodSandboxRequest{PodSandboxId: id})))
		awaitGone(t, fmt.Sprintf("/proc/%d/fd/0", pid))
	}
	t.Fatal("all sandboxes were made before their shims were stopped")
	return 0, ""
}

// awaitShim returns the first shim of a root, as soon as it is there.
func awaitShim(t *testing.T, p bundle.Paths) (pid int, id string) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range cmdlines {
			text, _ := os.ReadFile(file)
			arguments := strings.Split(string(text), "\x00")
			if len(arguments) < 7 || arguments[0] != p.Shim() || !strings.Contains(string(text), "-address\x00"+p.Socket()) || strings.Contains(string(text), "\x00start\x00") {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil {
				return pid, arguments[4]
			}
		}
	}
	t.Fatal("no shim is started")
	return 0, ""
}

func awaitGone(t *testing.T, path string) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err != nil {
			return
		}
	}
	t.Fatalf("%s is still there", path)
}
