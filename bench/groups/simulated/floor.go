package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/lifecycle"
)

// floor is the bare writes that a restart takes: the statuses of as many other pods, which nobody looks
// after, by one client, as the nodes have one.
type floor struct {
	client kubernetes.Interface
	pods   int
}

// newFloor makes the pods.
func (b *bench) newFloor(ctx context.Context) (*floor, error) {
	progress("%d pods for the bare writes", b.plan.pods)
	client, err := newClient(b.plane.RESTConfig())
	if err != nil {
		return nil, err
	}
	f := &floor{client: client, pods: b.plan.pods}
	return f, bare.Together(f.pods, func(i int) error {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: nameOf(i)}}
		pod.Spec.SchedulerName, pod.Spec.AutomountServiceAccountToken = "none", new(false)
		pod.Spec.Containers = []v1.Container{{Name: "worker", Image: "lifepod.dev/toolbox:1"}}
		_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func nameOf(i int) string { return fmt.Sprintf("bare-%d", i) }

// write writes two statuses of each pod, as a restart does. All pods get the first one before any gets the second.
func (f *floor) write(ctx context.Context, attempt int) (time.Duration, error) {
	began := time.Now()
	for _, status := range []v1.PodStatus{endedStatus(attempt), runningStatus(attempt)} {
		err := bare.Together(f.pods, func(i int) error {
			patch, err := json.Marshal(v1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lifecycle.AttemptAnnotation: fmt.Sprint(attempt)}}, Status: status,
			})
			if err != nil {
				return err
			}
			pods := f.client.CoreV1().Pods(metav1.NamespaceDefault)
			_, err = pods.Patch(ctx, nameOf(i), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func endedStatus(attempt int) v1.PodStatus {
	s := runningStatus(attempt)
	for i := range s.Conditions {
		s.Conditions[i].Status = v1.ConditionFalse
	}
	s.ContainerStatuses[0].Ready, s.ContainerStatuses[0].Started = false, new(false)
	waiting := v1.ContainerStateWaiting{Reason: "WaitingForGroup", Message: fmt.Sprintf("attempt %d", attempt)}
	s.ContainerStatuses[0].State = v1.ContainerState{Waiting: &waiting}
	return s
}

func runningStatus(attempt int) v1.PodStatus {
	now := metav1.Now()
	s := v1.PodStatus{
		Phase: v1.PodRunning, HostIP: "100.64.0.1", PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}}, StartTime: &now,
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "worker", Image: "lifepod.dev/toolbox:1", ImageID: "sha256:1", ContainerID: fmt.Sprintf("lifepod-sim://worker-%d", attempt),
			Ready: true, Started: new(true), RestartCount: int32(attempt), //nolint:gosec // small
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	for _, t := range []v1.PodConditionType{
		v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.AllContainersRestarting,
	} {
		s.Conditions = append(s.Conditions, v1.PodCondition{Type: t, Status: v1.ConditionTrue, LastTransitionTime: now})
	}
	return s
}
