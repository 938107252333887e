package control

import (
	"context"
	"net/http"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podlog"
)

// follow writes one instance after the other, until the container runs no more
// or the client has gone.
func (l *logAnswer) follow(ctx context.Context, instance int) {
	for {
		pod, changed := l.server.Object.Next()
		last := l.server.isGone() || endedForGood(pod, l.container) // asked first, so that none is missed
		for newest := int(restartCount(pod, l.container)); instance <= newest; instance++ {
			if !l.followOne(ctx, instance) && instance == newest {
				break // it is yet to start
			}
		}
		l.flush()
		if last || l.lines.Err() != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// followOne writes an instance's log until it has ended; false if there is none.
func (l *logAnswer) followOne(ctx context.Context, instance int) bool {
	log := l.server.open(l.container, instance)
	if log == nil {
		return false
	}
	defer log.Close()
	l.lines.Follow(ctx, log, func(ctx context.Context) <-chan struct{} {
		return l.server.ended(ctx, l.container, instance)
	}, l.flush)
	return true
}

func (l *logAnswer) flush() { _ = http.NewResponseController(l.writer).Flush() } // a client that has gone is noticed by ctx

// ended is closed when an instance has ended, or ctx has.
func (s *Server) ended(ctx context.Context, container string, instance int) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			pod, changed := s.Object.Next()
			if s.isGone() || podlog.Ended(pod, container, instance) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ended
}

func (s *Server) isGone() bool {
	select {
	case <-s.Object.Done():
		return true
	default:
		return false
	}
}

// endedForGood says whether a container has ended and its spec allows no further start.
func endedForGood(pod *v1.Pod, container string) bool {
	if lifecycle.Terminal(pod.Status.Phase) {
		return true
	}
	status := StatusOf(pod, container)
	if status == nil || status.State.Terminated == nil {
		return false
	}
	if pod.DeletionTimestamp != nil {
		return true
	}
	return !lifecycle.MayRestart(pod, container, status.State.Terminated.ExitCode)
}
