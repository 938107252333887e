package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object returns the pod of a checkpoint as an API server would have it: the accepted pod
// with its later changes, the status as last published, and its deletion. The caller owns
// it.
func (c Checkpoint) Object(accepted *v1.Pod) *v1.Pod {
	pod := accepted.DeepCopy()
	if c.Spec != nil {
		pod.Spec, pod.Generation = *c.Spec.DeepCopy(), c.Generation
	}
	if desired := c.withPodResources(pod.Spec.Resources).Resize.Desired; desired != nil && desired.fits(pod) { // else it is of another pod
		pod = desired.On(pod)
	}
	pod.Status = *c.Reported.DeepCopy()
	if c.Deleted {
		ends := metav1.NewTime(c.Stop.Deadline.Add(c.Drift).Truncate(time.Second))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &ends, new(int64)
	}
	return pod
}

// Object is the pod as an API server would have it (Checkpoint.Object).
func (m *Machine) Object() *v1.Pod { return m.Checkpoint().Object(m.pod) }

// Grace is how long the pod may take to end: as long as the request says, else as long as
// its spec says (B-WRK-9, B-WRK-11).
func (r StopRequested) Grace(pod *v1.Pod) time.Duration {
	switch {
	case r.Force:
		return 0
	case r.GraceSeconds != nil:
		return GraceDuration(*r.GraceSeconds)
	}
	return specGrace(pod)
}

// specGrace is spec.terminationGracePeriodSeconds (B-WRK-11).
func specGrace(pod *v1.Pod) time.Duration {
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return GraceDuration(*g)
	}
	return GraceDuration(v1.DefaultTerminationGracePeriodSeconds)
}
