package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"
	netutils "k8s.io/utils/net"
)

// runSigned keeps a certificate for the addresses of the moment. client-go's manager
// would look every second whether they have changed; told of it, a new one is started.
func (s *Serving) runSigned(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		template := s.template
		s.mu.Unlock()
		s.keepSigned(ctx, template)
	}
}

// keepSigned runs until the addresses change or ctx ends. Without a template it waits.
func (s *Serving) keepSigned(ctx context.Context, template *x509.CertificateRequest) {
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, quiet(s.log)))
	defer cancel() // stops the manager
	if template != nil {
		manager, err := certificate.NewManager(&certificate.Config{
			ClientsetFn:      func(*tls.Certificate) (kubernetes.Interface, error) { return s.options.Client, nil },
			Template:         template,
			SignerName:       certificatesv1.KubeletServingSignerName,
			GetUsages:        certificate.DefaultKubeletServingGetUsages,
			CertificateStore: s.store,
			Ctx:              &ctx,
		})
		if err == nil {
			manager.Start()
		} else {
			s.log.Error("serving certificate is not requested", "err", err)
		}
	}
	select {
	case <-ctx.Done():
	case <-s.addressed:
	}
}

// servingTemplate is the request for a certificate with a node's names and addresses;
// nil without an IP address.
func servingTemplate(node string, addresses []v1.NodeAddress) *x509.CertificateRequest {
	names, ips := map[string]bool{}, map[string]net.IP{}
	for _, a := range addresses {
		ip := netutils.ParseIPSloppy(a.Address)
		switch a.Type {
		case v1.NodeExternalDNS, v1.NodeInternalDNS, v1.NodeHostName:
			if ip == nil && a.Address != "" {
				names[a.Address] = true
			}
		}
		switch a.Type {
		case v1.NodeExternalIP, v1.NodeInternalIP, v1.NodeHostName:
			if ip != nil {
				ips[ip.String()] = ip
			}
		}
	}
	if len(ips) == 0 {
		return nil
	}
	return &x509.CertificateRequest{
		Subject:     subject(node),
		DNSNames:    slices.Sorted(maps.Keys(names)),
		IPAddresses: slices.SortedFunc(maps.Values(ips), func(a, b net.IP) int { return strings.Compare(a.String(), b.String()) }),
	}
}

func sameTemplate(a, b *x509.CertificateRequest) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.DNSNames, b.DNSNames) && slices.EqualFunc(a.IPAddresses, b.IPAddresses, net.IP.Equal)
}
