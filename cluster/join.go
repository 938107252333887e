package cluster

import (
	"context"
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/servingcert"
	"github.com/lifepod/lifepod/cluster/token"
	"github.com/lifepod/lifepod/node/discover"
)

// runInvitations lets other machines join by tokens.
func (l *layout) runInvitations(ctx context.Context, client kubernetes.Interface, keys *pki.Folder) error {
	authority, err := os.ReadFile(keys.CA())
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	return token.Run(ctx, token.Config{
		Client: client, Server: apiserver.URL(l.advertise.String(), l.ports.API), Authority: authority,
		DNS: []string{l.serviceIP(dnsService).String()}, Domain: dnsDomain, Network: discover.Network{Pods: l.pods, Services: l.services},
	})
}

// runServingCertificates approves those of other nodes. What this machine is known
// by is not for them.
func (l *layout) runServingCertificates(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	_, services, err := net.ParseCIDR(l.services.String())
	if err != nil {
		return err
	}
	return servingcert.Run(ctx, servingcert.Config{
		Client: client, Informers: shared, Log: l.Log,
		Reserved: servingcert.Reserved{
			Names: append([]string{l.Node}, pki.ServiceNames...), IPs: []net.IP{l.advertise}, Networks: []*net.IPNet{services},
		},
	})
}
