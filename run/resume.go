package run

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/worker"
)

// takenOver is the pod of a lifepod that was killed, which this one goes on with.
type takenOver struct {
	record *record
	from   lifecycle.Checkpoint
}

// takeOver looks for a pod that a killed lifepod has left of the same manifests,
// on the same runtime. The set's pod then becomes that pod, with its UID. Without
// one it is nil. If its checkpoint is of no use, that is reported, and what is left of it
// is removed (B-RST-18).
func takeOver(ctx context.Context, runtime *host.Runtime, set *manifest.Set, warn warner) (*takenOver, error) {
	digest, err := digestOf(set)
	if err != nil {
		return nil, err
	}
	list, err := records(runtime.Root)
	if err != nil {
		return nil, err
	}
	for _, known := range list {
		if known.Digest != digest || known.Endpoint != runtime.Endpoint {
			continue
		}
		left, err := abandoned(known.path)
		if err != nil || left == nil {
			continue // its lifepod lives
		}
		pod := left.asAccepted(set.Pod)
		from, err := left.checkpoint(pod)
		if err == nil {
			set.Pod = pod
			return &takenOver{record: left, from: from}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) { // else it was killed before it had begun
			warn("can't go on with pod %s/%s, whose lifepod run was killed; it begins anew: %v", pod.Namespace, pod.Name, err)
		}
		if err := sweepOne(ctx, runtime, left, warn); err != nil {
			left.leave()
			return nil, err
		}
	}
	return nil, nil
}

// asAccepted is the pod as the killed lifepod accepted it.
func (r *record) asAccepted(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Name, pod.UID, pod.CreationTimestamp = r.Name, r.UID, r.Created // the name may have been generated
	return pod
}

// checkpoint is the pod's last one, if a machine can be made of it.
func (r *record) checkpoint(pod *v1.Pod) (lifecycle.Checkpoint, error) {
	c, err := worker.LoadCheckpoint(checkpointPath(filepath.Dir(r.path), r.UID))
	if err == nil {
		_, err = lifecycle.Restore(pod, lifecycle.DefaultOptions(), c)
	}
	return c, err
}

func checkpointPath(records string, uid types.UID) string {
	return filepath.Join(records, string(uid)+".checkpoint")
}

// claim makes the record of the run: a new one, once it is sure that the pod may
// run, or that of the pod that is taken over, under this process's name.
func (r *runOf) claim() (*record, error) {
	set := r.set
	release, err := lockNames(r.runtime.Root)
	if err != nil {
		return nil, err
	}
	defer release()
	if r.left != nil {
		defer r.left.record.leave() // the new one has taken its place
		return newRecord(r.runtime, set.Pod, r.left.record.Digest)
	}
	if err := checkName(r.runtime.Root, set.Pod); err != nil {
		return nil, err
	}
	digest, err := digestOf(set)
	if err != nil {
		return nil, err
	}
	own, err := newRecord(r.runtime, set.Pod, digest)
	if err != nil {
		return nil, err
	}
	if err := checkFree(r.runtime.Root, set.Pod); err != nil {
		own.remove()
		return nil, err
	}
	return own, nil
}

// giveUp leaves a pod that could not be begun to nobody, and one that was taken
// over to the next lifepod.
func (r *runOf) giveUp() {
	if r.left == nil {
		r.own.remove()
		return
	}
	r.own.leave()
}

// endStrays ends what the runtime itself has lost of a pod whose sandbox was
// being made when its lifepod was killed.
func (r *runOf) endStrays() error {
	if r.left == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	return r.runtime.KillStrays(ctx)
}
