package journal

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Keys of an entry's Detail.
const (
	DetailContainerID = "containerID"
	DetailBecause     = "asked"     // who asked for it, and why
	DetailGrace       = "grace"     // seconds
	DetailTimeout     = "timeout"   // seconds
	DetailProbe       = "probe"     // startup, liveness or readiness
	DetailOutput      = "output"    // of a probe
	DetailFailures    = "failures"  // in a row, with this one
	DetailHook        = "hook"      // PostStart or PreStop
	DetailVolume      = "volume"    // whose image it is
	DetailAddresses   = "addresses" // of the pod, separated by commas
	DetailTook        = "took"      // of a pull, without the wait for its turn
	DetailForce       = "force"     // true: at once
	DetailAttempt     = "attempt"   // of the pod's group that a decision is about
)

// fact files what the machine was told; true: also if nothing follows from it.
func (s *step) fact(fact lifecycle.Fact, effects []lifecycle.Effect) bool {
	switch f := fact.(type) {
	case lifecycle.Woke, lifecycle.ClockChanged, lifecycle.Published, lifecycle.StorageMeasured, lifecycle.MemoryMeasured:
		return false
	case lifecycle.Probed:
		return s.probed(f, effects)
	case lifecycle.Observed:
		s.snapshot = true
		for _, c := range f.Containers {
			s.knows(c.ID, instance{c.Name, c.Attempt})
		}
	}
	if answer, is := fact.(interface{ Answered() lifecycle.Result }); is {
		if result := answer.Answered(); result.ID != 0 {
			return s.answered(fact, result)
		}
	}
	e := Entry{Kind: Fact, Name: nameOf(fact), Detail: map[string]string{}}
	keep := s.describe(&e, fact)
	s.root = s.add(e)
	return keep
}

// answered files the answer to what was begun, if that is in the journal.
func (s *step) answered(fact lifecycle.Fact, result lifecycle.Result) bool {
	w, known := s.underWay[result.ID]
	if !known {
		s.root = s.add(Entry{Kind: Fact, Name: nameOf(fact)})
		return false
	}
	delete(s.underWay, result.ID)
	e := w.entry
	e.Failure = failureOf(result.Failure)
	e.Detail = map[string]string{}
	switch f := fact.(type) {
	case lifecycle.ContainerCreated:
		set(e.Detail, DetailContainerID, f.ContainerID)
	case lifecycle.SandboxCreated:
		set(e.Detail, DetailAddresses, strings.Join(f.IPs, ","))
	case lifecycle.ImageInspected:
		e.Bytes = sizeOf(f.Image)
	case lifecycle.ImagePulled:
		e.Bytes = sizeOf(f.Image)
		set(e.Detail, DetailTook, f.Took.String())
	case lifecycle.ResizeAdmitted:
		e.Value, e.Because = f.Reason, f.Message
	}
	s.root = s.add(e)
	return true
}

func sizeOf(image *lifecycle.ImageInfo) uint64 {
	if image == nil {
		return 0
	}
	return image.SizeBytes
}

// describe fills in what a fact says; true: it is kept also if nothing follows from it.
func (s *step) describe(e *Entry, fact lifecycle.Fact) bool {
	switch f := fact.(type) {
	case lifecycle.Accepted, lifecycle.Resumed:
	case lifecycle.SandboxExited:
		e.Cause = s.sandbox
	case lifecycle.Rejected:
		e.Because, e.What = f.Reason, f.Message
	case lifecycle.StopRequested:
		stopRequested(e, f)
	case lifecycle.PodUpdated:
		set(e.Detail, DetailGrace, graceLeft(f.Pod, s.at))
		return false
	case lifecycle.RestartRequested:
		e.Container = f.Container
		set(e.Detail, DetailBecause, f.Because.String())
	case lifecycle.EvictionRequested:
		e.What = f.Message
	case lifecycle.ConditionSet:
		e.Because, e.Value = string(f.Condition.Type), string(f.Condition.Status)
	case lifecycle.EphemeralContainerAdded:
		e.Container = f.Container.Name
	case lifecycle.ContainerExited:
		s.exited(e, f)
	case lifecycle.ObjectsChanged:
		set(e.Detail, DetailBecause, f.Because.String())
		return false
	case lifecycle.ContainerRunning:
		i := s.instances[f.ContainerID]
		e.Container, e.Attempt, e.Cause = i.container, i.attempt, s.starts[f.ContainerID]
		return false
	default:
		return false
	}
	return true
}

