package agent

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/internal/assert"
)

// some lists and watches objects of the namespace with a label.
func (c *cluster) some(getter cache.Getter, resource, selector string) *cache.ListWatch {
	return cache.NewFilteredListWatchFromClient(getter, resource, c.namespace, func(o *metav1.ListOptions) { o.LabelSelector = selector })
}

// awaitPods waits until the pods with a label are as wanted; no selector: all.
func (c *cluster) awaitPods(selector, what string, wanted func([]v1.Pod) bool) []v1.Pod {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	var last []v1.Pod
	now := func() bool {
		list, err := client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return false
		}
		last = list.Items
		return wanted(last)
	}
	_, err := watchtools.UntilWithSync(ctx, c.some(client.CoreV1().RESTClient(), "pods", selector), &v1.Pod{},
		func(cache.Store) (bool, error) { return now(), nil },
		func(watch.Event) (bool, error) { return now(), nil })
	assert.Require(c.t, err == nil, "pods %s never came %s: %v; the last ones seen:\n%s", selector, what, err, summary(last))
	return last
}

// summary is what kubectl get pods would show.
func summary(pods []v1.Pod) string {
	var text strings.Builder
	for _, pod := range pods {
		text.WriteString(pod.Name + " " + string(pod.Status.Phase) + " " + pod.Status.Reason + " " + pod.Status.Message + "\n")
		for _, s := range pod.Status.ContainerStatuses {
			text.WriteString("  " + s.String() + "\n")
		}
	}
	return text.String()
}

func phases(pods []v1.Pod) map[v1.PodPhase]int {
	count := map[v1.PodPhase]int{}
	for _, pod := range pods {
		count[pod.Status.Phase]++
	}
	return count
}

// untilDeleted waits until a pod's object is gone, and returns it as it was last.
func (c *cluster) untilDeleted(pod *v1.Pod) *v1.Pod {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	last, err := watchtools.Until(ctx, pod.ResourceVersion, c.one("pods", pod.Name), func(e watch.Event) (bool, error) {
		return e.Type == watch.Deleted && e.Object.(*v1.Pod).UID == pod.UID, nil
	})
	assert.Require(c.t, err == nil, "pod %s is not gone: %v", pod.Name, err)
	return last.Object.(*v1.Pod)
}
