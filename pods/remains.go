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
	"github.com/lifepod/lifepod/pods/loglinks"
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

// NeedSpace has all pods give up what they can spare of their dead containers (B-GC-1).
func (r Remains) NeedSpace() { r.Shell.mail.Post(roster.SpaceNeeded{}) }

// Owned says that a pod of the runtime is this node's, not another lifepod'r.Shell.
func (r Remains) Owned(uid types.UID) bool {
	foreign := r.Shell.Local.Foreign
	return foreign == nil || !foreign(uid)
}

// ClearDisk removes folders and logs of pods that are not known, and links to logs that
// are gone (B-GC-5). Before all sources were heard it does nothing.
func (r Remains) ClearDisk(ctx context.Context) error {
	if !r.Shell.heard.Load() {
		return nil
	}
	return errors.Join(r.clearFolders(ctx), r.clearLogs(), r.clearLinks(ctx))
}

// clearFolders removes folders of pods, but what is mounted there only unmounts.
func (r Remains) clearFolders(ctx context.Context) error {
	var failures []error
	entries, _ := os.ReadDir(r.Shell.Engine.Folders.Pods) // no folder, no pods
	for _, entry := range entries {
		uid := types.UID(entry.Name())
		if !entry.IsDir() || r.Shell.known(uid) {
			continue
		}
		r.Shell.files.turn(uid)(func() { // after a pod of that UID has begun, it is known
			if err := r.clearFolder(ctx, uid); err != nil {
				failures = append(failures, fmt.Errorf("remove the folder of a pod that is gone, %s: %w", uid, err))
			}
		})
	}
	return errors.Join(failures...)
}

// clearFolder removes the folder of a pod, unless it has become known or something of it
// still runs.
func (r Remains) clearFolder(ctx context.Context, uid types.UID) error {
	if r.Shell.known(uid) {
		return nil
	}
	pod := &v1.Pod{}
	pod.UID = uid
	has, err := r.Shell.Engine.Observe(ctx, pod)
	if err != nil {
		return err
	}
	ready := func(b lifecycle.ObservedSandbox) bool { return b.Ready }
	runs := func(c lifecycle.ObservedContainer) bool {
		return c.State == lifecycle.StateRunning || c.State == lifecycle.StateUnknown
	}
	if slices.ContainsFunc(has.Sandboxes, ready) || slices.ContainsFunc(has.Containers, runs) {
		return nil
	}
	if err := r.Shell.Engine.Discard(ctx, uid); err != nil {
		return err
	}
	r.Shell.Log.Info("removed the folder of a pod that is gone", "uid", uid, "rule", "B-GC-5")
	return nil
}

func (r Remains) clearLogs() error {
	var failures []error
	entries, _ := os.ReadDir(r.Shell.Engine.Config.LogRoot) // no folder, no logs
	for _, entry := range entries {
		uid := types.UID(entry.Name()[strings.LastIndexByte(entry.Name(), '_')+1:])
		if strings.Count(entry.Name(), "_") != 2 || r.Shell.known(uid) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(r.Shell.Engine.Config.LogRoot, entry.Name())); err != nil {
			failures = append(failures, fmt.Errorf("remove the logs of a pod that is gone: %w", err))
			continue
		}
		r.Shell.Log.Info("removed the logs of a pod that is gone", "folder", entry.Name(), "rule", "B-GC-5")
	}
	return errors.Join(failures...)
}

// clearLinks removes links to logs that are gone. While a log is rotated its file is
// missing for a moment: the link of a container that has not exited stays.
func (r Remains) clearLinks(ctx context.Context) error {
	return loglinks.RemoveDangling(r.Shell.Local.LogLinks, func(containerID string) (bool, error) {
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
