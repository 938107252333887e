package agent

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// record is every version of every pod of a namespace that a watch shows.
type record struct {
	mu       sync.Mutex
	versions map[string][]*v1.Pod // by name
}

// newRecord records until the test ends.
func (c *cluster) newRecord() *record {
	c.t.Helper()
	r := &record{versions: map[string][]*v1.Pod{}}
	ctx, cancel := context.WithCancel(context.Background())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: c.some(client.CoreV1().RESTClient(), "pods", ""),
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    r.add,
			UpdateFunc: func(_, pod any) { r.add(pod) },
		},
	})
	var informing sync.WaitGroup
	informing.Go(func() { informer.RunWithContext(ctx) })
	c.t.Cleanup(func() { cancel(); informing.Wait() })
	assert.Require(c.t, cache.WaitForCacheSync(c.t.Context().Done(), informer.HasSynced), "the watch has not begun")
	return r
}

func (r *record) add(object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod := object.(*v1.Pod)
	r.versions[pod.Name] = append(r.versions[pod.Name], pod)
}

// between are the versions of a pod from one to another, those included. It waits
// for the last one.
func (r *record) between(t *testing.T, from, to *v1.Pod) []*v1.Pod {
	t.Helper()
	index := func(pod *v1.Pod) int {
		return slices.IndexFunc(r.versions[pod.Name], func(p *v1.Pod) bool { return p.UID == pod.UID && p.ResourceVersion == pod.ResourceVersion })
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // a watch tells when it wants
		r.mu.Lock()
		first, last := index(from), index(to)
		versions := r.versions[from.Name]
		r.mu.Unlock()
		if last >= 0 && first >= 0 {
			return versions[first : last+1]
		}
	}
	t.Fatalf("the watch has never shown pod %s of version %s", to.Name, to.ResourceVersion)
	return nil
}

// unchanged fails the test if anything happened to a pod between two versions,
// while program ran the node: its status, times included, is what it was.
func (r *record) unchanged(t *testing.T, program string, from, to *v1.Pod) {
	t.Helper()
	versions := r.between(t, from, to)
	for i, pod := range versions[1:] {
		if diff := cmp.Diff(notable(program, versions[i]), notable(program, pod)); diff != "" {
			t.Errorf("%s has changed the status of pod %s (-before +after):\n%s", filepath.Base(program), pod.Name, diff)
		}
	}
}

// notable is the status without what a kubelet changes when it is started anew,
// also after another kubelet: the pod's resources; addresses of a pod that has ended,
// which it forgets; times and mounts of a static pod, which begins anew for it.
func notable(program string, pod *v1.Pod) v1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.Resources = nil
	if status.Phase == v1.PodSucceeded {
		status.PodIP, status.PodIPs = "", nil
	}
	if pod.Annotations[v1.MirrorPodAnnotationKey] == "" {
		return status
	}
	for i := range status.ContainerStatuses {
		status.ContainerStatuses[i].VolumeMounts = nil
	}
	if filepath.Base(program) == "kubelet" {
		status.StartTime = nil
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
	}
	return status
}

// restartsOnly fails the test unless restart counts only ever grew, one by one,
// and no restart was forgotten.
func (r *record) restartsOnly(t *testing.T, from, to *v1.Pod) {
	t.Helper()
	versions := r.between(t, from, to)
	for i, pod := range versions[1:] {
		for j, after := range pod.Status.ContainerStatuses {
			before := versions[i].Status.ContainerStatuses[j]
			grown := after.RestartCount - before.RestartCount
			if grown < 0 || grown > 1 || grown == 0 && before.LastTerminationState.Terminated != nil && after.LastTerminationState.Terminated == nil {
				t.Errorf("container %s of pod %s (-before +after):\n%s", after.Name, pod.Name, cmp.Diff(before, after))
			}
		}
	}
}

// all lists the pods with a label as they are now, by name.
func (c *cluster) all(selector string) map[string]*v1.Pod {
	c.t.Helper()
	list := assert.Get(client.CoreV1().Pods(c.namespace).List(c.t.Context(), metav1.ListOptions{LabelSelector: selector})).Must(c.t)
	byName := map[string]*v1.Pod{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return byName
}

// startRuntime starts a container runtime that the programs of a node use one
// after the other. It ends with the test. The result is its endpoint.
func startRuntime(t *testing.T) string {
	t.Helper()
	runtime := assert.Get(member.StartRuntime(t.Context(), binary)).Must(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of the runtime:\n%s", runtime.LastLines(20))
		}
		assert.NoError(t, runtime.Close())
	})
	return runtime.Endpoint()
}
