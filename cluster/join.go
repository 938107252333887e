package cluster

import (
	"context"
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/informers"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/servingcert"
	"github.com/lifepod/lifepod/cluster/token"
	"github.com/lifepod/lifepod/node/discover"
)

// runInvitations lets other machines join by tokens.
func (r *run) runInvitations(ctx context.Context) error {
	authority, err := os.ReadFile(r.keys.CA())
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	return token.Run(ctx, token.Config{
		Client: r.client, Server: apiserver.URL(r.advertise.String(), r.ports.API), Authority: authority,
		DNS: []string{r.serviceIP(dnsService).String()}, Domain: dnsDomain, FeatureGates: r.nodeGates(),
		Network: discover.Network{Pods: r.pods, Services: r.services},
	})
}

// runServingCertificates approves those of other nodes. What this machine is known
// by is not for them.
func (r *run) runServingCertificates(ctx context.Context, shared informers.SharedInformerFactory) error {
	_, services, err := net.ParseCIDR(r.services.String())
	if err != nil {
		return err
	}
	return servingcert.Run(ctx, servingcert.Config{
		Client: r.client, Informers: shared, Log: r.Log,
		Reserved: servingcert.Reserved{
			Names: append([]string{r.Node}, pki.ServiceNames...), IPs: []net.IP{r.advertise}, Networks: []*net.IPNet{services},
		},
	})
}
