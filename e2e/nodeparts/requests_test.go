package nodeparts

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func parsed(t *testing.T, request []byte) *x509.CertificateRequest {
	t.Helper()
	block, _ := pem.Decode(request)
	out := assert.Get(x509.ParseCertificateRequest(block.Bytes)).Must(t)
	return out
}

func commonName(t *testing.T, request []byte) string { return parsed(t, request).Subject.CommonName }

// approve does what an administrator does with kubectl certificate approve.
func approve(t *testing.T, name string) {
	t.Helper()
	requests := admin(t).CertificatesV1().CertificateSigningRequests()
	request := assert.Get(requests.Get(t.Context(), name, metav1.GetOptions{})).Must(t)
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: v1.ConditionTrue, Reason: "Test", Message: "approved by the test",
	})
	assert.Must(t, assert.ErrorOf(requests.UpdateApproval(t.Context(), name, request, metav1.UpdateOptions{})))
}

// awaitRequest gives the request of a signer that a node's name is on, when it is
// there, other than those seen before.
func awaitRequest(t *testing.T, signer, node string, seen map[string]bool) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	requests := admin(t).CertificatesV1().CertificateSigningRequests()
	// A watch without a version begins with all that there are.
	events := assert.Get(requests.Watch(t.Context(), metav1.ListOptions{})).Must(t)
	defer events.Stop()
	for event := range events.ResultChan() {
		request, ok := event.Object.(*certificatesv1.CertificateSigningRequest)
		if ok && request.Spec.SignerName == signer && !seen[request.Name] && commonName(t, request.Spec.Request) == "system:node:"+node {
			seen[request.Name] = true
			return request
		}
	}
	t.Fatalf("no request of %s for %s", node, signer)
	return nil
}

func restore(t *testing.T, binding *rbacv1.ClusterRoleBinding) {
	t.Helper()
	assert.NoError(t, assert.ErrorOf(admin(t).RbacV1().ClusterRoleBindings().Create(context.Background(), binding, metav1.CreateOptions{})))
}
