package control

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/podlog"
)

// log gives out what a container has written.
func (s *Server) log(w http.ResponseWriter, r *http.Request) error {
	options, err := logOptions(r.URL.Query())
	if err != nil {
		return err
	}
	pod := s.Object.Pod()
	container, err := containerOf(pod, r)
	if err != nil {
		return err
	}
	follow, previous := flag(r, "follow"), flag(r, "previous")
	instance, err := s.instance(pod, container, previous)
	if err != nil && (!follow || previous) {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	l := &logAnswer{server: s, container: container, writer: w, lines: podlog.NewLines(w, options)}
	if !follow || previous {
		l.all(instance)
		return nil
	}
	if err != nil {
		instance = int(restartCount(pod, container)) // its log is yet to come
	}
	l.follow(r.Context(), instance)
	return nil
}

func logOptions(q url.Values) (podlog.LineOptions, error) {
	o := podlog.LineOptions{Tail: -1, Timestamps: q.Get("timestamps") == "true"}
	if text := q.Get("tailLines"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return o, badRequest("tailLines %q: want a number of 0 or more", text)
		}
		o.Tail = n
	}
	if text := q.Get("sinceSeconds"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return o, badRequest("sinceSeconds %q: want a number of 1 or more", text)
		}
		o.Since = time.Now().Add(-time.Duration(n) * time.Second)
	}
	if text := q.Get("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return o, badRequest("sinceTime %q: want a time as RFC 3339 has it", text)
		}
		o.Since = at
	}
	return o, nil
}

// instance is the restart count of the instance whose log is wanted, as an API
// server chooses it.
func (s *Server) instance(pod *v1.Pod, container string, previous bool) (int, error) {
	if StatusOf(pod, container) == nil {
		return 0, badRequest("container %q in pod %q is waiting to start - no logs yet", container, pod.Name)
	}
	instances, err := podlog.Instances(pod, container, previous)
	if err != nil {
		return 0, badRequest("%v", err)
	}
	for _, n := range instances {
		if log := s.open(container, n); log != nil {
			log.Close()
			return n, nil
		}
	}
	return 0, notFound("the log of container %q, restart count %d, is not there any more", container, instances[0])
}

func restartCount(pod *v1.Pod, container string) int32 {
	if status := StatusOf(pod, container); status != nil {
		return status.RestartCount
	}
	return 0
}

// open opens the log of one instance, nil if there is none.
func (s *Server) open(container string, instance int) *podlog.Log {
	return podlog.OpenInstance(s.LogDir, container, instance, func() {
		s.Log.Warn("output may be missing for a client: part of the log could not be read, or was removed before it was", "container", container)
	})
}

// logAnswer writes one container's log to one client.
type logAnswer struct {
	server    *Server
	container string
	writer    http.ResponseWriter
	lines     *podlog.Lines
}

// all writes what there is of one instance.
func (l *logAnswer) all(instance int) {
	log := l.server.open(l.container, instance)
	if log == nil {
		return // it has been removed just now
	}
	defer log.Close()
	l.lines.All(log)
}

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
	return status != nil && status.State.Terminated != nil &&
		(pod.DeletionTimestamp != nil || !lifecycle.MayRestart(pod, container, status.State.Terminated.ExitCode))
}
