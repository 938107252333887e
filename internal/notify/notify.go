// Package notify tells systemd how far a service has come, and that it is alive
// (sd_notify). Without systemd there is nobody to tell.
package notify

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells that the service has begun, and when ctx ends that it is ending.
func Ready(ctx context.Context) {
	tell(daemon.SdNotifyReady)
	context.AfterFunc(ctx, func() { tell(daemon.SdNotifyStopping) })
}

func tell(state string) { _, _ = daemon.SdNotify(false, state) } // nobody listens, or systemd has gone

// Watch tells that the service is alive as often as systemd wants to hear it (WatchdogSec=),
// as long as alive has no error, until ctx ends. systemd ends a service that is silent, and
// starts it again.
func Watch(ctx context.Context, alive func() error, log *slog.Logger) {
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the service's watchdog is not served", "err", err)
	}
	if within == 0 {
		return
	}
	tick := time.NewTicker(within / 3)
	defer tick.Stop()
	for told := false; ; {
		switch err := alive(); {
		case err == nil:
			tell(daemon.SdNotifyWatchdog)
			told = false
		case !told:
			log.Error("the service is not alive: if it stays so, systemd starts it again", "err", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
