package cluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/apiserver"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/servingcert"
	"github.com/lifepod/lifepod/cluster/token"
	"github.com/lifepod/lifepod/node/join"
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
		Network: join.Network{Pods: r.pods, Services: r.services},
	})
}

// runServingCertificates approves those of other nodes.
func (r *run) runServingCertificates(ctx context.Context, shared informers.SharedInformerFactory) error {
	return servingcert.Run(ctx, servingcert.Config{
		Client: r.client, Informers: shared, Log: r.Log,
		Reserved: func(ctx context.Context) (servingcert.Reserved, error) { return r.reserved(ctx, r.client) },
	})
}

// reserved is what nodes get no certificates for: what servers of the cluster are known
// by, and the addresses of Services and pods. Another pod network may have others.
func (l *layout) reserved(ctx context.Context, client kubernetes.Interface) (servingcert.Reserved, error) {
	all := servingcert.Reserved{
		Domain: dnsDomain, Names: append([]string{l.Node}, pki.ServiceNames...),
		IPs: []net.IP{l.advertise}, Networks: []netip.Prefix{l.services, l.pods},
	}
	servers, err := servers(ctx, client)
	if err != nil {
		return all, err
	}
	for _, s := range servers {
		all.Names, all.IPs = append(all.Names, s.Name), append(all.IPs, s.Address)
	}
	ranges, err := client.NetworkingV1().ServiceCIDRs().List(ctx, metav1.ListOptions{})
	if err != nil {
		return all, fmt.Errorf("ask for the ranges of service addresses: %w", err)
	}
	for _, r := range ranges.Items {
		for _, text := range r.Spec.CIDRs {
			if network, err := netip.ParsePrefix(text); err == nil { // the API server has validated it
				all.Networks = append(all.Networks, network)
			}
		}
	}
	return all, nil
}
