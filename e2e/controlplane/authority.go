package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity of certificates: longer than any test, shorter than anybody would keep one. They are valid a while before they
// are made, for clocks that differ.
const validity, skew = 7 * 24 * time.Hour, 5 * time.Minute

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// keyPair is a certificate and its key, both in PEM.
type keyPair struct {
	certificate []byte
	key         []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name, NotBefore: time.Now().Add(-skew)}, key)
	if err != nil {
		return nil, fmt.Errorf("create authority %q: %w", name, err)
	}
	return &authority{certificate: certificate, key: key}, nil
}

func template(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100)) // never fails
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    time.Now().Add(-skew),
		NotAfter:     time.Now().Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// client signs a certificate of a Kubernetes user and the groups it is in.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	t := template(pkix.Name{CommonName: user, Organization: groups})
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(t)
}

// serving signs a certificate of a server.
func (a *authority) serving(subject pkix.Name, names []string, addresses []net.IP) (keyPair, error) {
	t := template(subject)
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	t.DNSNames, t.IPAddresses = names, addresses
	return a.sign(t)
}

func (a *authority) sign(t *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign certificate of %q: %w", t.Subject.CommonName, err)
	}
	return newPair(der, key)
}

func newPair(certificate []byte, key *ecdsa.PrivateKey) (keyPair, error) {
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	return keyPair{certificate: encodeCertificate(certificate), key: text}, err
}

// write puts the authority's own certificate and key into BASE.crt and BASE.key.
func (a *authority) write(base string) error {
	own, err := newPair(a.certificate.Raw, a.key)
	if err != nil {
		return err
	}
	return own.write(base)
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// write puts the pair into BASE.crt and BASE.key.
func (p keyPair) write(base string) error {
	if err := os.WriteFile(base+".crt", p.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(base+".key", p.key, 0o600)
}
