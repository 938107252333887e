package run

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// Left are the pods of a root whose lifepod run was killed, by name. No lock is kept
// for it: another lifepod may be about to go on with them, and must not find their
// records taken.
func Left(root string) []unattended.Pod {
	list, err := records(root)
	if err != nil {
		return nil // then nothing can be said of them
	}
	list = slices.DeleteFunc(list, func(r *record) bool { return r.Name == "" || r.held() })
	if len(list) == 0 {
		return nil
	}
	var left []unattended.Pod
	living := unattended.LivingOf(root)
	for _, r := range list {
		left = append(left, r.unattended(root, living))
	}
	unattended.Sort(left)
	return left
}

// Kept is what killed lifepod runs have left of the pods of a root on a runtime, to end them by.
func Kept(root, endpoint string) (kept []roster.Remembered) {
	list, _ := records(root) // what can't be listed is known by the runtime alone
	for _, r := range list {
		pod, err := loadPod(recordsDir(root), r.UID)
		if err != nil || r.Endpoint != endpoint {
			continue
		}
		c, _ := worker.LoadCheckpoint(checkpointPath(recordsDir(root), r.UID)) // without one the pod is adopted
		kept = append(kept, roster.Remembered{Pod: pod, Checkpoint: c})
	}
	return kept
}

// unattended is the pod of a record whose lifepod has ended.
func (r *record) unattended(root string, living unattended.Living) unattended.Pod {
	records := recordsDir(root)
	c, _ := worker.LoadCheckpoint(checkpointPath(records, r.UID)) // without one nothing is known of its status
	pod, err := loadPod(records, r.UID)
	if err != nil {
		pod = r.standIn(c)
	}
	logs := criconfig.Node{LogRoot: host.LogRoot(root)}
	return unattended.New(pod, c, unattended.Pod{
		Command: unattended.Run, Root: root, LogDir: logs.PodLogDirectory(pod), Endpoint: r.Endpoint,
		Runs: living.Has(r.Endpoint, c.Sandbox.ID),
	})
}

func (r *record) standIn(c lifecycle.Checkpoint) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.CreationTimestamp = r.Namespace, r.Name, r.UID, r.Created
	for _, s := range c.Reported.InitContainerStatuses {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: s.Name})
	}
	for _, s := range c.Reported.ContainerStatuses {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: s.Name})
	}
	return pod
}

// held says whether a lifepod holds the record: the one that wrote it, or one that is at
// work on it.
func (r *record) held() bool {
	if unix.Kill(r.PID, 0) != nil {
		return false
	}
	file, err := os.Open(r.path) // another process may have the PID by now
	if err != nil {
		return true // it is gone just now
	}
	defer func() { _ = file.Close() }() // which unlocks
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Owner says of which pods of a root a lifepod run has a record: they are its own,
// or the next one's to go on with.
func Owner(root string) func(uid types.UID) bool {
	return func(uid types.UID) bool {
		list, err := records(root)
		return err != nil || // nothing is ended of which this is not known
			slices.ContainsFunc(list, func(r *record) bool { return r.UID == uid })
	}
}
