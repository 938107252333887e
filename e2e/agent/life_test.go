package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// sleeper is a pod that says hello and does nothing more.
const sleeper = `
metadata: {name: sleeper}
spec:
  terminationGracePeriodSeconds: 2 # a shell that has just begun misses SIGTERM
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "echo hello; exec sleep 3600"], resources: {limits: {memory: 64Mi}}}
`

// TestPodLives takes a pod from its creation to its deletion.
func TestPodLives(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(sleeper)
	pod := c.awaitReady("sleeper")
	assert.True(t, pod.Status.Phase == v1.PodRunning && pod.Status.PodIP != "" && pod.Status.StartTime != nil,
		"status of the ready pod: %+v, want phase Running, an address and a start", pod.Status)
	c.awaitLine("sleeper", "hello")
	assert.Deep(t, "kubectl exec", "inside\n", c.kubectl("exec", "sleeper", "--", "sh", "-c", "echo inside"))
	c.delete("sleeper")
}

// TestRestartOfTheAgentIsInvisible kills the agent, and ends it in order: the pod
// goes on, and the cluster sees no difference.
func TestRestartOfTheAgentIsInvisible(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	c := newCluster(t, node)
	c.create(sleeper)
	before := c.awaitReady("sleeper")
	for _, end := range []struct {
		name string
		do   func() error
	}{{"kill -9", node.Kill}, {"SIGTERM", node.Stop}} {
		assert.Must(t, end.do())
		assert.Must(t, node.Run())
		err := node.AwaitHealthy(t.Context())
		assert.Require(t, err == nil, "after %s: %v", end.name, err)
		c.awaitLine("sleeper", "hello")
	}
	assert.Deep(t, "the pod before and after", lifeOf(before), lifeOf(c.awaitReady("sleeper")), cmp.AllowUnexported(life{}))
	c.delete("sleeper")
}

// life is what changes in a pod's status if anything happens to the pod.
type life struct {
	phase      v1.PodPhase
	start      metav1.Time
	ips        []v1.PodIP
	conditions []v1.PodCondition
	ids        []string
	restarts   []int32
	states     []v1.ContainerState
}

func lifeOf(pod *v1.Pod) life {
	s := pod.Status
	l := life{phase: s.Phase, start: *s.StartTime, ips: s.PodIPs, conditions: s.Conditions}
	for _, container := range s.ContainerStatuses {
		l.ids = append(l.ids, container.ContainerID)
		l.restarts = append(l.restarts, container.RestartCount)
		l.states = append(l.states, container.State)
	}
	return l
}

// TestNodeJoinsWithBootstrapToken: a new machine asks for its certificate.
func TestNodeJoinsWithBootstrapToken(t *testing.T) {
	t.Parallel()
	c := newCluster(t, newNode(t, member.Config{Bootstrap: true}))
	c.create(sleeper)
	c.awaitReady("sleeper")
	c.delete("sleeper")
}

// TestSandboxThatComesLate: what the runtime has of a pod that has gone goes, too: a call of an agent that was killed may be carried
// out late (B-WRK-21).
func TestSandboxThatComesLate(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	endpoint := assert.Get(cri.Dial("unix://" + c.node.Root.RunDir() + "/containerd.sock")).Must(t)
	defer func() { _ = endpoint.Close() }() // no call is under way
	runtime := endpoint.Runtime
	c.create(polite)
	pod := c.awaitReady("pod")
	c.delete("pod")
	c.awaitForgotten(pod)
	uid := string(pod.UID)
	late := assert.Get(runtime.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "late", Namespace: c.namespace, Uid: uid},
		Labels:   map[string]string{cri.PodUIDLabel: uid}, LogDirectory: t.TempDir(),
		Annotations: map[string]string{criconfig.NodeAnnotation: c.node.Name},
	}})).Must(t)
	began := time.Now()
	for {
		list := assert.Get(runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})).Must(t)
		if !slices.ContainsFunc(list.Items, func(s *runtimeapi.PodSandbox) bool { return s.Id == late.PodSandboxId }) {
			t.Logf("the sandbox was gone after %v", time.Since(began).Round(time.Second))
			return
		}
		assert.Require(t, time.Since(began) <= patience, "the sandbox is still there after %v", patience)
		time.Sleep(time.Second)
	}
}