func stopRequested(e *Entry, f lifecycle.StopRequested) {
	set(e.Detail, DetailBecause, f.Because.String())
	if f.GraceSeconds != nil {
		e.Detail[DetailGrace] = strconv.FormatInt(*f.GraceSeconds, 10)
	}
	if f.Force {
		e.Detail[DetailForce] = "true"
	}
}

// graceLeft is how many seconds a pod has left that was deleted in the API, at least one; empty: it was not.
func graceLeft(pod *v1.Pod, now time.Time) string {
	if pod.DeletionTimestamp == nil {
		return ""
	}
	return strconv.FormatInt(int64(max(time.Second, pod.DeletionTimestamp.Sub(now)+time.Second-1)/time.Second), 10)
}

// exited describes the end of an instance, which follows from what was begun to end it.
func (s *step) exited(e *Entry, f lifecycle.ContainerExited) {
	i := s.instances[f.ContainerID]
	e.Container, e.Attempt, e.Cause = i.container, i.attempt, s.ender(f.ContainerID)
	e.Detail[DetailContainerID] = f.ContainerID
	e.Exit = &Exit{Code: f.ExitCode, Reason: f.Reason, Message: f.Message, StartedAt: f.StartedAt, FinishedAt: f.FinishedAt}
}

// ender is what was begun to end an instance; 0: nothing was.
func (r *Recorder) ender(id string) int64 { return cmp.Or(r.stops[id], r.sandbox) }

// probed counts the failures of a probe, as the machine does; true: it is one.
func (s *step) probed(f lifecycle.Probed, effects []lifecycle.Effect) bool {
	w := s.underWay[f.ID]
	delete(s.underWay, f.ID)
	if f.Outcome == lifecycle.ProbeSuccess || f.Outcome == lifecycle.ProbeWarning {
		delete(s.failures, w.probe)
	}
	counts := f.Failure == nil && f.Outcome == lifecycle.ProbeFailure && reports(effects, "Unhealthy")
	if counts {
		s.failures[w.probe]++
	}
	e := Entry{Kind: Fact, Name: "Probed", Container: w.probe.container, Attempt: w.probe.attempt, Failure: failureOf(f.Failure), Value: outcome(f), Detail: map[string]string{}}
	set(e.Detail, DetailProbe, strings.ToLower(w.probe.kind.String()))
	set(e.Detail, DetailOutput, f.Output)
	if counts {
		e.Detail[DetailFailures] = strconv.Itoa(int(s.failures[w.probe]))
	}
	s.root = s.add(e)
	return counts
}

// outcome is success, warning, failure or error.
func outcome(f lifecycle.Probed) string {
	return [...]string{"success", "warning", "failure", "error"}[f.Outcome]
}

func reports(effects []lifecycle.Effect, reason string) bool {
	return slices.ContainsFunc(effects, func(effect lifecycle.Effect) bool {
		e, is := effect.(lifecycle.RecordEvent)
		return is && e.Reason == reason
	})
}

func nameOf(fact any) string { return reflect.TypeOf(fact).Name() }

func set(detail map[string]string, key, value string) {
	if value != "" {
		detail[key] = value
	}
}

var classes = [...]string{
	lifecycle.Failed: "failed", lifecycle.Uncertain: "uncertain", lifecycle.Unavailable: "unavailable", lifecycle.Cancelled: "cancelled", lifecycle.NotFound: "not found",
}

func failureOf(f *lifecycle.Failure) *Failure {
	if f == nil {
		return nil
	}
	message := f.Message
	if f.Detail != "" {
		message = f.Detail
	}
	return &Failure{Class: classes[f.Class], Reason: f.Reason, Message: message}
}
