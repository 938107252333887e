// Package notify tells systemd how far a service has come, and that it is alive
// (sd_notify). Without systemd there is nobody to tell.
package notify

import (
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Service is this process as a service of systemd; the zero value is not one.
type Service struct {
	socket string        // where systemd listens; empty: it does not
	within time.Duration // how often it wants to hear that the service is alive; 0: never
}

// socketVariable is where systemd says where it listens.
const socketVariable = "NOTIFY_SOCKET"

// Take takes what systemd wants to hear out of the environment, so that nobody else in this
// process speaks for it: Kubernetes' API server would tell that the service is ready as
// soon as it listens, and then take the socket from all others.
func Take(log *slog.Logger) Service {
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the service's watchdog is not served", "err", err)
	}
	s := Service{os.Getenv(socketVariable), within}
	for _, name := range []string{socketVariable, "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // can't fail for these
	}
	return s
}

// patience is how long systemd may take to take something in.
const patience = time.Second

// Ready tells that the service has begun, and when ctx ends that it is ending.
func (s Service) Ready(ctx context.Context) {
	s.tell(daemon.SdNotifyReady)
	context.AfterFunc(ctx, func() { s.tell(daemon.SdNotifyStopping) })
}

// tell tells systemd something, and does without an answer: nobody may listen. The
// library's SdNotify would look into the environment for the socket each time.
func (s Service) tell(state string) {
	if s.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(patience)) // one that does not listen holds nobody up
	_, _ = conn.Write([]byte(state))
}

// Watch tells that the service is alive as often as systemd wants to hear it (WatchdogSec=),
// as long as alive has no error, until ctx ends. systemd ends a service that is silent, and
// starts it again.
func (s Service) Watch(ctx context.Context, alive func() error, log *slog.Logger) {
	if s.within == 0 {
		return
	}
	tick := time.NewTicker(s.within / 3)
	defer tick.Stop()
	for logged := false; ; {
		switch err := alive(); {
		case err == nil:
			s.tell(daemon.SdNotifyWatchdog)
			logged = false
		case !logged:
			log.Error("the service is not alive: if it stays so, systemd starts it again", "err", err)
			logged = true
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
