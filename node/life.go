package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/agent"
	"github.com/lifepod/lifepod/agent/checkpoint"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/lifecycle"
)

// life is a pod whose worker runs.
type life struct {
	worker  *agent.Worker
	object  *control.Object
	server  *control.Server  // nil: no socket
	memory  *checkpoint.File // nil: none could be made
	links   *logLinks
	evicted time.Time // when it was preempted; zero: it was not
	leaving bool      // its end was asked for because its source has it no longer
}

// catchUp takes what has changed in the pod since it was accepted.
func (l *life) catchUp(accepted, newest *v1.Pod) {
	if newest != accepted || newest.DeletionTimestamp != nil {
		l.update(newest)
	}
}

// update takes the source's newest version of the pod.
func (l *life) update(newer *v1.Pod) {
	l.object.Updated(newer)
	l.worker.Post(lifecycle.PodUpdated{Pod: newer})
}

// leave asks for the pod's end because its object is gone.
func (l *life) leave(newest *v1.Pod) {
	if l.leaving {
		return
	}
	l.leaving = true
	request := lifecycle.StopRequested{GraceSeconds: newest.DeletionGracePeriodSeconds, Because: "its source has it no longer"}
	l.object.StopRequested(time.Now(), request)
	l.worker.Stop(request)
}
