package lifecycle

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Ephemeral containers are added to a running pod, to look into it. They are outside the
// order of the others: they start as soon as the sandbox is ready, wait for nobody and
// keep nobody waiting (A-ACT-5, A-ACT-11), do not count for phase or readiness, and run
// once.

// newEphemeral makes the container for an entry of spec.ephemeralContainers. What it has
// in common with other containers is a v1.Container.
func newEphemeral(spec *v1.EphemeralContainer) *container {
	return newContainer(role{spec: ephemeralSpec(spec), kind: ephemeralContainer, target: spec.TargetContainerName})
}

func ephemeralSpec(spec *v1.EphemeralContainer) *v1.Container {
	return (*v1.Container)(&spec.EphemeralContainerCommon)
}

// ordered are the containers that start in order: all but the ephemeral ones.
func (m *Machine) ordered() []*container {
	return m.containers[:len(m.pod.Spec.InitContainers)+len(m.pod.Spec.Containers)]
}

func (m *Machine) ephemerals() []*container { return m.containers[len(m.ordered()):] }

// apply adds the container to the pod, which changes its spec. If
// the name exists, the request came twice.
func (f EphemeralContainerAdded) apply(s *step) {
	name := f.Container.Name
	if s.kept.Stage != Syncing {
		tell(s, Report{Subject: ofPod, Kind: "takes-no-ephemeral", On: name, Because: Because{Kind: becauseEnding}, Rule: "B-WRK-4"})
		return
	}
	if s.containerNamed(name) != nil {
		return
	}
	s.changePod()
	list := &s.pod.Spec.EphemeralContainers
	*list = append(*list, *f.Container.DeepCopy())
	for i, c := range s.ephemerals() {
		c.spec = ephemeralSpec(&(*list)[i]) // the list has moved
	}
	s.containers = append(s.containers, newEphemeral(&(*list)[len(*list)-1]))
	s.pod.Generation++
	s.podIsNew = true
	tell(s, Report{Subject: ofPod, Kind: "gets-ephemeral", On: name, Rule: "A-ACT-5"})
}

// planEphemerals starts the ephemeral containers, each by itself.
func planEphemerals(s *step) {
	if s.lacks() != "" {
		return
	}
	for _, c := range s.ephemerals() {
		if c.startUnderWay() || (c.Position == absent && !targetFound(s, c)) {
			continue
		}
		tryStart(s, c)
	}
}

// hasTarget says whether the container whose processes c shall see has a started instance, and none that is about to go.
// One that has exited is refused by the runtime, in its own words.
func (m *Machine) hasTarget(c *container) bool {
	if c.target == "" {
		return true
	}
	target := m.containerNamed(c.target) // an API server refuses a pod without it
	return target != nil && !m.restartAll.Active && (target.Position == running || target.Position == exited)
}

// targetFound is hasTarget for a start. A container that waits for one that is not about to run shows that as its reason (A-CRI-5).
func targetFound(s *step, c *container) bool {
	if s.hasTarget(c) {
		return true
	}
	if target := s.containerNamed(c.target); s.restartAll.Active || target != nil && target.ID != "" {
		return false
	}
	if c.Failure == nil || c.Failure.Reason != configError {
		startRefused(s, c, &Failure{Reason: configError, Message: fmt.Sprintf("unable to find target container %s", c.target)}, configError)
		tell(s, Report{Subject: c.spec.Name, Kind: "waits-for-target", On: c.target, Rule: "A-CRI-5"})
	}
	return false
}

const configError = "CreateContainerConfigError"

// targetID is the newest instance of the container whose processes c sees.
func targetID(s *step, c *container) string {
	if c.target == "" {
		return ""
	}
	return s.containerNamed(c.target).ID
}

// targetRuns lets ephemeral containers retry at once if the runtime refused them because
// their target did not run.
func targetRuns(s *step, target *container) {
	for _, c := range s.ephemerals() {
		if c.target == target.spec.Name && c.Position == absent {
			c.RetryAt, c.Image.RetryAt = s.now, s.now
		}
	}
}
