package bundle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/logfile"
	"github.com/lifepod/lifepod/internal/pidfd"
)

// supervisor keeps containerd running together with the other processes that
// use the root: see the package comment.
type supervisor struct {
	daemon *daemon
	log    *slog.Logger
	// up receives once: nil when containerd answers for the first time, or why
	// it cannot be started.
	up       chan error
	restarts chan time.Time
	patience patience
	// current is the containerd that answered last; answered says that up has
	// had its value. Both are owned by run.
	current  news
	answered bool
}

// patience is how long a follower bears a supervisor that it does not hear.
type patience struct {
	// quiet is when it asks containerd itself.
	quiet time.Duration
	// silence is when it gives the supervisor up for stopped.
	silence time.Duration
}

var defaultPatience = patience{quiet: time.Second, silence: 10 * time.Second}

// run leads or follows until ctx is done.
func (s *supervisor) run(ctx context.Context) {
	const soon = 50 * time.Millisecond
	handover, failure := newBackoff(time.Millisecond, soon), newBackoff(soon, restartFloor)
	for heard := time.Now(); ctx.Err() == nil; {
		err := s.leadOrFollow(ctx)
		if !errors.Is(err, errNoSupervisor) {
			heard = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			handover, failure = newBackoff(time.Millisecond, soon), newBackoff(soon, restartFloor)
		case errors.Is(err, errNoSupervisor):
			if time.Since(heard) > s.patience.silence {
				s.failed(s.unresponsive())
				heard = time.Now()
			}
			_ = handover.sleep(ctx)
		default:
			s.failed(err)
			_ = failure.sleep(ctx)
		}
	}
}

func (s *supervisor) leadOrFollow(ctx context.Context) error {
	held, err := tryLock(s.daemon.paths.supervisorLock(), unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return s.follow(ctx)
	}
	if err != nil {
		return err
	}
	defer held.Close()
	return s.lead(ctx)
}

// failed reports why containerd cannot be had: to Open, if it still waits,
// else to the log.
func (s *supervisor) failed(err error) {
	if s.answered {
		s.log.Error("containerd cannot be supervised", "err", err)
		return
	}
	s.answered = true
	s.up <- err
}

// answers reports that containerd answers, and, when it is another one than
// before, that it was restarted.
func (s *supervisor) answers(n news) {
	before := s.current
	s.current = n
	if !s.answered {
		s.answered = true
		s.up <- nil
	}
	if before == (news{}) || n.sameAs(before) {
		return
	}
	// Nobody need listen: the newest restart is kept, older ones go.
	select {
	case <-s.restarts:
	default:
	}
	s.restarts <- n.Since
}

// lead starts or adopts containerd and starts it again whenever it dies.
// The caller holds the supervisor's lock. When ctx is done containerd is left
// running for the next supervisor, or for Close to stop.
func (s *supervisor) lead(ctx context.Context) error {
	server, err := openNewsServer(s.daemon.paths.supervision())
	if err != nil {
		return err
	}
	defer server.close()
	running, err := s.daemon.ensure(ctx)
	if err != nil {
		return err
	}
	s.announce(running, server)
	return s.keepRunning(ctx, running, server)
}

// restartFloor is how long containerd must have lived for its death to be
// answered at once.
const restartFloor = 10 * time.Second

// logInterval is how often the size of containerd's log is looked at.
const logInterval = time.Minute

func (s *supervisor) keepRunning(ctx context.Context, running *pidfd.Process, server *newsServer) error {
	trim := time.NewTicker(logInterval)
	defer trim.Stop()
	look := time.NewTicker(lostInterval)
	defer look.Stop()
	lost := newLostShims(s.daemon)
	listening, stop := context.WithCancel(ctx)
	defer stop()
	deleted := followDeletions(listening, s.daemon.paths, s.log)
	pause := newBackoff(100*time.Millisecond, restartFloor)
	for started := time.Now(); ; {
		select {
		case <-ctx.Done():
			running.Close()
			return nil
		case <-trim.C:
			if err := logfile.Trim(s.daemon.paths.Log()); err != nil {
				s.log.Warn("containerd's log was not trimmed", "err", err)
			}
			continue
		case <-look.C:
			lost.look(ctx)
			continue
		case ids := <-deleted.settled:
			lost.endDeleted(ctx, ids)
			continue
		case <-running.Ended():
			running.Close()
		}
		s.log.Warn("containerd died and is started again", "pid", running.PID)
		if time.Since(started) < restartFloor {
			if pause.sleep(ctx) != nil {
				return nil
			}
		} else {
			pause = newBackoff(100*time.Millisecond, restartFloor)
		}
		var err error
		if running, err = s.daemon.start(ctx); err != nil {
			return err
		}
		started = time.Now()
		s.announce(running, server)
		lost = newLostShims(s.daemon)
	}
}

// announce tells ourselves and the followers which containerd answers.
func (s *supervisor) announce(p *pidfd.Process, server *newsServer) {
	n := news{ID: p.ID, Since: time.Now()}
	s.answers(n)
	server.tell(n)
}
