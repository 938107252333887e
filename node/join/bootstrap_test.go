package join

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"k8s.io/client-go/util/keyutil"

	"github.com/lifepod/lifepod/internal/assert"
)

// signing is a cluster that signs every request when it is made.
func signing(ca *authority, requests *[]*certificatesv1.CertificateSigningRequest) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "certificatesigningrequests", func(a clienttesting.Action) (bool, runtime.Object, error) {
		request := a.(clienttesting.CreateAction).GetObject().(*certificatesv1.CertificateSigningRequest)
		block, _ := pem.Decode(request.Spec.Request)
		parsed, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return true, nil, err
		}
		request.Status.Certificate = ca.signKey(parsed.Subject.CommonName, inAnHour(), parsed.PublicKey)
		request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: v1.ConditionTrue}}
		*requests = append(*requests, request)
		return false, nil, nil
	})
	return client
}

func testConnection(node string) *Connection {
	return &Connection{options: Options{NodeName: node}, log: slog.New(slog.DiscardHandler)}
}

// TestRequest is what the kubelet requests, and who asks again with the same key gets
// the same certificate.
func TestRequest(t *testing.T) {
	var requests []*certificatesv1.CertificateSigningRequest
	ca := newAuthority(t)
	client := signing(ca, &requests)
	file := filepath.Join(t.TempDir(), temporaryKey)
	key := assert.Get(keyOf(file)).Must(t)
	first := assert.Get(testConnection("n1").certify(t.Context(), client, key)).Must(t)
	spec := requests[0].Spec
	assert.Equal(t, "kubernetes.io/kube-apiserver-client-kubelet", spec.SignerName, "signer")
	assert.Deep(t, "usages", []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}, spec.Usages)
	block, _ := pem.Decode(spec.Request)
	parsed := assert.Get(x509.ParseCertificateRequest(block.Bytes)).Must(t)
	assert.Equal(t, "CN=system:node:n1,O=system:nodes", parsed.Subject.String(), "subject")

	again := assert.Get(keyOf(file)).Must(t) // killed: the key is still there
	second := assert.Get(testConnection("n1").certify(t.Context(), client, again)).Must(t)
	assert.Deep(t, "another certificate", string(first), string(second))
}

// TestRequestName: the name is made as the kubelet makes it, so that either goes on
// with the request of the other. This one was computed apart from both.
func TestRequestName(t *testing.T) {
	const (
		want = "node-csr-1GQx8R_qRheVdJoShYNaveYvz3CgHNfi1QK6XhIELgI"
		file = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIKxJQ3LU2mAB2HegynjO4kMc9pgl5qz3FCm5DycITxxwoAoGCCqGSM49
AwEHoUQDQgAEnNnjMG7bDvaVG0J3WjVCJFZKrIcDPKQqpwvlYlqCpbBOHThqlgzZ
wlGqn6Sos93ZnLDzq7Vkj55TCjFHxizCcA==
-----END EC PRIVATE KEY-----
`
	)
	key := assert.Get(keyutil.ParsePrivateKeyPEM([]byte(file))).Must(t)
	got, err := requestName(public(t, key), subject("n1"), certificate.DefaultKubeletClientGetUsages(key))
	assert.True(t, err == nil && got == want, "%s (%v), want %s", got, err, want)
}

// TestStaleRequest: the cluster remembers a request of this name with another key, or
// one whose certificate has expired; a new key is the way out.
func TestStaleRequest(t *testing.T) {
	client := fake.NewClientset()
	c := testConnection("n1")
	key := assert.Get(keyOf(filepath.Join(t.TempDir(), temporaryKey))).Must(t)
	parsed := assert.Get(keyutil.ParsePrivateKeyPEM(key)).Must(t)
	name := assert.Get(requestName(public(t, parsed), subject("n1"), certificate.DefaultKubeletClientGetUsages(parsed))).Must(t)
	who := subject("n1")
	other := assert.Get(certutil.MakeCSR(newKey(t), &who, nil, nil)).Must(t)
	existing := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{Request: other}}
	existing.Name = name
	assert.Must(t, client.Tracker().Add(existing))
	_, err := c.certify(t.Context(), client, key)
	assert.True(t, isStale(err), "%v: is not known as stale", err)
	assert.True(t, !isStale(nil) && !isStale(errors.New("unauthorized")), "another error is taken for stale")
}

func public(t *testing.T, key any) crypto.PublicKey {
	t.Helper()
	return key.(crypto.Signer).Public()
}

// TestHalfAKey: killed while it wrote the key, the node makes another.
func TestHalfAKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), temporaryKey)
	assert.Must(t, os.WriteFile(file, []byte("-----BEGIN EC PRIV"), 0o600))
	key := assert.Get(keyOf(file)).Must(t)
	assert.True(t, isKey(key), "no key: %q", key)
	info := assert.Get(os.Stat(file)).Must(t)
	assert.Equal(t, 0o600, info.Mode().Perm(), "mode")
}
