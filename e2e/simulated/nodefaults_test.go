package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

// nodeScenario are what happens to the five nodes of TestNodeFaults. The controller waits for 50 s before a node that is silent is unknown.
const nodeScenario = `
apiVersion: lifepod.dev/v1alpha1
kind: NodeScenario
nodes:
- names: faulty-0
  events:
  - {at: 25s, partition: {for: 75s}}
- names: faulty-1
  events:
  - {at: 25s, reboot: {for: 8s}}
- names: faulty-2
  events:
  - {at: 25s, loss: {}}
- names: faulty-3
  slow: 20
`

// What a scenario of nodes has happen to them the cluster's own controllers see, and so do their pods.
func TestNodeFaults(t *testing.T) {
	client := admin(t)
	ns := namespace(t, client)
	says := assert.Get(nodefaults.Read(manifest.Source{Name: "faults", Data: []byte(nodeScenario)}, nodes.Names("faulty-", 5))).Must(t)
	scenarios := assert.Get(file.ScenariosOf(
		file.Named{Scenario: scenarioOf(t, "containers: {main: {runs: [{run: forever}]}}")},
		file.Named{Name: ns + "/crashes", Scenario: scenarioOf(t, "containers: {main: {runs: [{run: 45s, exit: 3}, {run: forever}]}}")},
	)).Must(t)
	happened := make(chan string, 20)
	join(t, client, nodes.Options{
		Count: 5, Prefix: "faulty-", Pods: &live.Pods{Scenarios: scenarios},
		Faults: nodes.Faults{Scenario: says, Tell: func(node, what string) { happened <- node + " " + what }},
	})
	f := &simulatedNodes{T: t, client: client, ns: ns, before: map[string]*v1.Pod{}}
	boot := f.node("faulty-1").Status.NodeInfo.BootID
	for name, node := range map[string]string{
		"steady": "faulty-0", "crashes": "faulty-0", "deleted": "faulty-0", "again": "faulty-1", "never": "faulty-1", "ends": "faulty-1", "lost": "faulty-2",
	} {
		f.create(name, node)
	}
	for name, node := range map[string]string{"slow": "faulty-3", "usual": "faulty-4"} {
		f.create(name, node)
	}
	for _, name := range []string{"steady", "crashes", "deleted", "again", "never", "ends", "lost"} {
		f.before[name] = f.await(name, "Ready", machine.IsReady)
	}
	for left := []string{
		"faulty-0 is cut off from the API server for 1m15s", "faulty-1 is rebooted, and gone for 8s", "faulty-2 is gone for good",
	}; len(left) > 0; {
		what := <-happened
		if i := slices.Index(left, what); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			t.Errorf("told early: %s", what)
		}
	}
	for _, name := range []string{"deleted", "ends"} {
		assert.Must(t, client.CoreV1().Pods(ns).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	f.create("new", "faulty-0")

	f.rebooted(boot)
	f.slow()
	f.unknown("faulty-0")
	f.unknown("faulty-2")
	f.cutOff()
	assert.Deep(t, "told", "faulty-1 starts again", <-happened)
	assert.Deep(t, "told", "faulty-0 reaches the API server again", <-happened)
	f.back()
	f.lost()
	if err := client.CoreV1().Nodes().Delete(t.Context(), "faulty-2", metav1.DeleteOptions{}); err != nil {
		t.Error(err) // nobody else ends the pods of a node that is lost
	}
	deleteAll(t, client, ns)
}

// simulatedNodes is a test of what happens to nodes.
type simulatedNodes struct {
	*testing.T
	client kubernetes.Interface
	ns     string
	before map[string]*v1.Pod
}

func (f *simulatedNodes) create(name, node string) {
	f.Helper()
	pod := podOf(name, node)
	switch name {
	case "never":
		pod.Spec.RestartPolicy = v1.RestartPolicyNever
	case "slow", "usual":
		pod.Spec.Containers[0].Image = "example.test/app:1"
	}
	create(f.T, f.client, f.ns, pod)
}

func (f *simulatedNodes) node(name string) *v1.Node {
	f.Helper()
	node := assert.Get(f.client.CoreV1().Nodes().Get(f.Context(), name, metav1.GetOptions{})).Must(f)
	return node
}

func (f *simulatedNodes) pod(name string) *v1.Pod {
	f.Helper()
	pod := assert.Get(f.client.CoreV1().Pods(f.ns).Get(f.Context(), name, metav1.GetOptions{})).Must(f)
	return pod
}

// await waits until a pod is as wanted.
func (f *simulatedNodes) await(name, what string, is func(*v1.Pod) bool) *v1.Pod {
	f.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		pod := f.pod(name)
		if is(pod) {
			return pod
		}
		if time.Now().After(deadline) {
			f.Fatalf("%s is not %s: %s %+v", name, what, pod.Status.Phase, pod.Status.ContainerStatuses)
		}
	}
}

// gone waits until a pod is gone.
func (f *simulatedNodes) gone(name string) {
	f.Helper()
	machine.Until(f, name+" to be gone", func() bool {
		list, err := f.client.CoreV1().Pods(f.ns).List(f.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err == nil && len(list.Items) == 0
	})
}

// event waits for an event about something.
func (f *simulatedNodes) event(namespace, about, kind, reason, message string) {
	f.Helper()
	seen := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		list := assert.Get(f.client.CoreV1().Events(namespace).List(f.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + about})).Must(f)
		seen = ""
		for _, e := range list.Items {
			if e.Type == kind && e.Reason == reason && strings.Contains(e.Message, message) {
				return
			}
			seen += fmt.Sprintf("\n%s %s %s", e.Type, e.Reason, e.Message)
		}
	}
	f.Errorf("%s has no event %s %s %s, only %s", about, kind, reason, message, seen)
}

