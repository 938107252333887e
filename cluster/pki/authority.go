package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// Validity of what is made.
const (
	authorityValidity = 10 * 365 * 24 * time.Hour
	leafValidity      = 365 * 24 * time.Hour
	// backdated lets clocks of other machines be behind.
	backdated = 5 * time.Minute
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// pair is a certificate and its key, both in PEM.
type pair struct{ certificate, key []byte }

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newAuthority(name string, key crypto.Signer, now time.Time) (pair, error) {
	t := template(pkix.Name{CommonName: name}, now, authorityValidity)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return encode(t, t, key, key)
}

// readAuthority takes a pair for an authority if it is one and can sign now.
func readAuthority(p pair, now time.Time) (*authority, error) {
	whole, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		return nil, err
	}
	signer, ok := whole.PrivateKey.(crypto.Signer)
	switch {
	case !ok:
		return nil, fmt.Errorf("a key of type %T can't sign", whole.PrivateKey)
	case !whole.Leaf.IsCA:
		return nil, fmt.Errorf("the certificate of %q is no authority's", whole.Leaf.Subject.CommonName)
	case now.After(whole.Leaf.NotAfter):
		return nil, fmt.Errorf("it has expired on %s", whole.Leaf.NotAfter.Format(time.DateOnly))
	}
	return &authority{certificate: whole.Leaf, key: signer}, nil
}

func readKey(text []byte) (crypto.Signer, error) {
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T can't sign", key)
	}
	return signer, nil
}

func template(subject pkix.Name, now time.Time, validity time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-backdated),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// leaf says what a signed certificate is for.
type leaf struct {
	name      string
	groups    []string
	names     []string // of a server
	addresses []net.IP
}

func (l leaf) serves() bool { return len(l.names)+len(l.addresses) > 0 }

func (l leaf) usages() []x509.ExtKeyUsage {
	if l.serves() {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
}

func nodeLeaf(name string) leaf {
	return leaf{name: "system:node:" + name, groups: []string{"system:nodes"}}
}

func (a *authority) sign(l leaf, now time.Time) (pair, error) {
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	t := template(pkix.Name{CommonName: l.name, Organization: l.groups}, now, leafValidity)
	t.ExtKeyUsage, t.DNSNames, t.IPAddresses = l.usages(), l.names, l.addresses
	if t.NotAfter.After(a.certificate.NotAfter) {
		t.NotAfter = a.certificate.NotAfter // nobody trusts it for longer
	}
	p, err := encode(t, a.certificate, key, a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %q: %w", l.name, err)
	}
	return p, nil
}

func encode(t, parent *x509.Certificate, key, signer crypto.Signer) (pair, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
