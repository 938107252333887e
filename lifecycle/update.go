package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// apply takes over what the pod's source has changed, limited to what the API
// lets change (B-WRK-2, B-WRK-3). One update may combine several changes (B-WRK-1).
func (f PodUpdated) apply(s *step) {
	newer := f.Pod
	s.away = s.away && newer.DeletionTimestamp != nil
	if newer.Generation < s.pod.Generation && newer.Generation != 0 {
		return // overtaken by a newer one
	}
	if !slices.Equal(s.pod.Finalizers, newer.Finalizers) {
		s.changePod()
		s.pod.Finalizers = slices.Clone(newer.Finalizers) // they are told as what its deletion waits for
	}
	if others := othersConditions(newer.Status.Conditions); !equality.Semantic.DeepEqual(others, othersConditions(s.pod.Status.Conditions)) {
		s.changePod()
		s.pod.Status.Conditions = slices.Clone(others) // readiness gates among them (A-COND-7)
	}
	updateClaims(s, &newer.Status)
	if s.kept.Stage == Syncing && newer.DeletionTimestamp == nil {
		updateMetadata(s, newer)
		updateSpec(s, newer)
	}
	if newer.DeletionTimestamp != nil {
		applyDeletion(s, newer)
	}
	s.away = false
	if newer.Generation != 0 && newer.Generation != s.pod.Generation {
		s.changePod()
		s.pod.Generation = newer.Generation
	}
}

// updateMetadata takes over labels and annotations, which volumes may show (A-VOL-5).
func updateMetadata(s *step, newer *v1.Pod) {
	if maps.Equal(s.pod.Labels, newer.Labels) && maps.Equal(withoutLocal(s.pod.Annotations), withoutLocal(newer.Annotations)) {
		return
	}
	ObjectsChanged{
		Labels: newer.Labels, Annotations: newer.Annotations, Because: Because{Kind: "labels-or-annotations-changed"},
	}.apply(s)
}

// withoutLocal leaves out the annotations in which a node notes where and when it got a
// pod: they change with each restart of the agent (A-SYNC-1).
func withoutLocal(annotations map[string]string) map[string]string {
	annotations = maps.Clone(annotations)
	maps.DeleteFunc(annotations, func(name, _ string) bool { return strings.HasPrefix(name, "kubernetes.io/config.") })
	return annotations
}

// updateSpec takes over what may change in the spec of a pod that runs: images,
// activeDeadlineSeconds, tolerations, a negative grace, resources (by way of a
// resize) and ephemeral containers (A-API-4).
func updateSpec(s *step, newer *v1.Pod) {
	defer func() { s.podIsNew = s.podIsNew || s.podCopied }() // most updates are only echoes of a status
	is := &newer.Spec
	if was := &s.pod.Spec; !equality.Semantic.DeepEqual(was.ActiveDeadlineSeconds, is.ActiveDeadlineSeconds) ||
		!equality.Semantic.DeepEqual(was.TerminationGracePeriodSeconds, is.TerminationGracePeriodSeconds) ||
		!equality.Semantic.DeepEqual(was.Tolerations, is.Tolerations) {
		s.changePod()
		s.pod.Spec.ActiveDeadlineSeconds = cloneOf(is.ActiveDeadlineSeconds)
		s.pod.Spec.TerminationGracePeriodSeconds = cloneOf(is.TerminationGracePeriodSeconds)
		s.pod.Spec.Tolerations = slices.Clone(is.Tolerations)
	}
	var wanted []ContainerResources
	for _, spec := range Containers(newer) {
		c := s.containerNamed(spec.Name)
		if c == nil || c.kind == ephemeralContainer {
			continue
		}
		changeImage(s, c, spec.Image)
		wanted = append(wanted, ContainerResources{Name: spec.Name, Resources: spec.Resources})
	}
	ResizeRequested{Pod: newer.Spec.Resources, Containers: wanted}.apply(s)
	for i := range newer.Spec.EphemeralContainers {
		EphemeralContainerAdded{Container: newer.Spec.EphemeralContainers[i]}.apply(s)
	}
}

// changeImage gives a container another image. The instance of the old one is stopped,
// whatever the restart policy (A-ACT-8); one that is still being created, as soon as it
// runs. A regular init container has the new image from its next run on.
func changeImage(s *step, c *container, image string) {
	if c.spec.Image == image {
		return
	}
	s.changePod()
	c.spec.Image, c.Image = image, imageOfNextStart(c)
	c.Outdated = c.mayRun() || c.Position == created
	tell(s, Report{Subject: c.spec.Name, Kind: "new-image", On: image, Rule: "A-ACT-8"})
}