// rebooted checks the node that was rebooted, and its pods.
func (f *simulatedNodes) rebooted(boot string) {
	f.Helper()
	pod := f.await("again", "running again", func(p *v1.Pod) bool { return machine.IsReady(p) && p.Status.ContainerStatuses[0].RestartCount == 1 })
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	assert.True(f, last != nil && last.ExitCode == 255 && last.Reason == "Unknown", "again ended as %+v, want 255 Unknown", last) // as containerd has it after a reboot
	assert.True(f, pod.Status.PodIP != f.before["again"].Status.PodIP, "again has still the address %s", pod.Status.PodIP)
	f.event(f.ns, "again", v1.EventTypeNormal, "SandboxChanged", "") // B-RST-12
	f.await("never", "Failed", func(p *v1.Pod) bool {                // B-RST-13
		s := p.Status.ContainerStatuses
		return p.Status.Phase == v1.PodFailed && s[0].RestartCount == 0 && s[0].State.Terminated != nil && s[0].State.Terminated.ExitCode == 255
	})
	f.gone("ends") // it was deleted while the node was gone
	now := f.node("faulty-1").Status.NodeInfo.BootID
	assert.True(f, now != boot, "the node has still the boot ID %s", boot)
	f.event("default", "faulty-1", v1.EventTypeWarning, "Rebooted", "Node faulty-1 has been rebooted, boot id: "+now) // B-RST-12
}

// slow checks the node whose runtime takes 20 times as long against one as usual.
func (f *simulatedNodes) slow() {
	f.Helper()
	took := func(name string) time.Duration {
		pod := f.await(name, "running", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning })
		return pod.Status.ContainerStatuses[0].State.Running.StartedAt.Sub(pod.Status.StartTime.Time)
	}
	// A pull takes a second, a create 4 ms and a start 40 ms, which makes 20.9 s there. Times in a status are whole seconds, so
	// that those between two are 20 or 21.
	if slow, usual := took("slow"), took("usual"); slow < 20*time.Second || usual > 15*time.Second {
		f.Errorf("the pod of the slow node was started after %v, that of another one after %v", slow, usual)
	}
}

// unknown waits until the controller has missed a node.
func (f *simulatedNodes) unknown(name string) {
	f.Helper()
	machine.Until(f, name+" to be unknown", func() bool { return machine.NodeReady(f.node(name)).Status == v1.ConditionUnknown })
}

// cutOff checks the pods of the node that can't reach the API server.
func (f *simulatedNodes) cutOff() {
	f.Helper()
	assert.True(f, f.pod("deleted").DeletionTimestamp != nil, "deleted was not deleted")
	if pod := f.pod("crashes"); pod.Status.ContainerStatuses[0].RestartCount != 0 {
		f.Errorf("the node is cut off, and has told of a restart: %+v", pod.Status.ContainerStatuses)
	}
	pod := f.pod("new")
	assert.True(f, pod.Status.StartTime == nil, "the node is cut off, and has begun with a new pod: %+v", pod.Status)
	f.await("steady", "marked as not ready", func(p *v1.Pod) bool { return !machine.IsReady(p) }) // by the controller
}

// back checks them when it is back: they have lived on, and what has happened is reported.
func (f *simulatedNodes) back() {
	f.Helper()
	pod := f.await("steady", "Ready again", machine.IsReady)
	was, is := f.before["steady"].Status.ContainerStatuses[0], pod.Status.ContainerStatuses[0]
	assert.True(f, is.RestartCount == 0 && is.ContainerID == was.ContainerID, // B-LOST-8
		"the container of steady was %s, and is %s with %d restarts", was.ContainerID, is.ContainerID, is.RestartCount)
	f.await("crashes", "Ready after a restart", func(p *v1.Pod) bool { return machine.IsReady(p) && crashed(p) })
	f.gone("deleted")
	f.await("new", "Ready", machine.IsReady)
	for _, c := range f.node("faulty-0").Status.Conditions {
		assert.True(f, c.Type != v1.NodeReady || c.Status == v1.ConditionTrue, "the node is back, and not Ready: %+v", c) // B-LOST-2
	}
}

// lost checks the node that does not come back: the cluster has it as any that is lost.
func (f *simulatedNodes) lost() {
	f.Helper()
	node := f.node("faulty-2")
	assert.True(f, slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnreachable }),
		"the taints of the node are %v", node.Spec.Taints)
	if pod := f.pod("lost"); machine.IsReady(pod) || pod.Status.Phase != v1.PodRunning || pod.Status.ContainerStatuses[0].RestartCount != 0 {
		f.Errorf("the pod of the node is %+v", pod.Status)
	}
	lease, err := f.client.CoordinationV1().Leases(v1.NamespaceNodeLease).Get(context.Background(), "faulty-2", metav1.GetOptions{})
	assert.True(f, err == nil && time.Since(lease.Spec.RenewTime.Time) >= 40*time.Second, "the Lease of the node is %+v, %v", lease, err)
}
