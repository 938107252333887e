package stats

import (
	"fmt"
	"os"
	"path"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestPodsMemory: of the pods that have a sandbox, with the containers that run. One
// without is not known, so that it is the first to go (B-EVI-7).
func TestPodsMemory(t *testing.T) {
	root := fmt.Sprintf("/lifepod-stats-%d", os.Getpid())
	cgroup := func(pod *v1.Pod) string { return path.Join(root, "pod"+string(pod.UID)) }
	var pods []*v1.Pod
	for _, uid := range []types.UID{"running", "bare", "none"} {
		pods = append(pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid}})
	}
	pods[0].Status.ContainerStatuses = []v1.ContainerStatus{
		{Name: "main", ContainerID: "containerd://1234", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		{Name: "over", ContainerID: "containerd://5678", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}},
	}
	s := &Stats{Config: Config{Pods: Pods{List: func() []*v1.Pod { return pods }, Cgroup: cgroup, CgroupRoot: root}}}
	if list, err := s.PodsMemory(); err != nil || len(list) > 0 {
		t.Errorf("without a cgroup: %v, %v", list, err)
	}
	for _, name := range []string{root, cgroup(pods[0]), cgroup(pods[0]) + "/1234", cgroup(pods[1])} {
		dir := dirOf(name, "memory")
		assert.Must(t, os.Mkdir(dir, 0o755))
		t.Cleanup(func() { _ = os.Remove(dir) })
	}
	list, err := s.PodsMemory()
	assert.Require(t, err == nil && len(list) == 1 && list[0].PodRef.UID == "running", "%+v, %v, want the pod that runs", list, err)
	c := list[0].Containers
	assert.True(t, len(c) == 1 && c[0].Name == "main", "containers %+v, want the one that runs", c)
}
