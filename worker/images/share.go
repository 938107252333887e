package images

import (
	"context"
	"strings"
	"time"
)

// sharedPull is one pull that any number of callers wait for. Its goroutine is
// started by the first caller in join and ends when the pull ends; the last
// caller to leave cancels it.
type sharedPull struct {
	// immutable
	key        string
	repository string
	ctx        context.Context
	cancel     context.CancelFunc

	// guarded by Store.mu
	callers int

	// written before done is closed
	result *Pulled
	err    error
	done   chan struct{}
}

// join finds the pull under way for the same image and credentials, or starts it.
func (s *Store) join(ctx context.Context, request PullRequest, credentials []credential) *sharedPull {
	key := pullKey(request, credentials)
	s.mu.Lock()
	defer s.mu.Unlock()
	if pull, found := s.pulls[key]; found {
		pull.callers++
		return pull
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	pull := &sharedPull{key: key, ctx: own, cancel: cancel, callers: 1, done: make(chan struct{})}
	pull.repository, _ = repository(request.Image)
	s.pulls[key] = pull
	go s.carryOut(pull, request, credentials)
	return pull
}

// leave gives up one caller's interest. A pull that nobody waits for any more
// is cancelled and forgotten, so that the next caller starts anew.
func (s *Store) leave(pull *sharedPull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pull.callers--
	if pull.callers == 0 {
		pull.cancel()
		s.forget(pull)
	}
}

// forget needs s.mu held.
func (s *Store) forget(pull *sharedPull) {
	if s.pulls[pull.key] == pull {
		delete(s.pulls, pull.key)
	}
}

// carryOut waits for a free slot, pulls, and makes the outcome known. The pull
// is forgotten before that: who asks afterwards asks for a new one.
func (s *Store) carryOut(pull *sharedPull, request PullRequest, credentials []credential) {
	defer close(pull.done)
	defer pull.cancel()
	pull.result, pull.err = s.pullInSlot(pull.ctx, request, credentials)
	s.mu.Lock()
	s.forget(pull)
	s.mu.Unlock()
}

func (s *Store) pullInSlot(ctx context.Context, request PullRequest, credentials []credential) (*Pulled, error) {
	if s.slots != nil {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := s.rate.Wait(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	pulled, err := s.pullRecorded(ctx, request, credentials)
	if err != nil {
		return nil, err
	}
	pulled.PullDuration = time.Since(start)
	return pulled, nil
}

// pullKey tells pulls apart by image and by credentials with their sources:
// whoever shares a pull is recorded with the same credential.
func pullKey(request PullRequest, credentials []credential) string {
	parts := []string{request.Image}
	for _, login := range credentials {
		parts = append(parts, login.hash())
		if login.source != nil {
			parts = append(parts, login.source.SecretUID, login.source.SecretNamespace, login.source.SecretName)
			if account := login.source.ServiceAccount; account != nil {
				parts = append(parts, account.UID)
			}
		}
	}
	return strings.Join(parts, "\x00")
}
