package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// claims are the pod's resource claims, whose devices drivers prepare before its sandbox
// is made, and take back after nothing of the pod runs any more.
type claims struct {
	prepared   work
	unprepared work
}

// ClaimsPrepared answers PrepareClaims.
type ClaimsPrepared struct{ Result }

// ClaimsUnprepared answers UnprepareClaims.
type ClaimsUnprepared struct{ Result }

// DriverRegistered says that a driver of resource claims or of volumes can be asked again
// (A-DRA-6, A-CSI-4).
type DriverRegistered struct{}

// HasClaims says whether the pod has resource claims: its own, or the one that the
// scheduler made for its extended resources (A-DRA-1).
func HasClaims(pod *v1.Pod) bool {
	return len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil
}

// UsesDrivers says whether a pod may need a driver: it has resource claims, or volumes that may be
// a CSI driver's.
func UsesDrivers(pod *v1.Pod) bool {
	return HasClaims(pod) || slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.CSI != nil
	})
}

// planClaims has the claims prepared for a sandbox that is to be made, beside the other
// things that a pod needs for it (A-DRA-2). A sandbox that is there was made after them.
func planClaims(s *step) {
	if s.sandbox.State != sandboxNone || !HasClaims(s.pod) {
		return
	}
	if id, ok := s.begin(&s.claims.prepared); ok {
		s.do(PrepareClaims{ID: id})
	}
}

// claimsReady says whether the sandbox need not wait for claims.
func (m *Machine) claimsReady() bool { return m.claims.prepared.done || !HasClaims(m.pod) }

// apply reports a failure; all claims are tried again (A-DRA-6).
func (f ClaimsPrepared) apply(s *step) {
	applySetup(s, &s.claims.prepared, f.Result, "FailedPrepareDynamicResources", "Failed to prepare dynamic resources: ")
}

// claimsReleased has the claims unprepared once nothing of the pod runs; it reports
// whether they are. The pod's end is not shown before: with it, others may be given the
// devices (A-DRA-8). A pod whose claims were not prepared is asked about as well: of a
// call that was given up nobody knows what it has done.
func claimsReleased(s *step) bool {
	if !HasClaims(s.pod) || s.claims.unprepared.done {
		return true
	}
	if id, ok := s.begin(&s.claims.unprepared); ok {
		s.do(UnprepareClaims{ID: id})
	}
	return false
}

// apply holds the pod's end up until its drivers have taken the devices
// back (A-DRA-9).
func (f ClaimsUnprepared) apply(s *step) {
	if !s.finish(&s.claims.unprepared, f.Result) || f.Failure == nil {
		return
	}
	tellRetry(s, Report{Subject: ofPod, Kind: KindSetupFailed, Message: f.Failure.Message, Rule: "A-DRA-9"}, s.claims.unprepared.retryAt)
}

// updateClaims takes over which claims were made for the pod: one of a template may be
// made after the node has got the pod (A-DRA-3).
func updateClaims(s *step, newer *v1.PodStatus) {
	if len(newer.ResourceClaimStatuses) == 0 || equality.Semantic.DeepEqual(s.pod.Status.ResourceClaimStatuses, newer.ResourceClaimStatuses) {
		return
	}
	s.podIsNew = true
	s.changePod()
	s.pod.Status.ResourceClaimStatuses = slices.Clone(newer.ResourceClaimStatuses)
	retryClaims(s)
}

// apply tries at once again what a driver has to do.
func (DriverRegistered) apply(s *step) {
	retryClaims(s)
	s.setup.volumes.retryAt, s.refresh.retryAt, s.release.volumes.retryAt = time.Time{}, time.Time{}, time.Time{}
}

// retryClaims tries at once again what has failed.
func retryClaims(s *step) {
	s.claims.prepared.retryAt, s.claims.unprepared.retryAt = time.Time{}, time.Time{}
}

// deviceStatuses are the devices of regular containers, by the containers' names. They are
// replaced, never changed.
type deviceStatuses map[string][]v1.ResourceStatus

// DevicesChanged says which devices the regular containers have, by name, and how healthy
// these are: all of them, as they are now (A-DEV-12).
type DevicesChanged struct {
	Containers map[string][]v1.ResourceStatus
}

func (f DevicesChanged) apply(s *step) { s.devices = f.Containers }

// keepDevices shows the devices of a pod that another process ran as they were reported, until
// DevicesChanged tells of them anew.
func (m *Machine) keepDevices() {
	m.devices = deviceStatuses{}
	for _, status := range m.kept.Reported.ContainerStatuses {
		m.devices[status.Name] = status.AllocatedResourcesStatus
	}
}

// shownDevices are the devices that a container's status shows.
func shownDevices(s *step, c *container) []v1.ResourceStatus {
	if c.kind != regularContainer {
		return nil
	}
	return s.devices[c.Name]
}
