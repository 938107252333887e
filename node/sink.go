package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// sink takes what a pod's worker tells. Its methods are called from the worker's
// goroutine and don't block.
type sink struct {
	pods *Pods
	pod  *pod
}

// Status takes a new status: to the API server, and to whoever asks here.
func (s *sink) Status(status v1.PodStatus, step bool) {
	p, e := s.pods, s.pod
	p.mu.Lock()
	before := e.status
	freed := e.published(status)
	life, newest, ref, known := e.life, e.newest, e.ref(), e.wanted || e.origin != originRuntime
	if freed {
		p.roomFreed()
	}
	p.mu.Unlock()
	p.Counts.Status(newest, &before, &status)
	life.object.Status(*status.DeepCopy())
	life.links.follow(newest, p.Engine.Config.PodLogDirectory(newest), &status)
	if p.Cluster.Statuses != nil && known {
		var seen func(error)
		if step {
			seen = func(error) {}
		}
		p.Cluster.Statuses.Set(ref, *status.DeepCopy(), seen)
	}
	p.changed(newest.UID)
}

// Event takes a Kubernetes Event.
func (s *sink) Event(at time.Time, event lifecycle.RecordEvent) {
	s.pods.mu.Lock()
	life, newest := s.pod.life, s.pod.newest
	s.pods.mu.Unlock()
	life.object.Event(at, event)
	if s.pods.Cluster.Events != nil {
		s.pods.Cluster.Events.Pod(newest, at, event)
	}
}

// Delete takes that nothing is left of the pod that its object stands for.
func (s *sink) Delete() {
	s.pods.mu.Lock()
	defer s.pods.mu.Unlock()
	s.pods.deleteEnded(s.pod)
}

// Report takes a line of the pod's story.
func (s *sink) Report(_ time.Time, r lifecycle.Report) {
	s.pods.Log.Info(r.String(), "pod", s.pod.name, "rule", r.Rule)
}
