package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	plaintext "google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestPodsAPI: a program on the node follows its pods without the API server (A-NODE-9).
func TestPodsAPI(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	connection := assert.Get(grpc.NewClient("unix:"+filepath.Join(shared.Root.Dir, "pods-api", "pods-api.sock"), grpc.WithTransportCredentials(plaintext.NewCredentials()))).Must(t)
	defer func() { _ = connection.Close() }()
	stream := assert.Get(api.NewPodsClient(connection).WatchPods(t.Context(), &api.WatchPodsRequest{})).Must(t)
	hears := func(what string, wanted func(event api.EventType, pod *v1.Pod) bool) {
		t.Helper()
		for {
			event, err := stream.Recv()
			assert.Require(t, err == nil, "A-NODE-9 did not hear that the pod %s: %v", what, err)
			var pod v1.Pod
			assert.Must(t, pod.Unmarshal(event.Pod))
			if pod.Namespace == c.namespace && wanted(event.Type, &pod) {
				return
			}
		}
	}
	c.create(modest)
	hears("is there", func(event api.EventType, _ *v1.Pod) bool { return event == api.EventType_ADDED })
	hears("is ready", func(event api.EventType, pod *v1.Pod) bool {
		return event == api.EventType_MODIFIED && machine.IsReady(pod)
	})
	c.kubectl("label", "pod", "modest", "seen=yes")
	hears("has a label", func(_ api.EventType, pod *v1.Pod) bool { return pod.Labels["seen"] == "yes" })
	c.delete("modest")
	hears("is gone", func(event api.EventType, _ *v1.Pod) bool { return event == api.EventType_DELETED })
}

// TestCheckpoint: the node asks its runtime for a checkpoint, and passes on what becomes of
// it: without CRIU, which the carried runtime does not have, that it can't (A-NODE-7).
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(modest)
	pod := c.awaitReady("modest")
	ask := func(container string) string {
		path := fmt.Sprintf("/api/v1/nodes/%s/proxy/checkpoint/%s/modest/%s", shared.Name, c.namespace, container)
		out, err := plane.Kubectl(t.Context(), "{}", "create", "--raw", path, "--filename=-")
		return fmt.Sprint(out, err)
	}
	name := pod.Spec.Containers[0].Name
	if got, want := ask(name), fmt.Sprintf("checkpointing of %s/modest/%s failed (", c.namespace, name); !strings.Contains(got, want) || !strings.Contains(got, "criu") {
		t.Errorf("A-NODE-7 answer %s, want %s… criu", got, want)
	}
	got := ask("none")
	assert.True(t, strings.Contains(got, "NotFound"), "A-NODE-7 answer %s", got)
}

// TestSystemLogs: an administrator reads a log of the machine, and asks for that of a
// service by its name (A-NODE-1, A-NODE-2, A-NODE-5).
func TestSystemLogs(t *testing.T) {
	t.Parallel()
	file := assert.Get(os.CreateTemp("/var/log", "lp-e2e-*.log")).Must(t)
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	assert.Must(t, assert.ErrorOf(file.WriteString("of the machine")))
	assert.Must(t, file.Close())
	name := filepath.Base(file.Name())
	for _, at := range []string{name, "?query=/" + name, "?query=" + strings.TrimSuffix(name, ".log")} {
		got, err := plane.Kubectl(t.Context(), "", "get", "--raw", fmt.Sprintf("/api/v1/nodes/%s/proxy/logs/%s", shared.Name, at))
		assert.True(t, err == nil && got == "of the machine", "%s: %q, %v", at, got, err)
	}
	_, err := plane.Kubectl(t.Context(), "", "get", "--raw", fmt.Sprintf("/api/v1/nodes/%s/proxy/logs/?query=a&boot=1", shared.Name))
	assert.ErrorContains(t, "must be less than 1", err, "A-NODE-3 error =")
}
