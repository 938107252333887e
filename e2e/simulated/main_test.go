package simulated

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/nodes"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
)

var plane *controlplane.ControlPlane

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

func TestMain(m *testing.M) { controlplane.Main(m, &plane) }

func admin(t *testing.T) kubernetes.Interface {
	t.Helper()
	client := assert.Get(kubernetes.NewForConfig(plane.RESTConfig())).Must(t)
	return client
}

func scenarioOf(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s := assert.Get(file.ReadForAny(manifest.Source{Name: t.Name(), Data: []byte("apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\n" + text)})).Must(t)
	return s
}

// podOf is a pod with a readiness probe.
func podOf(name, node string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.NodeName = node
	pod.Spec.AutomountServiceAccountToken = new(false)
	pod.Spec.TerminationGracePeriodSeconds = new(int64(2))
	pod.Spec.Containers = []v1.Container{{
		Name: "main", Image: "lifepod.dev/toolbox:1",
		ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"ready"}}}, PeriodSeconds: 1},
	}}
	return pod
}

func create(t *testing.T, client kubernetes.Interface, ns string, pod *v1.Pod) {
	t.Helper()
	assert.Must(t, assert.ErrorOf(client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})))
}

func removeNodes(client kubernetes.Interface) error {
	return client.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: nodes.SimulatedLabel})
}

// namespace makes one of its own for a test, whose service account is there.
func namespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	made := assert.Get(client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "simulated-"}}, metav1.CreateOptions{})).Must(t)
	machine.Until(t, "the namespace's service account", func() bool {
		_, err := client.CoreV1().ServiceAccounts(made.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return made.Name
}

// awaitAll waits until all pods of a namespace are as wanted, and want is how many there are.
func awaitAll(t *testing.T, client kubernetes.Interface, namespace, what string, want int, is func(*v1.Pod) bool) {
	t.Helper()
	ctx := assert.Context(t, 2*patience)
	state := ""
	for {
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			so, others := 0, ""
			for i := range list.Items {
				if pod := &list.Items[i]; is(pod) {
					so++
				} else {
					others += fmt.Sprintf("\n%s on %q: %s %+v", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.ContainerStatuses)
				}
			}
			if so == want && len(list.Items) == want {
				return
			}
			state = fmt.Sprintf("%d of %d are; not %s", so, len(list.Items), others)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("want %d pods %s: %s; %v", want, what, state, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
