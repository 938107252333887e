package podlog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// TestInstances: a container has ended twice. It runs, waits, or is about to start: each time another instance's log is meant.
func TestInstances(t *testing.T) {
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1, ContainerID: "containerd://second"}}
	waiting := v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	for _, tc := range []struct {
		name      string
		id        string
		restarts  int32
		now, last v1.ContainerState
		previous  bool
		want      []int
	}{
		{"runs", "containerd://third", 2, running, ended, false, []int{2}},
		{"runs, the one before", "containerd://third", 2, running, ended, true, []int{1}},
		{"waits", "containerd://second", 1, waiting, ended, false, []int{1, 0}},
		{"waits, the last one", "containerd://second", 1, waiting, ended, true, []int{1, 0}},
		{"is removed, the last one", "", 1, waiting, ended, true, []int{1, 0}},
		{"is created, the one before", "containerd://third", 2, waiting, ended, true, []int{1}},
	} {
		pod := &v1.Pod{Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", ContainerID: tc.id, RestartCount: tc.restarts, State: tc.now, LastTerminationState: tc.last,
		}}}}
		got, err := Instances(pod, "main", tc.previous)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
		}
	}
}
