package simulated

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/journal"
)

// TestAgentsFiles: an agent has one file open for each pod at rest, its control socket. The journal says whether a lifepod leads the
// pods. It says so after a kill -9 of the agent, too, and the next agent goes on with the journal.
func TestAgentsFiles(t *testing.T) {
	const pods = 60
	binary := assert.Get(machine.Binary("../..", t.TempDir())).Must(t)
	socket, _ := serveRuntime(t)
	client := admin(t)
	node := startMember(t, client, member.Config{
		Plane: plane, Program: binary, Kubelet: map[string]any{"containerRuntimeEndpoint": socket, "registryPullQPS": 0},
	})
	before := openFiles(t, node)
	ns := namespace(t, client)
	for i := range pods {
		create(t, client, ns, podOf(fmt.Sprintf("p%d", i), node.Name))
	}
	awaitAll(t, client, ns, "Ready", pods, machine.IsReady)
	const others = pods / 3 // what probes and looks at the runtime have open for a moment
	added := openFiles(t, node) - before
	assert.True(t, added <= pods+others, "%d pods have added %d open files", pods, added)
	kept := journal.Folder{Dir: rootfolder.Journal.In(node.RootDir())}
	living := func() (n, entries int, err error) {
		list, err := kept.Pods()
		if err != nil {
			return 0, 0, err
		}
		for _, pod := range list {
			r, err := kept.Read(pod.UID)
			if err != nil {
				return 0, 0, err
			}
			entries += len(r.Entries)
			if r.Living {
				n++
			}
		}
		return n, entries, nil
	}
	n, entries, err := living()
	assert.True(t, n == pods && err == nil, "%d pods have a lifepod, %v", n, err)
	assert.Must(t, node.Kill())
	n, _, err = living()
	assert.True(t, n == 0 && err == nil, "after a kill -9 %d pods have a lifepod, %v", n, err)
	assert.Must(t, node.Run())
	assert.Must(t, node.AwaitHealthy(t.Context()))
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		again, more, err := living()
		return again == pods && more > entries, err
	})
	assert.True(t, err == nil, "the next agent does not go on with all pods: %v", err)
	assert.Must(t, client.CoreV1().Pods(ns).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	awaitAll(t, client, ns, "left", 0, func(*v1.Pod) bool { return true })
	n, _, err = living()
	assert.True(t, n == 0 && err == nil, "%d pods that are gone have a lifepod, %v", n, err)
}

func openFiles(t *testing.T, node *member.Member) int {
	t.Helper()
	files := assert.Get(os.ReadDir(fmt.Sprintf("/proc/%d/fd", node.Process().PID()))).Must(t)
	return len(files)
}
