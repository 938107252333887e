package live

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/sim/scenario/file"
	"github.com/lifepod/lifepod/worker"
)

// newest keeps the last status.
type newest struct {
	mu     sync.Mutex
	status v1.PodStatus
}

func (n *newest) Status(status v1.PodStatus, _ bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.status = *status.DeepCopy()
}
func (*newest) Event(time.Time, lifecycle.RecordEvent) {}
func (*newest) Report(time.Time, lifecycle.Report)     {}
func (*newest) Delete()                                {}
func (*newest) Rests()                                 {}

func (n *newest) main() (phase v1.PodPhase, restarts int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.status.ContainerStatuses) > 0 {
		restarts = n.status.ContainerStatuses[0].RestartCount
	}
	return n.status.Phase, restarts
}

// A worker leads a pod through what its scenario says, in time: it crashes, is restarted after
// its back-off, and when it is stopped it ends within its grace period. It leaves no timer.
func TestWorkerLeadsASimulatedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		code := int32(3)
		scenarios := assert.Get(file.ScenariosOf(file.Named{Scenario: &scenario.Scenario{Containers: map[string]scenario.Container{"main": {Runs: []scenario.Run{
			{Run: scenario.Fixed(time.Second), Exit: &code, Output: []scenario.Output{{Text: "hello"}}},
			{Run: scenario.Fixed(time.Second), Exit: &code},
			{Stop: &scenario.Stop{Ignore: true}},
		}}}}})).Must(t)
		said := ""
		pods := &Pods{Scenarios: scenarios, Output: func(pod *v1.Pod, container, stream, text string) {
			said += pod.Name + " " + container + " " + stream + " " + text
		}}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
		pod.Spec = v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(7)), DNSPolicy: v1.DNSDefault, SecurityContext: &v1.PodSecurityContext{},
			Containers: []v1.Container{{Name: "main", Image: "lifepod.dev/toolbox:1", ImagePullPolicy: v1.PullIfNotPresent}},
		}
		engine := &worker.Engine{Simulated: pods.Simulate, Options: lifecycle.DefaultOptions(), Timeouts: worker.DefaultTimeouts(), Log: slog.New(slog.DiscardHandler)}
		sink := &newest{}
		w := engine.NewWorker(pod, sink)
		ended := make(chan error, 1)
		go func() { ended <- w.Run(context.Background()) }()
		for _, want := range []struct {
			after    time.Duration
			restarts int32
		}{{900 * time.Millisecond, 0}, {1100 * time.Millisecond, 1}, {3 * time.Second, 1}, {10 * time.Second, 2}} {
			time.Sleep(want.after)
			synctest.Wait()
			if phase, restarts := sink.main(); phase != v1.PodRunning || restarts != want.restarts {
				t.Errorf("%v later the pod is %s with %d restarts, want %d", want.after, phase, restarts, want.restarts)
			}
		}
		assert.Deep(t, "it wrote", "web main stdout hello", said)
		began := time.Now()
		w.Stop(lifecycle.StopRequested{Because: lifecycle.Because{Text: "the test"}})
		assert.Must(t, <-ended)
		took := time.Since(began)
		assert.True(t, took >= 7*time.Second && took <= 8*time.Second, "what ignores its stop signal has ended after %v, want its grace period of 7s", took)
	})
}

// Pods whose time is moved on by hand have done all that is due when Advance returns, and nothing more: all of them, each time.
func TestManualTime(t *testing.T) {
	code, manual := int32(3), NewManual()
	scenarios := assert.Get(file.ScenariosOf(file.Named{Scenario: &scenario.Scenario{Containers: map[string]scenario.Container{"main": {Runs: []scenario.Run{
		{Run: scenario.Fixed(time.Second), Exit: &code},
	}}}}})).Must(t)
	pods := &Pods{Scenarios: scenarios, Time: manual}
	engine := &worker.Engine{
		Simulated: pods.Simulate, Options: lifecycle.DefaultOptions(), Timeouts: worker.DefaultTimeouts(), Log: slog.New(slog.DiscardHandler),
		Clock: worker.Clock{Virtual: manual},
	}
	sinks, workers, running := [20]newest{}, [20]*worker.Worker{}, sync.WaitGroup{}
	for i := range sinks {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: "default", UID: types.UID(fmt.Sprint(i))}}
		pod.Spec = v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(7)), DNSPolicy: v1.DNSDefault,
			SecurityContext: &v1.PodSecurityContext{},
			Containers:      []v1.Container{{Name: "main", Image: "lifepod.dev/toolbox:1", ImagePullPolicy: v1.PullIfNotPresent}},
		}
		workers[i] = engine.NewWorker(pod, &sinks[i])
		running.Go(func() {
			assert.NoError(t, workers[i].Run(context.Background()))
			workers[i].Close()
		})
	}
	advance := func(d time.Duration) {
		t.Helper()
		assert.Must(t, manual.Advance(d, func() error { return manual.AwaitQuiet(t.Context()) }))
		assert.Must(t, manual.AwaitQuiet(t.Context()))
	}
	for _, step := range []struct {
		by       time.Duration
		restarts int32
	}{{time.Second, 0}, {time.Second, 1}, {10 * time.Second, 1}, {time.Second, 2}, {20 * time.Second, 2}, {time.Second, 3}, {time.Hour, 17}} {
		advance(step.by)
		for i := range sinks {
			if phase, restarts := sinks[i].main(); phase != v1.PodRunning || restarts != step.restarts {
				t.Errorf("%v later pod %d is %s with %d restarts, want %d", step.by, i, phase, restarts, step.restarts)
			}
		}
	}
	for _, w := range workers {
		w.Stop(lifecycle.StopRequested{Because: lifecycle.Because{Text: "the test"}})
	}
	advance(time.Minute)
	running.Wait()
}
