package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// Remains is what the pods of a node have used, and what they leave behind: the part of a
// Shell that frees the disk needs.
type Remains struct{ Shell *Shell }

// Using are the pods that may still create containers, and need their images. They must
// not be changed.
func (r Remains) Using() []*v1.Pod {
	var list []*v1.Pod
	for _, view := range r.Shell.Views() {
		if view.Position != roster.Over && !lifecycle.Terminal(view.Pod.Status.Phase) {
			list = append(list, view.Pod)
		}
	}
	return list
}

// NeedSpace asks all pods to give up the dead containers that they can spare (B-GC-1).
func (r Remains) NeedSpace() { r.Shell.mail.Post(roster.SpaceNeeded{}) }

// Owned says whether a pod of the runtime belongs to this node, not to another lifepod.
func (r Remains) Owned(uid types.UID) bool {
	foreign := r.Shell.Local.Foreign
	return foreign == nil || !foreign(uid)
}

// ClearDisk removes folders and logs of pods that are not known, and links to logs that
// are gone (B-GC-5). Before all sources were heard it does nothing.
func (r Remains) ClearDisk(ctx context.Context) error {
	if !r.Shell.AllHeard() {
		return nil
	}
	return errors.Join(r.clearFolders(ctx), r.clearLogs(ctx), r.clearLinks(ctx))
}

// clearFolders removes folders of pods, but what is mounted there only unmounts.
func (r Remains) clearFolders(ctx context.Context) error {
	var failures []error
	entries, _ := os.ReadDir(r.Shell.Engine.Folders.Pods) // no folder, no pods
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		uid := types.UID(entry.Name())
		if err := r.clear(ctx, uid, func() error { return r.Shell.Engine.Discard(ctx, uid) }); err != nil {
			failures = append(failures, fmt.Errorf("remove the folder of a pod that is gone, %s: %w", uid, err))
		}
	}
	return errors.Join(failures...)
}

func (r Remains) clearLogs(ctx context.Context) error {
	var failures []error
	entries, _ := os.ReadDir(r.Shell.Engine.Config.LogRoot) // no folder, no logs
	for _, entry := range entries {
		if strings.Count(entry.Name(), "_") != 2 {
			continue
		}
		uid := types.UID(entry.Name()[strings.LastIndexByte(entry.Name(), '_')+1:])
		if err := r.clear(ctx, uid, func() error { return os.RemoveAll(filepath.Join(r.Shell.Engine.Config.LogRoot, entry.Name())) }); err != nil {
			failures = append(failures, fmt.Errorf("remove the logs of a pod that is gone, %s: %w", uid, err))
		}
	}
	return errors.Join(failures...)
}

// clear removes something of a pod, unless the pod is known or something of it still runs.
// It queues for the pod's files: a pod of that UID that has begun meanwhile comes first and is
// known by then, one that begins later waits.
func (r Remains) clear(ctx context.Context, uid types.UID, remove func() error) (err error) {
	if r.Shell.known(uid) {
		return nil
	}
	r.Shell.files.queue(uid)(func() {
		var runs bool
		if r.Shell.known(uid) {
			return
		}
		if runs, err = r.runs(ctx, uid); runs || err != nil {
			return
		}
		if err = remove(); err == nil {
			r.Shell.Log.Info("removed what was left of a pod that is gone", "uid", uid, "rule", "B-GC-5")
		}
	})
	return err
}

// runs says whether the runtime has anything of a pod that runs.
func (r Remains) runs(ctx context.Context, uid types.UID) (bool, error) {
	pod := &v1.Pod{}
	pod.UID = uid
	has, err := r.Shell.Engine.Observe(ctx, pod)
	if err != nil {
		return false, err
	}
	ready := func(b lifecycle.ObservedSandbox) bool { return b.Ready }
	runs := func(c lifecycle.ObservedContainer) bool {
		return c.State == lifecycle.StateRunning || c.State == lifecycle.StateUnknown
	}
	return slices.ContainsFunc(has.Sandboxes, ready) || slices.ContainsFunc(has.Containers, runs), nil
}

// clearLinks removes links to logs that are gone. While a log is rotated its file is
// missing for a moment: the link of a container that has not exited stays.
func (r Remains) clearLinks(ctx context.Context) error {
	return r.Shell.Local.LogLinks.RemoveDangling(func(containerID string) (bool, error) {
		answer, err := r.Shell.Engine.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: containerID})
		if cri.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("get container status: %s", cri.Text(err))
		}
		return answer.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED, nil
	})
}
