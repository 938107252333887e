package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

const service = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/hostname: NODE}
      terminationGracePeriodSeconds: 3
      containers:
      - {name: main, image: TOOLBOX, command: [serve, --port, "8080"], readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1},
         resources: {limits: {memory: 64Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

// TestRollingUpdateKeepsEndpoints: a service has all its endpoints at every moment of
// a rolling update, of one that is stuck, and of the way back.
func TestRollingUpdateKeepsEndpoints(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.apply(service)
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	lowest := c.watchEndpoints("web", 2)
	c.kubectl("set", "env", "deployment/web", "GENERATION=2")
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	c.kubectl("set", "image", "deployment/web", "main=lifepod.dev/no-such:1")
	c.kubectl("patch", "deployment", "web", "--patch", `{"spec":{"template":{"spec":{"containers":[{"name":"main","imagePullPolicy":"Never"}]}}}}`)
	c.awaitPods("app=web", "to be stuck", func(pods []v1.Pod) bool {
		for _, pod := range pods {
			for _, s := range pod.Status.ContainerStatuses {
				if s.State.Waiting != nil && s.State.Waiting.Reason == "ErrImageNeverPull" {
					return true
				}
			}
		}
		return false
	})
	c.kubectl("rollout", "undo", "deployment/web", "--to-revision=2")
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	got := lowest()
	assert.True(t, got == 2, "the service had %d ready endpoints at some moment, want 2 at all of them", got)
	c.kubectl("scale", "deployment/web", "--replicas=3")
	c.kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/web", "--timeout=60s")
	c.kubectl("delete", "deployment", "web")
	c.awaitPods("app=web", "to be gone", func(pods []v1.Pod) bool { return len(pods) == 0 })
}

// watchEndpoints waits until a service has as many ready endpoints, and watches them
// until the function that it returns is called, which returns the lowest number seen.
func (c *cluster) watchEndpoints(service string, count int) (lowest func() int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	seen, least, reached := make(chan error, 1), count, make(chan struct{})
	slices := c.some(client.DiscoveryV1().RESTClient(), "endpointslices", discovery.LabelServiceName+"="+service)
	go func() {
		first := true
		_, err := watchtools.UntilWithSync(ctx, slices, &discovery.EndpointSlice{}, nil, func(e watch.Event) (bool, error) {
			ready := readyEndpoints(e.Object.(*discovery.EndpointSlice))
			if first && ready == count {
				first = false
				close(reached)
			}
			if !first {
				least = min(least, ready)
			}
			return false, nil
		})
		seen <- err
	}()
	select {
	case <-reached:
	case err := <-seen:
		c.t.Fatalf("service %s never had %d ready endpoints: %v", service, count, err)
	}
	return func() int {
		cancel()
		assert.Fails(c.t, <-seen, "the watch of the endpoints ended by itself")
		return least
	}
}

func readyEndpoints(slice *discovery.EndpointSlice) int {
	ready := 0
	for _, endpoint := range slice.Endpoints {
		if *endpoint.Conditions.Ready {
			ready++
		}
	}
	return ready
}

// TestReplicaSetAdoptsPods: a pod that is there already is one of its own, and stays.
func TestReplicaSetAdoptsPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	before := c.create(strings.Replace(sleeper, "{name: sleeper}", "{name: orphan, labels: {app: taken}}", 1))
	c.awaitReady("orphan")
	c.apply(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: taken}
spec:
  replicas: 1
  selector: {matchLabels: {app: taken}}
  template:
    metadata: {labels: {app: taken}}
    spec: {containers: [{name: main, image: TOOLBOX}]}
`)
	after := c.await("orphan", "to be adopted", func(pod *v1.Pod) bool { return metav1.GetControllerOf(pod) != nil })
	diff := cmp.Diff(before.UID, after.UID)
	assert.True(t, diff == "" && machine.IsReady(after), "the pod was not left as it was (-want +got):\n%s\n%s", diff, summary([]v1.Pod{*after}))
	c.kubectl("delete", "replicaset", "taken")
	c.awaitPods("app=taken", "to be gone with its owner", func(pods []v1.Pod) bool { return len(pods) == 0 })
}