// imageOfNextStart forgets what is known of the old image.
func imageOfNextStart(c *container) image {
	if c.Image.op != 0 { // its answer is of the old image: nobody waits for it
		return image{}
	}
	return image{Info: ImageInfo{Ref: c.Image.Info.Ref}}
}

// planOutdated stops instances whose image is no longer the container's.
func planOutdated(s *step) {
	for _, c := range s.containers {
		if !c.Outdated || c.Position != running || c.kind == initContainer {
			continue
		}
		c.Outdated = false
		because := Because{Kind: "its-image-changed"}
		message := "Container " + c.spec.Name + " definition changed, will be restarted"
		if c.kind == sidecarContainer {
			message = "Init container " + c.spec.Name + " definition changed" // A-INIT-2
		}
		killContainer(s, c, kill{
			Message:   message,
			Deadline:  s.now.Add(s.specGrace()),
			Requested: true,
			Verdict:   &verdict{Restart: true, Because: because, Rule: "A-ACT-8"},
			report:    Report{Kind: KindReplaced, Because: because, Rule: "A-ACT-8"},
		})
	}
}

// applyDeletion stops the pod because its object is being deleted. The first time the
// whole grace counts from now, as the clocks of node and API may differ. If the deletion
// moves nearer, the deadline moves by as much (B-DEL-4). A pod that was already being
// deleted while no lifepod was there gets what is left (B-WRK-10's better).
func applyDeletion(s *step, newer *v1.Pod) {
	at, before := *newer.DeletionTimestamp, s.deletion
	if before.Equal(&at) {
		return
	}
	s.deletion = at
	grace := s.specGrace()
	if g := newer.DeletionGracePeriodSeconds; g != nil {
		grace = GraceDuration(*g)
	}
	switch {
	case !before.IsZero() && !s.stop.Deadline.IsZero():
		grace = s.stop.Deadline.Add(at.Sub(before.Time)).Sub(s.now)
	case s.away:
		grace = min(grace, at.Sub(s.wall))
	}
	seconds := int64((max(grace, time.Second) + time.Second - 1) / time.Second)
	StopRequested{GraceSeconds: &seconds, Because: Because{Kind: "deleted-in-the-API"}}.apply(s)
}

// apply ends the pod as failed, with its own reason, whatever its exit codes
// (B-WRK-12). A pod that has ended already has nothing to lose; one that has completed, and
// whose sidecars still run, ends sooner, and as it would have.
func (f EvictionRequested) apply(s *step) {
	if s.kept.Stage >= Terminated || Terminal(s.kept.Reported.Phase) {
		return
	}
	grace := s.specGrace()
	if f.GraceSeconds != nil {
		grace = GraceDuration(*f.GraceSeconds)
	}
	if !f.NoEvent {
		s.do(RecordEvent{Type: warning, Reason: f.Reason, Message: f.Message, Blame: f.Blame})
	}
	if s.kept.Stage == Terminating {
		if s.stop.Cause != Completed { // the last reason counts
			s.stop.Cause, s.stop.Reason, s.stop.Message, s.stop.Disruption = Evicted, f.Reason, f.Message, f.Disruption
		}
		s.stop.Deadline = earlier(s.stop.Deadline, s.now.Add(grace))
		s.stop.OverdueAt = s.now.Add(patience(grace))
		return
	}
	terminate(s, stop{Cause: Evicted, Reason: f.Reason, Message: f.Message, Disruption: f.Disruption, OverdueAt: s.now.Add(patience(grace))}, grace,
		Report{Kind: KindEvicted, Because: Because{Text: f.Message}, Rule: "B-WRK-12"})
}

// disruptionCondition is shown in the same status as the terminal phase, never before
// (A-COND-9, B-FIN-3).
func disruptionCondition(s *step, phase v1.PodPhase) []v1.PodCondition {
	if s.stop.Disruption == "" || s.kept.Stage < Terminated || !Terminal(phase) {
		return nil
	}
	own := v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonTerminationByKubelet, Message: s.stop.Disruption,
		ObservedGeneration: s.observedGeneration(), LastTransitionTime: seconds(s.wall),
	}
	if old := Condition(s.kept.Reported.Conditions, v1.DisruptionTarget); old != nil && Terminal(s.kept.Reported.Phase) {
		own.LastTransitionTime = old.LastTransitionTime
	}
	return []v1.PodCondition{own}
}

// scheduledCondition is the object's own: the node did not schedule the pod.
func scheduledCondition(pod *v1.Pod) []v1.PodCondition {
	if c := Condition(pod.Status.Conditions, v1.PodScheduled); c != nil {
		return []v1.PodCondition{*c.DeepCopy()}
	}
	return nil
}
