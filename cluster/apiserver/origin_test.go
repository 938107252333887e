package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/cluster/servingcert"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestOriginOfRequests: a node's request for a certificate has the address that it came from, whatever the node
// has written.
func TestOriginOfRequests(t *testing.T) {
	c := testConfig(t, startEtcd(t), "/registry")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	assert.Must(t, c.Keys.NodeKubeconfig(file, "test", URL("127.0.0.1", c.Port), "n2"))
	serve(t, c, New)
	config := assert.Get(clientcmd.BuildConfigFromFlags("", file)).Must(t)
	node := assert.Get(kubernetes.NewForConfig(config)).Must(t)
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	der := assert.Get(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:n2", Organization: []string{"system:nodes"}}, DNSNames: []string{"n2"},
	}, key)).Must(t)
	created := assert.Get(node.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeletServingSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageServerAuth, certificatesv1.UsageDigitalSignature},
			Extra: map[string]certificatesv1.ExtraValue{servingcert.OriginKey: {"192.0.2.99"}},
		},
	}, metav1.CreateOptions{})).Must(t)
	if diff := cmp.Diff(certificatesv1.ExtraValue{"127.0.0.1"}, created.Spec.Extra[servingcert.OriginKey]); diff != "" {
		t.Error(diff)
	}
}
