package lifecycle

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

func (f ObjectsChanged) apply(s *step) {
	if s.kept.Stage != Syncing {
		return // nothing is updated in a pod that ends
	}
	s.podIsNew = true
	s.changePod()
	s.pod.Labels, s.pod.Annotations = maps.Clone(f.Labels), maps.Clone(f.Annotations)
	retryNow(s)
	if hasWrittenVolumes(s.pod) || f.Because == (Because{}) && UsesDrivers(s.pod) {
		s.refresh.wanted, s.refresh.because = true, f.Because
		return
	}
	tell(s, Report{Subject: ofPod, Kind: "updated", Outcome: "for-containers-that-start-from-now-on", Because: f.Because, Rule: "A-VOL-5"})
}

// retryNow retries at once what failed because an object was missing: it may exist now.
// Work under way may have looked before.
func retryNow(s *step) {
	s.refresh.before = s.kept.LastID
	s.setup.volumes.retryAt, s.refresh.retryAt = time.Time{}, time.Time{}
	for _, c := range s.containers {
		if c.Failure != nil && c.Failure.Reason == configError {
			c.RetryAt, c.Image.RetryAt = time.Time{}, time.Time{}
		}
	}
}

// retryOf is when a failed step is retried: at once if objects have changed since it
// began.
func (s *step) retryOf(id EffectID, f *Failure) time.Time {
	if id <= s.refresh.before {
		return s.now
	}
	return s.now.Add(s.retryAfter(f))
}

// refresh is the update of volumes that is wanted or under way.
type refresh struct {
	wanted  bool // an update under way may have read the old objects
	because Because
	before  EffectID // the last effect before objects changed
	work
}

// hasWrittenVolumes says whether any volume has files made from objects or from the pod's
// fields.
func hasWrittenVolumes(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
	})
}

// planRefresh updates the volumes once they are mounted, because mounting them may have
// read the old objects.
func planRefresh(s *step) {
	if !s.refresh.wanted || !s.setup.volumes.done {
		return
	}
	s.refresh.done = false
	if id, ok := s.begin(&s.refresh.work); ok {
		s.refresh.wanted = false
		s.do(RefreshVolumes{ID: id})
	}
}

// apply reports a failure and retries: until then containers see the old
// files.
func (f VolumesRefreshed) apply(s *step) {
	if !s.finish(&s.refresh.work, f.Result) || s.kept.Stage != Syncing {
		return
	}
	if f.Failure == nil {
		if s.refresh.because == (Because{}) {
			return
		}
		tell(s, Report{Subject: ofPod, Kind: "volumes-updated", Because: s.refresh.because, Rule: "A-VOL-5"})
		return
	}
	s.refresh.wanted = true
	for _, message := range f.Failure.messages() {
		s.do(RecordEvent{Type: warning, Reason: reasonOf(failedMount, message), Message: message})
	}
	tellRetry(s, Report{Subject: ofPod, Kind: KindSetupFailed, Message: f.Failure.Message, Rule: "A-VOL-5"}, s.refresh.retryAt)
}
