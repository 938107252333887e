package run

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// sink is what the worker tells: shown by the printer, and the reason for the
// follower to open another log.
type sink struct {
	printer  *printer
	follower *follower           // nil: nobody reads the output
	sent     *sent               // nil: no figures are sent
	status   func(*v1.PodStatus) // takes each; nil: nobody does
	blocked  func(why string)    // takes what keeps a container from starting; nil: nobody does
}

func (s *sink) Status(status v1.PodStatus, _ bool) {
	s.sent.status(status)
	s.printer.setStatus(status)
	if s.status != nil {
		s.status(&status)
	}
	if s.follower == nil {
		return
	}
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			s.follower.see(&list[i])
		}
	}
}

func (s *sink) Event(at time.Time, e lifecycle.RecordEvent) {
	s.printer.event(at, e)
}

// Report takes a line of the pod's story.
func (s *sink) Report(at time.Time, r lifecycle.Report) {
	s.printer.report(at, r)
	if r.Blocks && s.blocked != nil {
		s.blocked(r.Subject + " " + r.Words().What)
	}
}

// Delete has nothing to do: the pod has no object.
func (s *sink) Delete() {}

// Rests is nothing here: no pod of lifepod run keeps its records.
func (s *sink) Rests() {}
