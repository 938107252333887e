package journal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// effect files what the machine did.
func (s *step) effect(effect lifecycle.Effect) {
	switch e := effect.(type) {
	case lifecycle.Tell:
		s.decision(e.Report)
	case lifecycle.RecordEvent:
		container := containerOf(e.FieldPath)
		s.add(Entry{Cause: s.cause(container), Kind: Event, Name: e.Reason, Value: e.Type, Container: container, Attempt: s.attemptOf(container), What: e.Message})
	case lifecycle.Publish:
		s.status(&e.Status)
	case lifecycle.Probe:
		s.underWay[e.ID] = work{probe: probe{s.instances[e.ContainerID], e.Kind}}
	case lifecycle.Observe, lifecycle.MeasureStorage, lifecycle.MeasureMemory, lifecycle.CountEviction, lifecycle.WakeAt:
	case lifecycle.Cancel:
		if w := s.underWay[e.ID]; w.begun != 0 {
			s.add(Entry{Cause: s.cause(w.entry.Container), Kind: Begun, Name: "Cancel", Value: w.entry.Name, Container: w.entry.Container, Attempt: w.entry.Attempt})
		}
	case lifecycle.DeleteObject, lifecycle.Finish:
		s.add(Entry{Cause: s.cause(""), Kind: Begun, Name: nameOf(e)})
	default:
		s.begun(effect)
	}
}

// decision files a line of the pod's story. Time alone is no cause of one.
func (s *step) decision(r lifecycle.Report) {
	e := Decision(r)
	e.Cause, e.Attempt = s.root, s.attemptOf(e.Container)
	if s.snapshot && r.Kind == lifecycle.KindExited {
		e.Cause = cmp.Or(s.ender(s.idOf(e.Container, e.Attempt)), e.Cause)
	}
	s.add(e)
}

// Decision is an entry of a line of the story.
func Decision(r lifecycle.Report) Entry {
	words := r.Words()
	e := Entry{Kind: Decided, Report: &r, What: words.What, Outcome: words.Outcome, Because: words.Because, Rule: r.Rule}
	if r.Subject != "pod" {
		e.Container = r.Subject
	}
	if r.GroupAttempt != nil {
		e.Detail = map[string]string{DetailAttempt: strconv.FormatInt(int64(*r.GroupAttempt), 10)}
	}
	return e
}

// idOf is the container ID of an instance; empty: it is not known.
func (r *Recorder) idOf(container string, attempt uint32) string {
	for id, i := range r.instances {
		if i.container == container && i.attempt == attempt {
			return id
		}
	}
	return ""
}

// begun files work that will be answered.
func (s *step) begun(effect lifecycle.Effect) {
	e := Entry{Kind: Begun, Name: nameOf(effect), Effect: effect.EffectID(), Detail: map[string]string{}}
	ofInstance := func(container, id string) {
		e.Container, e.Attempt = container, s.instances[id].attempt
		e.Detail[DetailContainerID] = id
	}
	switch f := effect.(type) {
	case lifecycle.InspectImage:
		s.image(&e, f.Container, f.Volume, f.Image)
	case lifecycle.PullImage:
		s.image(&e, f.Container, f.Volume, f.Image)
	case lifecycle.CreateContainer:
		e.Container, e.Attempt = f.Container, f.Attempt
	case lifecycle.StartContainer:
		ofInstance(f.Container, f.ContainerID)
	case lifecycle.StopContainer:
		ofInstance(f.Container, f.ContainerID)
		e.Detail[DetailTimeout] = strconv.FormatInt(f.TimeoutSeconds, 10)
	case lifecycle.RemoveContainer:
		ofInstance(f.Container, f.ContainerID)
		e.Attempt = f.Attempt
	case lifecycle.ResizeContainer:
		ofInstance(f.Container, f.ContainerID)
	case lifecycle.RunHook:
		ofInstance(f.Container, f.ContainerID)
		e.Detail[DetailHook] = f.Hook.String()
	}
	e.Cause = s.cause(e.Container)
	s.add(e)
}

// image says what an image is for: the container's next instance, or a volume.
func (s *step) image(e *Entry, container, volume, image string) {
	e.Container, e.Image = container, image
	set(e.Detail, DetailVolume, volume)
	for _, i := range s.instances {
		if i.container == container && container != "" {
			e.Attempt = max(e.Attempt, i.attempt+1)
		}
	}
}

// attemptOf is that of a container's newest instance.
func (r *Recorder) attemptOf(container string) (newest uint32) {
	for _, i := range r.instances {
		if i.container == container {
			newest = max(newest, i.attempt)
		}
	}
	return newest
}

// containerOf is the container that an Event is about; empty: the pod.
func containerOf(fieldPath string) string {
	_, name, found := strings.Cut(fieldPath, "{")
	if !found {
		return ""
	}
	return strings.TrimSuffix(name, "}")
}

// status files what has changed in the status.
func (s *step) status(status *v1.PodStatus) {
	s.milestone(Entry{Name: "phase", Value: string(status.Phase), Because: status.Reason, What: status.Message})
	for _, c := range status.Conditions {
		s.milestone(Entry{Name: string(c.Type), Value: string(c.Status), Because: c.Reason, What: c.Message})
	}
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses) {
		s.container(&c)
	}
}

func (s *step) container(c *v1.ContainerStatus) {
	if _, id, found := strings.Cut(c.ContainerID, "://"); found {
		s.knows(id, instance{c.Name, uint32(c.RestartCount)}) //nolint:gosec // never negative
	}
	now := nowOf(c)
	file := func(name, value, reason string) {
		s.milestone(Entry{Name: name, Value: value, Because: reason, Container: c.Name, Attempt: s.attemptOf(c.Name)})
	}
	file("state", now.State, now.Reason)
	file("started", strconv.FormatBool(now.Started), "")
	file("ready", strconv.FormatBool(now.Ready), "")
	file("restarts", strconv.Itoa(int(now.Restarts)), "")
}

// milestone files an entry if it says anything new. That something isn't so is no news of a
// container that has never been anything else.
func (s *step) milestone(e Entry) {
	before, known := s.shown[milestoneKey(e)]
	if before == milestoneValue(e) || !known && (e.Value == "false" || e.Value == "0") {
		return
	}
	e.Kind, e.Cause = Milestone, s.cause(e.Container)
	s.add(e)
}
