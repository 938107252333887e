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
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/nodes"
)

// The bare pods have a namespace of their own, and a scheduler that does not exist: only this program writes their statuses.
const bareNamespace, nobody = "bare", "none"

// floor writes what a restart writes: two statuses of as many other pods, which nobody owns and no node runs. It has one client, as the
// nodes have, and as many writes under way at the same time.
type floor struct {
	*bench
	client kubernetes.Interface
	pods   int
}

func (b *bench) newFloor(ctx context.Context) (*floor, error) {
	testbed.Progress("%d pods for the bare writes", b.plan.pods)
	client, err := newClient(b.plane.RESTConfig())
	if err != nil {
		return nil, err
	}
	object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bareNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	for {
		_, err := client.CoreV1().ServiceAccounts(bareNamespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			break
		}
		if asleep := testbed.Sleep(ctx, 100*time.Millisecond); asleep != nil {
			return nil, fmt.Errorf("wait for the service account of namespace %s: %w", bareNamespace, err)
		}
	}
	return &floor{b, client, b.plan.pods}, bare.Together(atOnce, b.plan.pods, func(i int) error {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: barePod(i)}}
		pod.Spec.SchedulerName, pod.Spec.AutomountServiceAccountToken = nobody, new(false)
		pod.Spec.Containers = []v1.Container{{Name: "worker", Image: "lifepod.dev/toolbox:1"}}
		_, err := client.CoreV1().Pods(bareNamespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func barePod(i int) string { return fmt.Sprintf("bare-%d", i) }

// atOnce is how many bare pods are created at the same time. The JobSet controller is asked about each, and has ten seconds to answer.
const atOnce = 32

// measure writes when what was done before has come to rest, and says how long it took and how many events came of it.
func (f *floor) measure(ctx context.Context, attempt int) (took time.Duration, events float64, err error) {
	before, err := f.watchEvents(ctx)
	if err != nil {
		return 0, 0, err
	}
	if took, err = f.write(ctx, attempt); err != nil {
		return 0, 0, err
	}
	events, err = f.watchEvents(ctx)
	return took, events - before, err
}

// write writes two statuses of each pod, as a restart does. All pods get the first one before any gets the second.
func (f *floor) write(ctx context.Context, attempt int) (time.Duration, error) {
	began := time.Now()
	for _, status := range []func(i, attempt int) v1.PodStatus{endedStatus, runningStatus} {
		err := bare.Together(min(nodes.StatusesInFlight, f.pods), f.pods, func(i int) error {
			patch, err := json.Marshal(v1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lifecycle.AttemptAnnotation: fmt.Sprint(attempt)}}, Status: status(i, attempt),
			})
			if err == nil {
				_, err = f.client.CoreV1().Pods(bareNamespace).Patch(ctx, barePod(i), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func endedStatus(i, attempt int) v1.PodStatus {
	s := runningStatus(i, attempt)
	for i := range s.Conditions {
		s.Conditions[i].Status = v1.ConditionFalse
	}
	s.ContainerStatuses[0].Ready, s.ContainerStatuses[0].Started = false, new(false)
	waiting := v1.ContainerStateWaiting{Reason: "WaitingForGroup", Message: fmt.Sprintf("attempt %d", attempt)}
	s.ContainerStatuses[0].State = v1.ContainerState{Waiting: &waiting}
	return s
}

func runningStatus(i, attempt int) v1.PodStatus {
	now, address := metav1.Now(), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)
	s := v1.PodStatus{
		Phase: v1.PodRunning, HostIP: "100.64.0.1", PodIP: address, PodIPs: []v1.PodIP{{IP: address}}, StartTime: &now,
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
