package testbed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bench/bare"
)

// sweep removes what is left of pods after a turn, so that the next one to take its
// turn finds nothing of another's: a kubelet leaves dead sandboxes, cgroups and
// folders of logs, and removes them once a minute.
func (s *Side) sweep(ctx context.Context) error {
	errs := []error{s.sweepRuntime(ctx), s.sweepCgroups(ctx)}
	logs, err := filepath.Glob(filepath.Join(s.Member.Root.Dir, "logs", "*"))
	errs = append(errs, err)
	for _, folder := range logs {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}

// Clear deletes the pods of a turn that is broken off while its node still runs, and what their
// volumes need to end still serves.
func (s *Side) Clear() error { return within(Patience, s.removeAll) }

// removeAll deletes all pods, without much grace, and waits for their ends.
func (s *Side) removeAll(ctx context.Context) error {
	pods := s.API.CoreV1().Pods(Namespace)
	if err := pods.DeleteCollection(ctx, *metav1.NewDeleteOptions(1), metav1.ListOptions{}); err != nil {
		return err
	}
	_, err := s.Pods.Await(ctx, "the end of all pods", func(left map[string]*v1.Pod) bool { return len(left) == 0 })
	return err
}

// sweepRuntime removes all pods that the runtime still has.
func (s *Testbed) sweepRuntime(ctx context.Context) error {
	list, err := s.client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	return bare.Together(len(list.Items), len(list.Items), func(i int) error {
		id := list.Items[i].Id
		if _, err := s.client.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
			return err
		}
		// A removal that an agent has asked for may be under way.
		var last error
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, Patience, true, func(ctx context.Context) (bool, error) {
			_, last = s.client.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id})
			return last == nil, nil
		})
		if err != nil {
			return errors.Join(err, last)
		}
		return nil
	})
}

func (s *Testbed) sweepCgroups(ctx context.Context) error {
	pods, err := s.cgroups.Pods()
	if err != nil {
		return err
	}
	var errs []error
	for _, uid := range pods {
		errs = append(errs, s.cgroups.Remove(ctx, uid))
	}
	return errors.Join(append(errs, s.cgroups.RemoveParents())...)
}
