package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

const (
	mebi         = 1 << 20
	diskMiB      = 480
	diskInodes   = 12000
	shortOfMiB   = 150 // the hard threshold of nodefs.available
	leftMiB      = 90  // what a hog leaves
	shortOfFiles = 1500
	leftFiles    = 700
)

// hogs are pods that fill the disk: of blocks of a mebibyte, or of files. The last one has
// ended when what it has written counts.
const (
	diskHog = `
metadata: {name: NAME}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes:
  - {name: data, emptyDir: {}}
  - {name: block, hostPath: {path: BLOCK, type: File}}
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "for i in $(seq 1 COUNT); do cat /block; done > /data/fill; exec sleep infinity"],
     volumeMounts: [{name: data, mountPath: /data}, {name: block, mountPath: /block}]}
`
	fileHog = `
metadata: {name: files}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, emptyDir: {}}]
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "cd /data; seq 1 COUNT | xargs -n 500 touch; exec sleep infinity"],
     volumeMounts: [{name: data, mountPath: /data}]}
`
	layerHog = `
metadata: {name: ended}
spec:
  restartPolicy: Never
  volumes: [{name: block, hostPath: {path: BLOCK, type: File}}]
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "for i in $(seq 1 COUNT); do cat /block; done > /fill"],
     volumeMounts: [{name: block, mountPath: /block}]}
`
)

// diskNode is a node whose runtime and pods have a small disk of their own.
type diskNode struct {
	*cluster
	disk  string // where it is mounted
	block string // a file of a mebibyte
}

// TestDiskPressure: on a node with a small disk a pod that fills it, with bytes or with
// files, is evicted, its neighbour lives on, and the Node says so until the time of
// transition is over; nobody goes when what has ended is enough (B-EVI-1, B-EVI-5, B-EVI-6,
// B-EVI-7, B-EVI-9).
func TestDiskPressure(t *testing.T) {
	t.Parallel()
	n := newDiskNode(t)
	n.create(modest)
	n.awaitReady("modest")

	n.create(n.filled(layerHog, "", 110))
	n.await("ended", "to end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
	n.create(n.filled(diskHog, "stays", n.left().mib-leftMiB))
	n.awaitPressure(v1.ConditionTrue)
	n.awaitPressure(v1.ConditionFalse)
	n.awaitReady("stays")
	n.delete("stays")

	n.create(n.filled(diskHog, "bytes", n.left().mib-leftMiB))
	n.awaitPressure(v1.ConditionTrue)
	n.evicted("bytes", "ephemeral-storage", fmt.Sprintf("Threshold quantity: %dMi, available: [0-9]+(Ki|Mi)", shortOfMiB))
	n.awaitPressure(v1.ConditionFalse)

	n.create(n.filled(fileHog, "", n.left().files-leftFiles))
	n.awaitPressure(v1.ConditionTrue)
	n.evicted("files", "inodes", fmt.Sprintf("Threshold quantity: %d, available: [0-9]+", shortOfFiles))
	n.awaitPressure(v1.ConditionFalse)

	n.wantNodeEvent("EvictionThresholdMet", "Attempting to reclaim ephemeral-storage")
	n.wantNodeEvent("EvictionThresholdMet", "Attempting to reclaim inodes")
	n.awaitReady("modest")
	n.wantVictims("bytes", "files")
	logOf(t, n.node, "evict", "reclaim", "removed")
}

func newDiskNode(t *testing.T) *diskNode {
	t.Helper()
	dir := t.TempDir()
	n := &diskNode{disk: filepath.Join(dir, "disk"), block: filepath.Join(dir, "block")}
	image := filepath.Join(dir, "image")
	assert.Must(t, os.WriteFile(n.block, make([]byte, mebi), 0o600))
	for _, command := range [][]string{
		{"mkdir", n.disk}, {"truncate", "-s", fmt.Sprintf("%dM", diskMiB), image},
		{"mkfs.ext4", "-q", "-m", "0", "-N", strconv.Itoa(diskInodes), image}, {"mount", "-o", "loop", image, n.disk},
	} {
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		assert.Require(t, err == nil, "%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	t.Cleanup(func() {
		out, err := exec.CommandContext(context.Background(), "umount", n.disk).CombinedOutput()
		assert.True(t, err == nil, "umount: %v\n%s", err, out)
	})
	node := newNode(t, member.Config{Dir: filepath.Join(n.disk, "node"), Kubelet: map[string]any{
		"evictionHard":                     map[string]string{"nodefs.available": fmt.Sprintf("%dMi", shortOfMiB), "nodefs.inodesFree": strconv.Itoa(shortOfFiles)},
		"evictionPressureTransitionPeriod": "3s",
		"imageGCHighThresholdPercent":      100,
	}})
	n.cluster = newCluster(t, node)
	return n
}

func (n *diskNode) left() (left struct{ mib, files int }) {
	n.t.Helper()
	var s unix.Statfs_t
	assert.Must(n.t, unix.Statfs(n.disk, &s))
	left.mib, left.files = int(s.Bavail*uint64(s.Bsize)/mebi), int(s.Ffree)
	return left
}

func (n *diskNode) filled(manifest, name string, count int) string {
	return strings.NewReplacer("NAME", name, "BLOCK", n.block, "COUNT", strconv.Itoa(count)).Replace(manifest)
}

// awaitPressure waits until the Node's DiskPressure is of that status.
func (n *diskNode) awaitPressure(status v1.ConditionStatus) {
	n.t.Helper()
	assert.Must(n.t, n.node.AwaitNode(n.t.Context(), "to have DiskPressure "+string(status), under(v1.NodeDiskPressure, status)))
}

// evicted waits until a pod was evicted, and looks at what its status says (B-EVI-9).
func (c *cluster) evicted(name, resource, amounts string) {
	c.t.Helper()
	pod := c.await(name, "to be evicted", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	message := regexp.MustCompile(`^The node was low on resource: ` + resource + `\. ` + amounts + `\. ` +
		`(Container main was using [^ ]+, request is 0, has larger consumption of ` + resource + `\. )?$`)
	assert.True(c.t, pod.Status.Reason == "Evicted" && message.MatchString(pod.Status.Message),
		"status of %s is %s: %q", name, pod.Status.Reason, pod.Status.Message)
	if target := machine.PodCondition(pod, v1.DisruptionTarget); target.Status != v1.ConditionTrue || target.Reason != v1.PodReasonTerminationByKubelet || target.Message != pod.Status.Message {
		c.t.Errorf("condition DisruptionTarget of %s: %+v", name, target)
	}
	event := c.awaitEvent(name, v1.EventTypeWarning, "Evicted")
	starved := event.Annotations["starved_resource"]
	assert.True(c.t, starved == resource && event.Message == pod.Status.Message, "event Evicted of %s, for want of %q: %s", name, starved, event.Message)
	c.t.Logf("%s: %s", name, pod.Status.Message)
}

// wantVictims demands one event Evicted for each of these pods, and none for others.
func (c *cluster) wantVictims(names ...string) {
	c.t.Helper()
	list := assert.Get(client.CoreV1().Events(c.namespace).List(c.t.Context(), metav1.ListOptions{FieldSelector: "reason=Evicted"})).Must(c.t)
	times := map[string]int32{}
	for i := range list.Items {
		times[list.Items[i].InvolvedObject.Name] += list.Items[i].Count
	}
	for _, name := range names {
		assert.True(c.t, times[name] == 1, "%d events Evicted of %s, want one", times[name], name)
		delete(times, name)
	}
	assert.True(c.t, len(times) == 0, "others were evicted, too: %v", times)
}
