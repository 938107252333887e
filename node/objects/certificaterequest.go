package objects

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// request makes a key and asks for its certificate. The request belongs to the pod, with
// which it is removed.
func (c *certificates) request(ctx context.Context, pod *v1.Pod, source *v1.PodCertificateProjection) (*asked, error) {
	account, err := soon(ctx, func(ctx context.Context) (*v1.ServiceAccount, error) {
		return c.options.Client.CoreV1().ServiceAccounts(pod.Namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("while fetching service account: %w", err)
	}
	key, err := newKey(source.KeyType)
	if err != nil {
		return nil, fmt.Errorf("while generating keypair: %w", err)
	}
	proof, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("while proving the possession of the key: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("while encoding the key: %w", err)
	}
	node := c.options.Node()
	request := &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, GenerateName: "req-",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
		},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: source.SignerName, StubPKCS10Request: proof,
			PodName: pod.Name, PodUID: pod.UID, NodeName: types.NodeName(node.Name), NodeUID: node.UID,
			ServiceAccountName: account.Name, ServiceAccountUID: account.UID,
			MaxExpirationSeconds: source.MaxExpirationSeconds, UnverifiedUserAnnotations: source.UserAnnotations,
		},
	}
	made, err := soon(ctx, func(ctx context.Context) (*certificatesv1.PodCertificateRequest, error) {
		return c.options.Client.CertificatesV1().PodCertificateRequests(pod.Namespace).Create(ctx, request, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("while creating PodCertificateRequest: %w", err)
	}
	return &asked{
		name: made.Namespace + "/" + made.Name, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		gone: time.Now().Add(requestGoneAfter + mathrand.N(longestCertificateJitter)), heard: make(chan struct{}),
	}, nil
}

// newKey makes a key of a type that a podCertificate source may name.
func newKey(kind string) (crypto.Signer, error) {
	switch kind {
	case "RSA3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "RSA4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	case "ECDSAP256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ECDSAP384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ECDSAP521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "ED25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	}
	return nil, fmt.Errorf("unknown key type %q", kind)
}

// onlyCertificates drops what a chain has beside its certificates.
func onlyCertificates(chain []byte) []byte {
	var out bytes.Buffer
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}))
	}
	return out.Bytes()
}
