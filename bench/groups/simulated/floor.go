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

// nobody is the name of a scheduler that does not exist. Its pods have no node but the one of their template, and only this program
// writes their statuses.
const nobody = "none"

// The namespaces of the pods of floors, and the name of their JobSet.
const (
	bareNamespace  = "bare"
	ownedNamespace = "owned"
	ownedJobSet    = "owned"
)

// floor writes what a restart writes: two statuses of as many other pods, which no node runs. It has one client, as the nodes have, and as
// many writes under way at the same time.
type floor struct {
	client    kubernetes.Interface
	namespace string
	pods      []string  // their names
	seen      *observer // watches the JobSet of the pods; nil: no controller owns them
}

// floors are two sets of pods. No controller owns the bare ones. A JobSet owns the others: the controllers of JobSets, Jobs and
// EndpointSlices watch them, as they watch the pods that restart.
type floors struct{ bare, owned *floor }

// newFloors makes the pods.
func (b *bench) newFloors(ctx context.Context) (fs floors, err error) {
	if fs.bare, err = b.newBare(ctx); err != nil {
		return fs, err
	}
	fs.owned, err = b.newOwned(ctx)
	return fs, err
}

func (b *bench) newFloor(ctx context.Context, namespace string) (*floor, error) {
	client, err := newClient(b.plane.RESTConfig())
	if err != nil {
		return nil, err
	}
	object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	for {
		_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return &floor{client: client, namespace: namespace}, nil
		}
		if asleep := testbed.Sleep(ctx, 100*time.Millisecond); asleep != nil {
			return nil, fmt.Errorf("wait for the service account of namespace %s: %w", namespace, err)
		}
	}
}

// newBare makes pods that nobody owns.
func (b *bench) newBare(ctx context.Context) (*floor, error) {
	testbed.Progress("%d pods for the bare writes", b.plan.pods)
	f, err := b.newFloor(ctx, bareNamespace)
	if err != nil {
		return nil, err
	}
	for i := range b.plan.pods {
		f.pods = append(f.pods, fmt.Sprintf("bare-%d", i))
	}
	return f, bare.Together(atOnce, len(f.pods), func(i int) error {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: f.pods[i]}}
		pod.Spec.SchedulerName, pod.Spec.AutomountServiceAccountToken = nobody, new(false)
		pod.Spec.Containers = []v1.Container{{Name: "worker", Image: "lifepod.dev/toolbox:1"}}
		_, err := f.client.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// atOnce is how many bare pods are created at the same time. The JobSet controller is asked about each, and has ten seconds to answer.
const atOnce = 32

// newOwned has a JobSet make pods, and lets them run.
func (b *bench) newOwned(ctx context.Context) (*floor, error) {
	testbed.Progress("a JobSet with %d pods for the same writes", b.plan.pods)
	f, err := b.newFloor(ctx, ownedNamespace)
	if err != nil {
		return nil, err
	}
	end, err := startFloorNode(ctx, f.client)
	if err != nil {
		return nil, err
	}
	b.closers.Add(end)
	if f.seen, err = b.createJobSet(ctx, jobSet{namespace: f.namespace, name: ownedJobSet, scheduler: nobody, node: floorNode}); err != nil {
		return nil, err
	}
	if f.pods, err = f.seen.names(ctx); err != nil {
		return nil, err
	}
	_, err = f.write(ctx, 0)
	return f, err
}

func (f *floor) each(do func(i int, name string) error) error {
	return bare.Together(min(nodes.StatusesInFlight, len(f.pods)), len(f.pods), func(i int) error { return do(i, f.pods[i]) })
}

// write writes two statuses of each pod, as a restart does. All pods get the first one before any gets the second, for which those
// of a JobSet wait until it says that the attempt may begin.
func (f *floor) write(ctx context.Context, attempt int) (time.Duration, error) {
	began := time.Now()
	if err := f.writeAll(ctx, attempt, endedStatus); err != nil {
		return 0, err
	}
	if f.seen != nil {
		if _, err := f.seen.await(ctx, attempt, mayBegin); err != nil {
			return 0, err
		}
	}
	if err := f.writeAll(ctx, attempt, runningStatus); err != nil {
		return 0, err
	}
	if f.seen != nil {
		if _, err := f.seen.await(ctx, attempt, allRun); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func (f *floor) writeAll(ctx context.Context, attempt int, status func(i, attempt int) v1.PodStatus) error {
	return f.each(func(i int, name string) error {
		patch, err := json.Marshal(v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lifecycle.AttemptAnnotation: fmt.Sprint(attempt)}}, Status: status(i, attempt),
		})
		if err != nil {
			return err
		}
		_, err = f.client.CoreV1().Pods(f.namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
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
