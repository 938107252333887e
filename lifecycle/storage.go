package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// storage measures what a pod with limits writes. Kubernetes does so every 10 s
// (B-EVI-3); here a cheap measurement is repeated sooner, and an expensive one no more
// often than that.
type storage struct {
	op     EffectID
	nextAt time.Time
}

const (
	shortestStoragePause = time.Second
	longestStoragePause  = 10 * time.Second
	storagePauseFactor   = 20 // measuring takes at most a twentieth of the time
)

// watched is what is measured of a pod that has a limit.
type watched struct {
	volumes    []string
	containers bool
}

// planStorage measures again when it is time, for pods that have a limit.
func planStorage(s *step) {
	if s.kept.Stage != Syncing || !s.setup.volumes.done || s.storage.op != 0 {
		return
	}
	w := s.ofSpec().storage
	if len(w.volumes) == 0 && !w.containers || !s.due(s.storage.nextAt) {
		return
	}
	s.storage.op = s.nextID()
	s.do(MeasureStorage{ID: s.storage.op, Volumes: slices.Clone(w.volumes), Containers: w.containers})
}

// storageWatched says what to measure: volumes with a limit of their own, and everything
// local if containers have limits. Critical pods are exempt (B-LST-1).
func storageWatched(pod *v1.Pod) (w watched) {
	if Critical(pod) {
		return w
	}
	_, w.containers = podStorageLimit(pod)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if sizeLimit(v) != nil || w.containers && isLocalStorage(v) {
			w.volumes = append(w.volumes, v.Name)
		}
	}
	return w
}

// isLocalStorage says whether a volume's content counts for the pod's limit.
func isLocalStorage(v *v1.Volume) bool {
	return v.ConfigMap != nil || v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault
}

func sizeLimit(v *v1.Volume) *apiresource.Quantity {
	if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
		return nil
	}
	return v.EmptyDir.SizeLimit
}

func podStorageLimit(pod *v1.Pod) (apiresource.Quantity, bool) {
	limit, found := resource.PodLimits(pod, resource.PodResourcesOptions{})[v1.ResourceEphemeralStorage]
	return limit, found
}

// apply evicts the pod if it exceeds a limit: grace 1 s, reason
// Evicted, no condition DisruptionTarget, as it is its own fault (B-LST-1, B-LST-2).
func (f StorageMeasured) apply(s *step) {
	if s.storage.op == 0 || s.storage.op != f.ID {
		return
	}
	s.storage.op = 0
	if f.Failure != nil {
		s.storage.nextAt = s.now.Add(s.retryAfter(f.Failure))
		return
	}
	s.storage.nextAt = s.now.Add(min(max(storagePauseFactor*f.Took, shortestStoragePause), longestStoragePause))
	over := cmp.Or(exceededVolume(s.pod, f), exceededPod(s.pod, f), exceededContainer(s, f))
	if over == (exceeded{}) || s.kept.Stage != Syncing {
		return
	}
	const reason = "Evicted"
	s.do(RecordEvent{Type: warning, Reason: reason, Message: over.message})
	s.do(CountEviction{Signal: over.signal})
	terminate(s, stop{Cause: Evicted, Reason: reason, Message: over.message}, time.Second,
		Report{Kind: KindEvicted, Because: Because{Text: over.message[:len(over.message)-len(". ")]}, Rule: "B-LST-1"})
}

// exceeded is a limit that a pod exceeds; the zero value is none.
type exceeded struct {
	signal  string // the label of the metric
	message string
}

func exceededVolume(pod *v1.Pod, f StorageMeasured) exceeded {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if limit := sizeLimit(v); limit != nil && limit.CmpInt64(usageOf(v.Name, f.Volumes)) < 0 {
			return exceeded{"emptydirfs.limit", fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, limit)}
		}
	}
	return exceeded{}
}

func exceededPod(pod *v1.Pod, f StorageMeasured) exceeded {
	limit, found := podStorageLimit(pod)
	if !found {
		return exceeded{}
	}
	var total int64
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; isLocalStorage(v) {
			total += usageOf(v.Name, f.Volumes)
		}
	}
	for _, c := range f.Containers {
		total += c.Bytes
	}
	if limit.CmpInt64(total) >= 0 {
		return exceeded{}
	}
	return exceeded{"ephemeralpodfs.limit", fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())}
}

// exceededContainer checks the containers that run as long as the pod does; Kubernetes
// leaves out sidecars (B-LST-1).
func exceededContainer(s *step, f StorageMeasured) exceeded {
	for _, c := range s.ordered() {
		limit, found := c.spec.Resources.Limits[v1.ResourceEphemeralStorage]
		if found && c.kind != initContainer && !limit.IsZero() && limit.CmpInt64(usageOf(c.spec.Name, f.Containers)) < 0 {
			return exceeded{"ephemeralcontainerfs.limit", fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.spec.Name, limit.String())}
		}
	}
	return exceeded{}
}

// usageOf is the usage under that name; 0 if it was not measured.
func usageOf(name string, list []StorageUsage) int64 {
	for _, u := range list {
		if u.Name == name {
			return u.Bytes
		}
	}
	return 0
}

const failedMount = "FailedMount"

// VolumesFound says that it is known what the pod's persistentVolumeClaims are bound to, and
// thus which groups their volumes name, while the MountVolumes of that ID goes on.
type VolumesFound struct{ ID EffectID }

// reasonOf is the reason of the event of a failure: a volume that is a device has one of its own
// (A-SYNC-8).
func reasonOf(usual, message string) string {
	if usual == failedMount && strings.HasPrefix(message, "MapVolume.") {
		return "FailedMapVolume"
	}
	return usual
}

// AttachLimit is the reason of a failure to mount volumes that waiting does not end: the node has
// as many volumes of a driver as it can (A-SYNC-8).
const AttachLimit = "VolumeAttachmentLimitExceeded"

// apply ends a pod whose volumes can't be attached to this node: there may be room
// for them on another one.
func (f VolumesMounted) apply(s *step) {
	if f.Failure == nil || f.Failure.Reason != AttachLimit || s.kept.Stage != Syncing {
		applySetup(s, &s.setup.volumes, f.Result, failedMount, "")
		return
	}
	if !s.finish(&s.setup.volumes, f.Result) {
		return
	}
	s.do(RecordEvent{Type: warning, Reason: AttachLimit, Message: f.Failure.Message})
	terminate(s, stop{Cause: Unattachable, Reason: AttachLimit, Message: "Pod was rejected: " + f.Failure.Message}, s.specGrace(),
		Report{Kind: KindEnds, Because: Because{Text: f.Failure.Message}, Rule: "A-SYNC-8"})
}
