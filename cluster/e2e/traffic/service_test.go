package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// A rollout with readiness and a preStop hook fails no request, neither to the
// service's address nor to the node's.
func TestRollout(t *testing.T) {
	t.Parallel()
	apply(t, serving("roll")+service("roll", "roll", "type: NodePort"))
	awaitRollout(t, "roll")
	inside := awaitAnswer(t, "roll")
	outside := net.JoinHostPort(nodeIP(t), field(t, "roll", ".spec.ports[0].nodePort"))
	before := awaitPods(t, inside, 2)
	awaitPods(t, outside, 2)
	logChanges(t, "roll")
	stops := []func() int{visitAlways(t, inside), visitAlways(t, outside)}
	kubectl(t, "", "rollout", "restart", "deployment/roll")
	awaitRollout(t, "roll")
	for pod := range before {
		kubectl(t, "", "wait", "--for=delete", "pod/"+pod, "--timeout", patience.String())
	}
	for _, stop := range stops {
		t.Logf("%d visits", stop())
	}
	for pod := range awaitPods(t, inside, 2) {
		assert.True(t, before[pod] <= 0, "pod %s has not been replaced", pod)
	}
}

// logChanges logs, if the test fails, when the endpoints of a service and the pods of its name changed.
func logChanges(t *testing.T, name string) {
	t.Helper()
	slices := assert.Get(client.DiscoveryV1().EndpointSlices("default").Watch(t.Context(), meta.ListOptions{LabelSelector: "kubernetes.io/service-name=" + name})).Must(t)
	pods := assert.Get(client.CoreV1().Pods("default").Watch(t.Context(), meta.ListOptions{LabelSelector: "app=" + name})).Must(t)
	var changes []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for from, podsOf := slices.ResultChan(), pods.ResultChan(); ; {
			var line string
			select {
			case e, open := <-from:
				if !open {
					return
				}
				if slice, is := e.Object.(*discovery.EndpointSlice); is {
					for _, p := range slice.Endpoints {
						line += fmt.Sprintf(" %v of %s ready %t", p.Addresses, p.TargetRef.Name, *p.Conditions.Ready)
					}
				}
			case e := <-podsOf:
				if pod, is := e.Object.(*core.Pod); is {
					line = fmt.Sprintf(" %s %s at %s, to go %v: %+v", e.Type, pod.Name, pod.Status.PodIP, pod.DeletionTimestamp, pod.Status.ContainerStatuses)
				}
			}
			changes = append(changes, time.Now().Format(time.StampMilli)+line)
		}
	}()
	t.Cleanup(func() { // after the context
		<-ended
		if t.Failed() {
			t.Log(strings.Join(changes, "\n"))
		}
	})
}

// A pod that isn't ready gets no request, and the others get all; ready again, it has
// its part.
func TestReadiness(t *testing.T) {
	t.Parallel()
	apply(t, serving("ready")+service("ready", "ready", ""))
	awaitRollout(t, "ready")
	address := awaitAnswer(t, "ready")
	awaitPods(t, address, 2)
	list := assert.Get(client.CoreV1().Pods("default").List(t.Context(), meta.ListOptions{LabelSelector: "app=ready"})).Must(t)
	one := list.Items[0]
	stop := visitAlways(t, address)
	tell(t, net.JoinHostPort(one.Status.PodIP, "8080"), "fail")
	left := awaitPods(t, address, 1)
	assert.True(t, left[one.Name] <= 0, "the pod that is not ready, %s, answers: %v", one.Name, left)
	tell(t, net.JoinHostPort(one.Status.PodIP, "8080"), "ok")
	awaitPods(t, address, 2)
	t.Logf("%d visits", stop())
}

// A visitor stays with one pod where that is wanted; the pods of this node are enough
// for a policy of local traffic; where nobody is ready a visitor is told at once.
func TestPolicies(t *testing.T) {
	t.Parallel()
	apply(t, serving("kinds")+
		service("sticky", "kinds", "sessionAffinity: ClientIP")+
		service("local", "kinds", "type: NodePort, externalTrafficPolicy: Local, internalTrafficPolicy: Local")+
		service("nobody", "no-such-app", ""))
	awaitRollout(t, "kinds")
	awaitPods(t, awaitAnswer(t, "local"), 2)
	awaitPods(t, net.JoinHostPort(nodeIP(t), field(t, "local", ".spec.ports[0].nodePort")), 2)
	pods := visited(t, awaitAnswer(t, "sticky"))
	assert.True(t, len(pods) == 1, "one visitor got to pods %v, want one", pods)
	for _, path := range []string{clusterIP(t, "nobody") + ":80", clusterIP(t, "local") + ":81"} {
		pod, err := visit(t.Context(), path)
		assert.True(t, errors.Is(err, syscall.ECONNREFUSED), "%s answers %q, %v, want connection refused", path, pod, err)
	}
}

// What a pod finds by short names: services in its namespace and others, the API
// server, a headless service, itself through its service.
func TestFromPod(t *testing.T) {
	t.Parallel()
	apply(t, serving("named")+service("named", "named", "")+service("each", "named", "clusterIP: None"))
	awaitRollout(t, "named")
	awaitPods(t, awaitAnswer(t, "named"), 2)
	script := strings.Join([]string{
		"set -e", "exec > /dev/termination-log", "lookup named", "lookup named.default", "lookup named.default.svc.cluster.local.", "lookup kubernetes.default.svc",
		"dial kubernetes.default:443", "fetch http://named/healthz", "fetch http://each.default.svc:8080/healthz",
	}, "\n")
	text := assert.Get(json.Marshal(script)).Must(t)
	apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: asks}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: lifepod.dev/toolbox:1, command: [sh, -c, `+string(text)+`], resources: {limits: {memory: 64Mi}}}
`)
	kubectl(t, "", "wait", "pod/asks", "--for=jsonpath={.status.containerStatuses[0].state.terminated}", "--timeout", patience.String())
	pod := assert.Get(client.CoreV1().Pods("default").Get(t.Context(), "asks", meta.GetOptions{})).Must(t)
	ended := pod.Status.ContainerStatuses[0].State.Terminated
	web, api := clusterIP(t, "named"), clusterIP(t, "kubernetes")
	want := strings.Join([]string{web, web, web, api}, "\n")
	assert.True(t, ended.ExitCode == 0 && strings.HasPrefix(ended.Message, want) && strings.Count(ended.Message, "ok") == 2,
		"exit code %d, %q; want 0, %q and twice ok", ended.ExitCode, ended.Message, want)
}

// NetworkPolicy has no effect here, and people are told so.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	recorded := assert.Get(client.EventsV1().Events("default").Watch(t.Context(), meta.ListOptions{FieldSelector: "regarding.kind=NetworkPolicy"})).Must(t)
	defer recorded.Stop()
	apply(t, `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny}
spec: {podSelector: {matchLabels: {app: none}}, policyTypes: [Ingress]}
`)
	event, ok := (<-recorded.ResultChan()).Object.(*events.Event)
	assert.True(t, ok && event.Reason == "NotEnforced" && event.Type == core.EventTypeWarning && event.Regarding.Name == "deny",
		"event %+v, want a warning that it is not enforced", event)
}
