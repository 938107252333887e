package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
)

// TestJournal: a node tells through the API server what happened to a pod and what led to it,
// over a kill -9 of its agent and after the pod is gone, to those who may use nodes/proxy only.
func TestJournal(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	c := newCluster(t, node)
	c.create(`
metadata: {name: crash, finalizers: [example.com/keep]}
spec:
  terminationGracePeriodSeconds: 1
  nodeName: ` + node.Name + `
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "sleep 0.5; exit 3"], resources: {limits: {memory: 64Mi}}}
`)
	restarted := func(n int32) {
		c.await("crash", "to be restarted", func(pod *v1.Pod) bool { return statusOf(pod, "main").RestartCount == n })
	}
	c.await("crash", "to be in its back-off", func(pod *v1.Pod) bool { // a kill elsewhere may cut off a start, which is an end as well
		status := statusOf(pod, "main")
		return status.RestartCount == 1 && status.State.Waiting != nil && status.State.Waiting.Reason == "CrashLoopBackOff"
	})
	restart(t, node)
	restarted(2)
	cluster := &remote.Cluster{Context: t.Context(), Client: client, Namespace: c.namespace}
	pods, err := cluster.Pods()
	assert.Require(t, err == nil && len(pods) == 1, "pods %+v, %v", pods, err)
	record := assert.Get(cluster.Read(pods[0].UID)).Must(t)
	checkRestarts(t, record)

	plugin := c.plugin("timeline", "crash", "--namespace", c.namespace)
	assert.True(t, strings.Contains(plugin, c.namespace+"/crash") && strings.Contains(plugin, "critical path"),
		"kubectl lifepod timeline shows\n%s", plugin)

	said := c.plugin("why", "crash", "--namespace", c.namespace)
	assert.True(t, strings.Contains(said, "main at ") && strings.Contains(said, ": exit 3 → "), "kubectl lifepod why says\n%s", said)

	api, uid := client.CoreV1().Pods(c.namespace), record.Pod.UID
	assert.Must(t, api.Delete(t.Context(), "crash", metav1.DeleteOptions{}))
	of := remote.Node{Context: t.Context(), Client: client.CoreV1().RESTClient(), Name: node.Name}
	until := func(what string, is func(*journal.Record) bool) {
		t.Helper()
		var gone *journal.Record
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (_ bool, err error) {
			gone, err = of.Read(uid)
			return err == nil && gone.Now.Stage == "gone" && !gone.Living && is(gone), err
		})
		assert.True(t, err == nil, "of the pod %s: %+v, %v", what, gone, err)
	}
	until("that its finalizer holds", func(r *journal.Record) bool { return r.Now.Held() })
	assert.Must(t, assert.ErrorOf(api.Patch(t.Context(), "crash", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})))
	until("whose object is gone", func(r *journal.Record) bool { return !r.Now.Held() })
	somebody := rest.CopyConfig(plane.RESTConfig())
	somebody.Impersonate.UserName = "somebody"
	theirs := assert.Get(kubernetes.NewForConfig(somebody)).Must(t)
	of.Client = theirs.CoreV1().RESTClient()
	record, err = of.Read(uid)
	assert.True(t, err != nil, "somebody else is told %+v", record)
}

// plugin runs lifepod as kubectl lifepod does.
func (c *cluster) plugin(args ...string) string {
	c.t.Helper()
	out := assert.Get(plane.Plugin(c.t.Context(), binary, args...)).Must(c.t)
	return out
}

// checkRestarts checks that nothing is missing, and that every restart follows from an exit.
func checkRestarts(t *testing.T, record *journal.Record) {
	t.Helper()
	by := map[int64]journal.Entry{}
	var exits, resumed int
	for i, e := range record.Entries {
		by[e.ID] = e
		assert.True(t, e.ID == int64(i)+1 && e.Cause < e.ID, "entry %d is %s", i+1, e.Line(record.Entries[0].At))
		switch {
		case e.Name == "Resumed":
			resumed++
		case e.Exit != nil:
			exits++
			assert.True(t, e.Container == "main" && e.Exit.Code == 3 && e.Cause == 0, "the exit is %s", e.Line(record.Entries[0].At))
		case e.Kind == journal.Begun && e.Name == "CreateContainer" && e.Attempt > 0:
			cause := e
			for cause.Cause != 0 && cause.Exit == nil {
				cause = by[cause.Cause]
			}
			assert.True(t, cause.Exit != nil && cause.Attempt == e.Attempt-1, "a restart follows from %s", cause.Line(record.Entries[0].At))
		}
	}
	assert.True(t, exits >= 2 && resumed == 1 && record.Living && record.Left == 0,
		"%d exits, %d agents after the first, living %v, %d entries missing", exits, resumed, record.Living, record.Left)
}
