// Package objects tests what pods use from the API server (node/objects) against a
// real one, with the rights that a node has.
package nodeparts

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/objects"
	"github.com/lifepod/lifepod/worker/volumes"
)

const nodeName = "node-1"

// testNode is what a node has of the API server, in a namespace of its own.
type testNode struct {
	*testing.T
	*objects.Objects
	admin     kubernetes.Interface
	namespace string
	changes   chan string // what Changed said
}

func newObjectsNode(t *testing.T) *testNode {
	t.Helper()
	admin := admin(t)
	made := assert.Get(admin.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "objects-"}}, metav1.CreateOptions{})).Must(t)
	n := &testNode{T: t, admin: admin, namespace: made.Name, changes: make(chan string, 100)}
	n.Objects = objects.New(t.Context(), objects.Options{
		Client: clientOf(t, nodeName), Log: slog.New(slog.DiscardHandler),
		Changed:    func(_ types.UID, because lifecycle.Because) { n.changes <- because.String() },
		NodeLabels: func() (map[string]string, error) { return map[string]string{v1.LabelHostname: nodeName}, nil },
	})
	n.awaitDefaults()
	return n
}

// awaitDefaults waits for what the controllers put into each namespace.
func (n *testNode) awaitDefaults() {
	n.Helper()
	n.await("service account and root certificate", func() error {
		_, err := n.admin.CoreV1().ServiceAccounts(n.namespace).Get(n.Context(), "default", metav1.GetOptions{})
		if err == nil {
			_, err = n.admin.CoreV1().ConfigMaps(n.namespace).Get(n.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		}
		return err
	})
}

// await asks again until it is so.
func (n *testNode) await(what string, do func() error) {
	n.Helper()
	late := time.After(patience)
	for {
		err := do()
		if err == nil {
			return
		}
		select {
		case <-late:
			n.Fatalf("%s: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hears waits for one call of Changed.
func (n *testNode) hears(want string) {
	n.Helper()
	late := time.After(patience)
	for {
		select {
		case got := <-n.changes:
			if got == want {
				return
			}
		case <-late:
			n.Fatalf("did not hear %q", want)
		}
	}
}

// bind creates a pod on the node, which mounts all its volumes.
func (n *testNode) bind(vs ...v1.Volume) *v1.Pod {
	n.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}, Spec: v1.PodSpec{NodeName: nodeName, Volumes: vs}}
	c := v1.Container{Name: "main", Image: "example.com/x"}
	for _, v := range vs {
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	pod.Spec.Containers = []v1.Container{c}
	pod = assert.Get(n.admin.CoreV1().Pods(n.namespace).Create(n.Context(), pod, metav1.CreateOptions{})).Must(n)
	n.Register(pod)
	return pod
}

// folder is a pod's, removed with its mounts after the test.
func (n *testNode) folder(pod *v1.Pod) string {
	dir := filepath.Join(n.TempDir(), string(pod.UID))
	assert.AtEnd(n, func() error { return volumes.Remove(dir) })
	return dir
}

func (n *testNode) sources() volumes.Sources {
	return volumes.Sources{Objects: n.Objects, API: n.Objects}
}

func (n *testNode) read(m volumes.Mounted, volume, name string) string {
	n.Helper()
	path, _ := m.Path(volume)
	content := assert.Get(os.ReadFile(filepath.Join(path, name))).Must(n)
	return string(content)
}

// refused is nil if the pod's volumes can't be made for that reason.
func (n *testNode) refused(pod *v1.Pod, dir, want string) error {
	_, err := volumes.Prepare(n.Context(), pod, dir, n.sources())
	if err == nil || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("error = %w, want one with %s", err, want)
	}
	return nil
}

func (n *testNode) rootCertificate() string {
	n.Helper()
	root := assert.Get(n.admin.CoreV1().ConfigMaps(n.namespace).Get(n.Context(), "kube-root-ca.crt", metav1.GetOptions{})).Must(n)
	return root.Data["ca.crt"]
}
