package bundle

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// errNoSupervisor means that the lock is held and nobody listens: its holder
// has just taken it, or just ended.
var errNoSupervisor = errors.New("the supervisor does not listen yet")

// follow listens to the supervisor until it ends.
func (s *supervisor) follow(ctx context.Context) error {
	conn, err := net.Dial("unix", s.daemon.paths.supervision())
	if err != nil {
		return errNoSupervisor
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	heard, ended := make(chan news), make(chan error, 1)
	go func() { ended <- listen(ctx, conn, heard) }()
	return s.attend(ctx, heard, ended)
}

// listen passes on what the supervisor says until the connection breaks.
func listen(ctx context.Context, conn net.Conn, heard chan<- news) error {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var n news
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			return fmt.Errorf("listen to the supervisor of containerd: %w", err)
		}
		select {
		case heard <- n:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// attend takes the news. A supervisor that starts containerd says that it
// lives; one that says nothing may be stopped (Ctrl-Z), which the kernel hides:
// it accepts connections in its place. Then containerd is asked itself.
func (s *supervisor) attend(ctx context.Context, heard <-chan news, ended <-chan error) error {
	quiet := time.NewTimer(s.patience.quiet)
	defer quiet.Stop()
	for lastWord := time.Now(); ; {
		select {
		case err := <-ended:
			return err
		case n := <-heard:
			lastWord = time.Now()
			if n.PID == 0 {
				quiet.Reset(s.patience.quiet)
				continue
			}
			quiet.Stop()
			s.answers(n)
		case <-quiet.C:
			if found := s.daemon.answering(ctx, s.patience.quiet); found != nil {
				s.answers(*found)
				continue
			}
			if time.Since(lastWord) >= s.patience.silence {
				s.failed(s.unresponsive())
				lastWord = time.Now()
			}
			quiet.Reset(s.patience.quiet)
		}
	}
}

// unresponsive names the process that has the lock and does nothing with it.
func (s *supervisor) unresponsive() error {
	pid := holder(s.daemon.paths.supervisorLock())
	return fmt.Errorf("process %d, a lifepod that supervises this state folder's runtime, does not answer: if it is suspended, resume it (kill -CONT %[1]d), else end it", pid)
}

// answering is the containerd of the root if it answers within the time, even
// when nobody supervises it.
func (d *daemon) answering(ctx context.Context, within time.Duration) *news {
	found, _, err := d.find()
	if err != nil || found == nil {
		return nil
	}
	defer found.Close()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if d.awaitAnswer(ctx, found) != nil {
		return nil
	}
	return &news{ID: found.ID, Since: time.Now()}
}
