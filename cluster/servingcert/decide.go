package servingcert

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
)

const userPrefix = "system:node:"

// usages are those that a request must have, with or without key encipherment.
var usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}

// requester is the node that asks, by the user it is.
func requester(r *certificatesv1.CertificateSigningRequest) (string, error) {
	name, isNode := strings.CutPrefix(r.Spec.Username, userPrefix)
	if !isNode || name == "" || !slices.Contains(r.Spec.Groups, "system:nodes") {
		return "", fmt.Errorf("%s is no node", r.Spec.Username)
	}
	return name, nil
}

// Reserved are names and addresses that no node may have.
type Reserved struct {
	Names    []string
	IPs      []net.IP
	Networks []*net.IPNet
}

// decide says why a request can't be approved; nil is an approval. others are the
// other nodes.
func decide(r *certificatesv1.CertificateSigningRequest, node *v1.Node, others []*v1.Node, reserved Reserved) error {
	request, err := parse(r.Spec.Request)
	if err != nil {
		return err
	}
	if request.Subject.CommonName != r.Spec.Username || !slices.Equal(request.Subject.Organization, []string{"system:nodes"}) {
		return fmt.Errorf("its subject is %s", request.Subject)
	}
	for _, u := range r.Spec.Usages {
		if u != certificatesv1.UsageKeyEncipherment && !slices.Contains(usages, u) {
			return fmt.Errorf("it is for %q", u)
		}
	}
	if !slices.Contains(r.Spec.Usages, certificatesv1.UsageServerAuth) {
		return fmt.Errorf("it is not for %q", certificatesv1.UsageServerAuth)
	}
	if len(request.EmailAddresses) > 0 || len(request.URIs) > 0 {
		return errors.New("it has e-mail addresses or URIs")
	}
	if len(request.DNSNames)+len(request.IPAddresses) == 0 {
		return errors.New("it has no address")
	}
	for _, name := range request.DNSNames {
		if err := mayHave(name, node, others, reserved.hasName(name)); err != nil {
			return err
		}
	}
	for _, ip := range request.IPAddresses {
		if err := mayHave(ip.String(), node, others, reserved.hasIP(ip)); err != nil {
			return err
		}
	}
	return nil
}

func parse(text []byte) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode(text)
	if block == nil || len(rest) > 0 {
		return nil, errors.New("it is not one request in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return request, request.CheckSignature()
}

// mayHave says whether an address is this node's, and nobody else's.
func mayHave(address string, node *v1.Node, others []*v1.Node, reserved bool) error {
	if reserved {
		return fmt.Errorf("%s is not for nodes", address)
	}
	if !has(node, address) {
		return fmt.Errorf("%s is not an address of the Node", address)
	}
	for _, other := range others {
		if has(other, address) {
			return fmt.Errorf("%s is an address of node %s, too", address, other.Name)
		}
	}
	return nil
}

func has(node *v1.Node, address string) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a v1.NodeAddress) bool {
		if ip := net.ParseIP(a.Address); ip != nil {
			return ip.Equal(net.ParseIP(address))
		}
		return strings.EqualFold(a.Address, address)
	})
}

func (r Reserved) hasName(name string) bool {
	return slices.ContainsFunc(r.Names, func(n string) bool { return strings.EqualFold(n, name) })
}

func (r Reserved) hasIP(ip net.IP) bool {
	return ip.IsLoopback() || ip.IsUnspecified() || slices.ContainsFunc(r.IPs, ip.Equal) ||
		slices.ContainsFunc(r.Networks, func(n *net.IPNet) bool { return n.Contains(ip) })
}
