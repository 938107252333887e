package agent

import (
	"path/filepath"
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
