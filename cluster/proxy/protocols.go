package proxy

import (
	"context"

	"sigs.k8s.io/knftables"
)

// named is a table whose elements have their protocols by name, as kube-proxy's proxier
// writes them. On a machine without /etc/protocols (Debian's package netbase), nft lists
// them by number: the proxier would take its own elements of before a restart for others,
// and would remove them right after it has added them.
type named struct{ knftables.Interface }

var protocols = map[string]string{"6": "tcp", "17": "udp", "132": "sctp"}

// ListElements lists the elements of a set or a map. Where a key has a protocol, it is
// followed by the port, which is last.
func (n named) ListElements(ctx context.Context, kind, name string) ([]*knftables.Element, error) {
	elements, err := n.Interface.ListElements(ctx, kind, name)
	for _, e := range elements {
		if len(e.Key) < 2 {
			continue
		}
		if protocol, numbered := protocols[e.Key[len(e.Key)-2]]; numbered {
			e.Key[len(e.Key)-2] = protocol
		}
	}
	return elements, err
}
