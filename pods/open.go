package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// before is what a previous agent has left, in the runtime and on disk.
func (s *Shell) before(ctx context.Context) (opened roster.Opened, err error) {
	if opened.Found, err = s.foundPods(ctx); err != nil {
		return opened, err
	}
	kept, useless, err := s.Memory.All()
	if err != nil {
		return opened, err
	}
	opened.Remembered = kept
	for uid, err := range useless {
		if !errors.Is(err, os.ErrNotExist) { // else it had not begun
			s.Log.Warn("can't use what is remembered of a pod", "uid", uid, "err", err)
		}
		s.forget(uid)
	}
	opened.Rebooted, err = s.Memory.Rebooted()
	return opened, err
}

// foundPods are the pods that the runtime has, but for those of other lifepods.
func (s *Shell) foundPods(ctx context.Context) ([]roster.Found, error) {
	if s.Engine.Simulated != nil {
		return nil, nil
	}
	return foundPods(ctx, s.Engine, s.Node, s.Local.Foreign)
}

// foundPods are the pods that an engine's runtime has, but for foreign ones; nil: none is.
func foundPods(ctx context.Context, engine *worker.Engine, node func() *v1.Node, foreign func(types.UID) bool) ([]roster.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, engine.Timeouts.Call)
	defer cancel()
	sandboxes, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.ListPodSandboxResponse, error) {
		return engine.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's sandboxes: %s", cri.Text(err))
	}
	containers, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.ListContainersResponse, error) {
		return engine.Runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the runtime's containers: %s", cri.Text(err))
	}
	found := map[types.UID]*roster.Found{}
	for _, sandbox := range sandboxes.Items {
		uid := types.UID(sandbox.GetLabels()[cri.PodUIDLabel])
		if uid == "" || foreign != nil && foreign(uid) {
			continue
		}
		if found[uid] == nil {
			found[uid] = &roster.Found{UID: uid, Namespace: sandbox.GetMetadata().GetNamespace(), Name: sandbox.GetMetadata().GetName()}
		}
		maker, lifepods := sandbox.GetAnnotations()[criconfig.NodeAnnotation]
		found[uid].Ours = found[uid].Ours || lifepods && node != nil && maker == node().Name
		seen := &found[uid].Seen
		seen.Sandboxes = append(seen.Sandboxes, lifecycle.ObservedSandbox{ID: sandbox.GetId(), Attempt: sandbox.GetMetadata().GetAttempt()})
	}
	for _, c := range containers.Containers {
		if f := found[types.UID(c.GetLabels()[cri.PodUIDLabel])]; f != nil {
			f.Seen.Containers = append(f.Seen.Containers, lifecycle.ObservedContainer{
				ID: c.GetId(), Name: c.GetMetadata().GetName(), Attempt: c.GetMetadata().GetAttempt(),
			})
		}
	}
	list := make([]roster.Found, 0, len(found))
	for _, f := range found {
		list = append(list, *f)
	}
	return list, nil
}

// foundWithoutWorker tells the roster what the runtime has of pods without a worker: something may have come since the start.
func (s *Shell) foundWithoutWorker(ctx context.Context, uids []types.UID) {
	found, err := s.foundPods(ctx)
	if err != nil {
		return // the next look finds them as well
	}
	for _, f := range found {
		if slices.Contains(uids, f.UID) {
			s.mail.Post(roster.FoundLater{Found: f})
		}
	}
}

// known says whether the roster has the pod, or it belongs to another lifepod.
func (s *Shell) known(uid types.UID) bool {
	if s.Local.Foreign != nil && s.Local.Foreign(uid) {
		return true
	}
	return s.Knows(uid)
}

// Knows says whether the roster has a pod of that UID.
func (s *Shell) Knows(uid types.UID) (known bool) {
	s.ask(func(m *roster.Machine) { _, known = m.PodByUID(uid) })
	return known
}
