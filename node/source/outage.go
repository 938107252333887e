package source

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// outage logs that something doesn't work when it begins and when it is over, and nothing in between.
type outage struct {
	log  *slog.Logger
	what string
	on   atomic.Bool
}

// tell takes the result of a try.
func (o *outage) tell(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if before := o.on.Swap(err != nil); before == (err != nil) {
		return
	}
	if err != nil {
		o.log.Warn(o.what+" fails: trying again", "err", err)
		return
	}
	o.log.Info(o.what + " works again")
}
