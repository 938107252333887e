package nodeparts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/roster"
)

func podOf(node, name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "c", Image: "lifepod.dev/toolbox:1"}}},
	}
}

var now = metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}

// TestManyPods: many pods are heard, and those that went or were replaced
// while the node was cut off and the API server restarted (B-RST-3).
func TestManyPods(t *testing.T) {
	const count = 300
	n := newSourceNode(t, "many")
	pods := n.admin.CoreV1().Pods("default")
	create := func(from, to int) {
		var all errgroup.Group
		all.SetLimit(16)
		for i := from; i < to; i++ {
			all.Go(func() error {
				_, err := pods.Create(t.Context(), podOf(n.name, fmt.Sprintf("many-%d", i)), metav1.CreateOptions{})
				return err
			})
		}
		assert.Must(t, all.Wait())
	}
	create(0, count)
	assert.Must(t, assert.ErrorOf(pods.Create(t.Context(), podOf("other", "elsewhere"), metav1.CreateOptions{})))

	start := time.Now()
	n.run(n.api().Run)
	n.until("all pods", func() bool { return n.heard[roster.API] })
	assert.Deep(t, "pods were heard", count, len(n.pods))
	t.Logf("%d pods heard after %v", count, time.Since(start).Round(time.Millisecond))

	uids := map[string]types.UID{}
	for uid, pod := range n.pods {
		uids[pod.Name] = uid
		assert.Require(t, pod.ManagedFields == nil, "a pod has managed fields")
	}
	n.network.cut()
	for i := range 4 {
		assert.Must(t, pods.Delete(t.Context(), fmt.Sprintf("many-%d", i), now))
	}
	create(3, 4)
	assert.Must(t, plane.StopAPIServer(), plane.StartAPIServer(t.Context()))
	create(count, count+1)
	n.network.mend()
	n.until("the difference", func() bool {
		names := map[string]types.UID{}
		for uid, pod := range n.pods {
			names[pod.Name] = uid
		}
		return len(names) == count-2 && names["many-0"] == "" && names[fmt.Sprintf("many-%d", count)] != "" &&
			names["many-3"] != "" && names["many-3"] != uids["many-3"]
	})

	assert.Must(t, pods.Delete(t.Context(), "many-9", metav1.DeleteOptions{}))
	n.until("deletion", func() bool {
		pod := n.pods[uids["many-9"]]
		return pod != nil && pod.DeletionTimestamp != nil
	})
	assert.Must(t, pods.Delete(t.Context(), "many-9", now))
	n.until("end", func() bool { return n.pods[uids["many-9"]] == nil })
	assert.Must(t, pods.DeleteCollection(t.Context(), now, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.name}))
	assert.Must(t, pods.Delete(t.Context(), "elsewhere", now))
	n.until("end of all", func() bool { return len(n.pods) == 0 })
}

const (
	staticWeb = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: kube-system}
spec:
  priorityClassName: system-node-critical
  priority: 2000001000
  hostNetwork: true
  containers:
  - {name: web, image: lifepod.dev/toolbox:1, command: [serve, --port, "8080"],
     env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}],
     volumeMounts: [{name: secret, mountPath: /secret}, {name: host, mountPath: /host}]}
  volumes:
  - {name: secret, secret: {secretName: key}}
  - {name: host, hostPath: {path: /etc/kubernetes}}
`
	staticData = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: kube-system}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: kube-system}
stringData: {k: v}
`
)

// TestMirrorPods: static pods are shown by the API server, with the rights of a node, whatever
// is done to their mirror pods, through outages (B-STA-3 to B-STA-6).
func TestMirrorPods(t *testing.T) {
	n := newSourceNode(t, "mirrors")
	dir := t.TempDir()
	write := func(name, text string) {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file := &source.File{Objects: &source.Objects{}, Path: dir, NodeName: n.name, Feed: n, Log: n.log}
	write("web.yaml", staticWeb)
	write("data.yaml", staticData)
	n.run(n.api().Run, n.mirrors.Run, file.Run)

	pods := n.admin.CoreV1().Pods("kube-system")
	var static, mirror types.UID
	isAnother := func() bool {
		for uid := range n.pods {
			if now := n.mirrors.Of(uid); now != nil && now.UID != mirror {
				static, mirror = uid, now.UID
				return true
			}
		}
		return false
	}
	n.until("mirror pod", isAnother)
	first := static
	shown := assert.Get(pods.Get(t.Context(), "web-mirrors", metav1.GetOptions{})).Must(t)
	assert.True(t, shown.UID == mirror && shown.Annotations[v1.MirrorPodAnnotationKey] == string(static) &&
		shown.Annotations[source.WithoutDataAnnotation] == "spec.volumes[0], spec.containers[0].env[0]" && *shown.Spec.Priority == 2000001000, "shown: %v %v", shown.ObjectMeta, shown.Spec)

	assert.Must(t, pods.Delete(t.Context(), shown.Name, metav1.DeleteOptions{}))
	n.until("mirror pod after a delete", isAnother)
	assert.Must(t, pods.Delete(t.Context(), shown.Name, now))
	n.until("mirror pod after a forced delete", isAnother)
	assert.True(t, static == first, "deleting a mirror pod made a static pod of UID %s of %s", static, first)

	n.network.cut()
	assert.Must(t, pods.Delete(context.WithoutCancel(t.Context()), shown.Name, now))
	write("web.yaml", staticWeb+"  terminationGracePeriodSeconds: 3\n")
	n.until("change without the API server", func() bool { return len(n.pods) == 1 && n.pods[first] == nil })
	n.network.mend()
	n.until("mirror pod after an outage", isAnother)

	assert.Must(t, os.Remove(filepath.Join(dir, "web.yaml")))
	n.until("end of the mirror pod", func() bool { return n.mirrors.Count() == 0 })
	list := assert.Get(pods.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.name})).Must(t)
	assert.True(t, len(list.Items) == 0, "left: %v", list.Items)
}

// TestOrphanedMirrorPod: a mirror pod of a static pod that went while nobody looked (B-STA-5).
func TestOrphanedMirrorPod(t *testing.T) {
	n := newSourceNode(t, "orphans")
	node := assert.Get(n.admin.CoreV1().Nodes().Get(t.Context(), n.name, metav1.GetOptions{})).Must(t)
	orphan := podOf(n.name, "orphan")
	orphan.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
	orphan.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.name, UID: node.UID, Controller: new(true)}}
	assert.Must(t, assert.ErrorOf(n.client.CoreV1().Pods("default").Create(t.Context(), orphan, metav1.CreateOptions{})))
	n.run(n.api().Run, n.mirrors.Run)
	n.until("the orphan", func() bool { return n.mirrors.Count() == 1 && n.heard[roster.API] })
	n.mirrors.AllHeard()
	n.until("its end", func() bool { return n.mirrors.Count() == 0 })
	assert.True(t, len(n.pods) == 0, "a Feed was told of %v", n.pods)
}
