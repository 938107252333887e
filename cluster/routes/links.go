package routes

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// watchLinks tells when a route of ours was lost, or a network of this machine has
// come: the kernel removes the routes of a link that goes down. It is closed when the
// kernel can't tell any more.
func watchLinks(ctx context.Context, pods netip.Prefix) (<-chan struct{}, error) {
	updates := make(chan netlink.RouteUpdate)
	if err := netlink.RouteSubscribe(updates, ctx.Done()); err != nil {
		return nil, fmt.Errorf("listen to changes of the machine's routes: %w", err)
	}
	changed := mailbox.NewSignal()
	go func() {
		defer close(changed)
		for u := range updates { // closed when ctx ends
			if !matters(u, pods) {
				continue
			}
			changed.Send()
		}
	}()
	return changed, nil
}

func matters(u netlink.RouteUpdate, pods netip.Prefix) bool {
	if u.Table != unix.RT_TABLE_MAIN {
		return false
	}
	if u.Type == unix.RTM_DELROUTE {
		p, ok := prefix(u.Dst)
		return ok && u.Protocol == protocol && pods.Contains(p.Addr())
	}
	return u.Scope == netlink.SCOPE_LINK
}
