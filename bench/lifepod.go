package main

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/times"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
)

// lifepod takes the same pod through the same life with the agent's worker.
func (b *bed) lifepod(ctx context.Context, record times.Record) error {
	began := time.Now()
	l, err := b.begin(ctx, b.pod())
	if err != nil {
		return err
	}
	record("lifepod create", time.Since(began))
	settle()

	began = time.Now()
	if err := l.restart(ctx); err != nil {
		return err
	}
	record("lifepod restart", time.Since(began))
	settle()

	began = time.Now()
	if err := l.end(lifecycle.StopRequested{Because: "bench"}); err != nil {
		return err
	}
	record("lifepod delete", time.Since(began))
	return nil
}

func ready(p v1.PodStatus) bool {
	for _, c := range p.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// statuses is a sink that keeps the newest status.
type statuses struct {
	mu     sync.Mutex
	newest v1.PodStatus
	news   mailbox.Signal // sent when there is a status that was not looked at
}

func newStatuses() *statuses { return &statuses{news: mailbox.NewSignal()} }

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

// await waits for a status to come, at most for half a minute.
func (s *statuses) await(want func(v1.PodStatus) bool) (v1.PodStatus, error) {
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

// settle lets what the last call still stirs come to rest, on both sides alike.
func settle() { time.Sleep(50 * time.Millisecond) }
