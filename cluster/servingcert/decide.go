package servingcert

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
)

const userPrefix = "system:node:"

// OriginKey is what of a request's Extra the address is that it came from: the API server's word, not the node's.
const OriginKey = "lifepod.dev/request-from"

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

// Reserved are names and addresses that no node may have, beside those of Services and of
// the machine itself.
type Reserved struct {
	Domain   string // of the cluster's names
	Names    []string
	IPs      []net.IP
	Networks []netip.Prefix // of Services and pods
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
		if err := mayHaveName(name, node, reserved); err != nil {
			return err
		}
	}
	for _, ip := range request.IPAddresses {
		if err := mayHaveIP(ip, node, others, reserved); err != nil {
			return err
		}
		if from := strings.Join(r.Spec.Extra[OriginKey], ","); !ip.Equal(net.ParseIP(from)) {
			return fmt.Errorf("%s is not the address that the request came from (%q)", ip, from)
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

// mayHaveName says whether a name is this node's. Names of Nodes are unique.
func mayHaveName(name string, node *v1.Node, reserved Reserved) error {
	switch {
	case reserved.hasName(name):
		return fmt.Errorf("%s is not for nodes", name)
	case !strings.EqualFold(name, node.Name):
		return fmt.Errorf("%s is not the name of the Node", name)
	}
	return nil
}

// mayHaveIP says whether an address is this node's, and nobody else's.
func mayHaveIP(ip net.IP, node *v1.Node, others []*v1.Node, reserved Reserved) error {
	if reserved.hasIP(ip) {
		return fmt.Errorf("%s is not for nodes", ip)
	}
	if !has(node, ip) {
		return fmt.Errorf("%s is not an address of the Node", ip)
	}
	for _, other := range others {
		if has(other, ip) {
			return fmt.Errorf("%s is an address of node %s, too", ip, other.Name)
		}
	}
	return nil
}

func has(node *v1.Node, ip net.IP) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a v1.NodeAddress) bool {
		return ip.Equal(net.ParseIP(a.Address))
	})
}

// hasName says also of names that only Services have: a Node may be called so.
func (r Reserved) hasName(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for _, domain := range []string{"svc", "svc." + r.Domain, r.Domain, "localhost"} {
		if name == domain || strings.HasSuffix(name, "."+domain) {
			return true
		}
	}
	return slices.ContainsFunc(r.Names, func(n string) bool { return strings.ToLower(n) == name })
}

// hasIP says also of addresses that no node has towards others, such as 127.0.0.1.
func (r Reserved) hasIP(ip net.IP) bool {
	address, ok := netip.AddrFromSlice(ip)
	return !ok || !ip.IsGlobalUnicast() || slices.ContainsFunc(r.IPs, ip.Equal) ||
		slices.ContainsFunc(r.Networks, func(n netip.Prefix) bool { return n.Contains(address.Unmap()) })
}
