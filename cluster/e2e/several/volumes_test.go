package several

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// holder is a pod on n2 with a claim, whose volume is empty or has the content of another.
const holder = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 128Mi}}, dataSource: SOURCE}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: n2}
  volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]
  containers:
  - {name: c, image: "lifepod.dev/toolbox:1", command: [sleep, 1h], volumeMounts: [{name: data, mountPath: /data}]}
`

func volume(name, source string) string {
	return strings.NewReplacer("NAME", name, "SOURCE", source).Replace(holder)
}

// copies are clones on the node of the second server that are being made.
type copies struct {
	second     *instance.Instance
	client     kubernetes.Interface
	keep, gone string // images
}

// beginCopies has the first server, which leads, make two clones of much data on the second one's
// node, and returns in the middle of both.
func beginCopies(ctx context.Context, t *testing.T, second *instance.Instance, client kubernetes.Interface) copies {
	t.Helper()
	apply := func(manifest string) {
		t.Helper()
		assert.Must(t, assert.ErrorOf(second.Kubectl(ctx, manifest, "apply", "-f", "-")))
	}
	content := make([]byte, 96<<20)
	assert.Must(t, assert.ErrorOf(rand.Read(content)))
	for _, name := range []string{"source-1", "source-2"} {
		apply(volume(name, "null"))
		runs(ctx, t, client, name)
		found, err := filepath.Glob(filepath.Join(second.Root, "node", "pods", "*", "volumes", "kubernetes.io~csi", "pvc-"+uidOf(ctx, t, client, name), "mount"))
		assert.Require(t, err == nil && len(found) == 1, "mounts of the volume of %s: %q (%v)", name, found, err)
		assert.Must(t, os.WriteFile(filepath.Join(found[0], "data"), content, 0o600))
	}
	apply(volume("keep", "{kind: PersistentVolumeClaim, name: source-1}") + "---" + volume("gone", "{kind: PersistentVolumeClaim, name: source-2}"))
	c := copies{second: second, client: client}
	c.keep, c.gone = "pvc-"+uidOf(ctx, t, client, "keep"), "pvc-"+uidOf(ctx, t, client, "gone")
	machine.Until(t, "the middle of the copies", func() bool { return c.has(".new-"+c.keep) && c.has(".new-"+c.gone) })
	return c
}

// has says whether there is an image, or one that is being made.
func (c copies) has(name string) bool {
	_, err := os.Stat(filepath.Join(c.second.Root, "volume-images", "volumes", name))
	return err == nil
}

// goOn: the leader was killed. The other server finds the copy that was made, once, and binds it to
// its claim; what was made for a claim that has been deleted meanwhile it deletes.
func (c copies) goOn(ctx context.Context, t *testing.T) {
	t.Helper()
	assert.Must(t, assert.ErrorOf(c.second.Kubectl(ctx, "", "delete", "pod/gone", "pvc/gone", "--wait=false")))
	runs(ctx, t, c.client, "keep")
	list, err := filepath.Glob(filepath.Join(c.second.Root, "volume-images", "volumes", "*"+c.keep))
	assert.True(t, err == nil && len(list) == 1, "images of a claim: %q (%v), want one", list, err)
	assert.True(t, c.has(c.gone) || c.has(".new-"+c.gone), "the node of the volume did not go on without the leader")
}

// end: nothing is left of the claim that has gone.
func (c copies) end(ctx context.Context, t *testing.T) {
	t.Helper()
	machine.Until(t, "the end of a volume of a claim that has gone", func() bool { return !c.has(c.gone) && !c.has(".new-"+c.gone) })
	volumes := assert.Get(c.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})).Must(t)
	assert.True(t, len(volumes.Items) == 3, "%d volumes, want those of both sources and of one copy", len(volumes.Items))
	assert.Must(t, assert.ErrorOf(c.second.Kubectl(ctx, "", "delete", "pods,pvc", "source-1", "source-2", "keep")))
}

// runs waits for a pod.
func runs(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	machine.Until(t, "pod "+name, func() bool {
		pod, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == v1.PodRunning
	})
}

func uidOf(ctx context.Context, t *testing.T, client kubernetes.Interface, claim string) string {
	t.Helper()
	object := assert.Get(client.CoreV1().PersistentVolumeClaims("default").Get(ctx, claim, metav1.GetOptions{})).Must(t)
	return string(object.UID)
}
