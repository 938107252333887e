package proxy

import (
	"context"
	"net"
	"strings"

	"sigs.k8s.io/knftables"
)

// The map of kube-proxy's with the services that have endpoints, and the key of the
// Service default/kubernetes, whose port is always the same.
const servicesMap = "service-ips"

func serviceKey(address net.IP) string { return "{ " + address.String() + " . tcp . 443 " }

// Serves says whether a table sends what is for the Service default/kubernetes at an
// address to an endpoint: whether it stays there from before.
func Serves(ctx context.Context, table string, address net.IP) bool {
	_, err := run(ctx, "nft", "get", "element", "ip", table, servicesMap, serviceKey(address)+"}")
	return err == nil
}

// announcing is a table that tells when the service comes into it.
type announcing struct {
	knftables.Interface
	address net.IP
	serves  func() // nil: it was called
}

// Run makes a change and looks what it was. It is called by one goroutine at a time.
func (a *announcing) Run(ctx context.Context, change *knftables.Transaction) error {
	err := a.Interface.Run(ctx, change)
	if err == nil && a.serves != nil && adds(change, serviceKey(a.address)) {
		a.serves()
		a.serves = nil
	}
	return err
}

func adds(change *knftables.Transaction, key string) bool {
	for line := range strings.Lines(change.String()) {
		if strings.HasPrefix(line, "add element ") && strings.Contains(line, " "+servicesMap+" "+key) {
			return true
		}
	}
	return false
}
