package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster/ownlink"
)

// chooseAdvertised chooses where pods and other machines find the API server: where it
// listens, at the address of the machine's default route, or, without one, at an address
// of its own that only this machine has.
func (l *layout) chooseAdvertised(ctx context.Context, before string) error {
	switch {
	case l.address.IsLoopback():
		return errors.New("--listen on a loopback address: pods could not reach the API server; want one of the machine's addresses, or 0.0.0.0")
	case !l.address.IsUnspecified():
		l.advertise = l.address
		return nil
	}
	own, err := l.ownAddress()
	if err != nil {
		return err
	}
	if l.advertise = routedAddress(); l.advertise == nil && before != "" && before != own.String() {
		l.awaitRoute(ctx)
	}
	if l.advertise != nil {
		return ownlink.Remove(ownLink(l.paths)) // of a start without a route
	}
	if err := ownlink.Add(ownLink(l.paths), own); err != nil {
		return fmt.Errorf("this machine has no default route, and no address of its own can be made for pods to find the API server: give one with --listen ADDRESS:PORT: %w", err)
	}
	l.advertise = own.AsSlice()
	l.Log.Warn("this machine has no default route: the cluster is at an address of its own, which only this machine and its pods reach; for other machines give one with --listen ADDRESS:PORT",
		"address", own, "interface", ownLink(l.paths))
	return nil
}

// routedAddress is the address of the machine's default route; nil without one.
func routedAddress() net.IP {
	if found, err := utilnet.ResolveBindAddress(nil); err == nil && !found.IsLoopback() {
		return found
	}
	return nil
}

// A cluster that was at the address of a default route waits for it: at the start of
// the machine it may come a little later, and other machines know the address.
const (
	routePatience = 10 * time.Second
	routePoll     = 200 * time.Millisecond
)

func (l *layout) awaitRoute(ctx context.Context) {
	l.Log.Warn("waits for the machine's default route, which it had at the last start", "atMost", routePatience)
	_ = wait.PollUntilContextTimeout(ctx, routePoll, routePatience, true, func(context.Context) (bool, error) {
		l.advertise = routedAddress()
		return l.advertise != nil, nil
	}) // without one there is the other address
}

// ownRanges are the addresses for machines without a default route: those that are
// meant for tests of networks, which no other network has (RFC 2544).
var ownRanges = ranges{kind: "addresses of its own", usual: "198.19.0.0/30", pool: "198.19.0.0/16", bits: 30}

// ownAddress is the one of this root, chosen once.
func (l *layout) ownAddress() (netip.Addr, error) {
	chosen, err := l.chooseRange("address", ownRanges)
	return chosen.Addr().Next(), err
}

// ownLink is the interface that has it.
func ownLink(p bundle.Paths) string {
	if p.Root == bundle.DefaultRoot {
		return "lifepod-api"
	}
	return "lpa-" + strings.TrimPrefix(p.FilterTable(), "lifepod_")
}
