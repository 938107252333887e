package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
)

// Ending ends pods whose lifepods have ended without them, each as its own lifepod would have
// ended it: with hooks, its grace, and sidecars last (B-WRK-9).
type Ending struct {
	Engine  *worker.Engine
	Kept    []roster.Remembered     // what lifepods have left of their pods; no checkpoint: unreadable
	Foreign func(types.UID) bool    // nil: all pods of the runtime end
	Request lifecycle.StopRequested // without a grace each pod has its own
}

// Run ends the pods side by side and returns how many there were. Checkpoints stay as they
// are: whoever begins the pods again goes on from there, as after a reboot.
func (e Ending) Run(ctx context.Context) (int, error) {
	found, err := foundPods(ctx, e.Engine, nil, e.Foreign)
	if err != nil {
		return 0, err
	}
	kept := map[types.UID]roster.Remembered{}
	for _, r := range e.Kept {
		kept[r.Pod.UID] = r
	}
	events, watching := e.Engine.Events(nil), sync.WaitGroup{}
	watch, stop := context.WithCancel(ctx)
	watching.Go(func() { events.Run(watch) })
	var ending sync.WaitGroup
	errs := make([]error, len(found))
	for i, f := range found {
		ending.Go(func() {
			if err := e.end(ctx, events, f, kept[f.UID]); err != nil {
				errs[i] = fmt.Errorf("end pod %s/%s: %w", f.Namespace, f.Name, err)
			}
		})
	}
	ending.Wait()
	stop()
	watching.Wait()
	return len(found), errors.Join(errs...)
}

// end lives the rest of a pod's life. If something of a pod that has ended can't be given back,
// its sandboxes are removed all the same.
func (e Ending) end(ctx context.Context, events *worker.Events, f roster.Found, kept roster.Remembered) error {
	living, giveUp := context.WithCancel(ctx)
	defer giveUp()
	life, err := e.lifeOf(ctx, f, kept, &last{giveUp: giveUp})
	if err != nil {
		return err
	}
	if lifecycle.Terminal(kept.Checkpoint.Reported.Phase) {
		time.AfterFunc(releasePatience, giveUp)
	}
	life.Stop(e.Request)
	err = life.Run(living, events)
	life.Worker.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil || living.Err() == nil {
		return err
	}
	for _, s := range f.Seen.Sandboxes {
		_, err := e.Engine.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.ID})
		if err == nil {
			_, err = e.Engine.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.ID})
		}
		if err != nil {
			return errors.New(cri.Text(err))
		}
	}
	return nil
}

// lifeOf resumes a pod from what is kept of it. Without a checkpoint that can be used the pod is
// adopted, and without anything but its names it has the API's usual grace.
func (e Ending) lifeOf(ctx context.Context, f roster.Found, kept roster.Remembered, to worker.Sink) (*Life, error) {
	if kept.Pod != nil {
		if life, err := ResumeLife(e.Engine, kept.Pod, to, kept.Checkpoint); err == nil {
			return life, nil
		}
	}
	pod := kept.Pod
	if pod == nil {
		pod = f.StandIn()
		pod.Spec.TerminationGracePeriodSeconds = nil
	}
	has, err := e.Engine.Observe(ctx, pod)
	if err != nil {
		return nil, err
	}
	return adoptLife(e.Engine, pod, to, has), nil
}

// last takes what is told of a pod that ends: nobody is told it, but for the pod's last status.
type last struct{ giveUp func() }

// releasePatience is how long the pod may take, when all its containers have stopped, to give
// back what it holds: what it can't give back is swept up.
const releasePatience = 10 * time.Second

func (l *last) Status(status v1.PodStatus, _ bool) {
	if lifecycle.Terminal(status.Phase) {
		time.AfterFunc(releasePatience, l.giveUp)
	}
}

func (*last) Event(time.Time, lifecycle.RecordEvent) {}

// Report takes a line of the pod's story.
func (*last) Report(time.Time, lifecycle.Report) {}

// Delete takes that nothing is left of what the pod's object stands for.
func (*last) Delete() {}

// Rests takes that the pod has ended and holds nothing of the node any more.
func (*last) Rests() {}
