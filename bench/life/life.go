// Package life takes pods that are measured through their lives, as lifepod's worker leads them.
package life

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
)

// Life is the life of one pod.
type Life struct {
	First v1.PodStatus // in which the pod was Ready

	statuses
	events *worker.Events
	worker *worker.Worker
	ended  chan error
}

// Begin runs a pod until it is Ready. Its worker saves its state, as in lifepod run.
func Begin(ctx context.Context, node *worker.Engine, events *worker.Events, pod *v1.Pod) (*Life, error) {
	l := &Life{statuses: statuses{news: mailbox.NewSignal()}, events: events, ended: make(chan error, 1)}
	l.worker = node.NewWorker(pod, &l.statuses)
	l.worker.Remember(worker.NewCheckpointFile(filepath.Join(filepath.Dir(node.Folders.Pods), string(pod.UID)+".checkpoint")))
	events.Add(l.worker)
	go func() { l.ended <- l.worker.Run(ctx) }()
	var err error
	l.First, err = l.Await(Ready)
	return l, err
}

// End returns when nothing is left of the pod.
func (l *Life) End(request lifecycle.StopRequested) error {
	defer l.events.Remove(l.worker)
	l.worker.Stop(request)
	return <-l.ended
}

func Ready(status v1.PodStatus) bool { return machine.IsReady(&v1.Pod{Status: status}) }

// statuses is a sink that keeps the newest status.
type statuses struct {
	mu     sync.Mutex
	newest v1.PodStatus
	news   mailbox.Signal // sent when there is a status that was not looked at
}

// Await waits for a status to come, at most for half a minute.
func (s *statuses) Await(want func(v1.PodStatus) bool) (v1.PodStatus, error) {
	limit := time.After(30 * time.Second)
	for {
		select {
		case <-s.news:
			s.mu.Lock()
			status := s.newest
			s.mu.Unlock()
			if want(status) {
				return status, nil
			}
		case <-limit:
			return v1.PodStatus{}, errors.New("the pod does not get there within 30s")
		}
	}
}

func (s *statuses) Status(status v1.PodStatus, _ bool) {
	s.mu.Lock()
	s.newest = status
	s.mu.Unlock()
	s.news.Send()
}

// Event is not looked at.
func (s *statuses) Event(time.Time, lifecycle.RecordEvent) {}

// Report is not looked at.
func (s *statuses) Report(time.Time, lifecycle.Report) {}

// Delete is of no interest.
func (s *statuses) Delete() {}

// Rests is nothing here: nobody waits for it.
func (s *statuses) Rests() {}
