package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/internal/assert"
)

const podWithCertificate = `
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "cat /tls/both.pem; ls -l /tls/..data/; echo all; sleep 3600"],
     volumeMounts: [{name: tls, mountPath: /tls}]}
  volumes:
  - name: tls
    projected:
      defaultMode: 0440
      sources:
      - podCertificate: {signerName: example.com/signer, keyType: ED25519, credentialBundlePath: both.pem}
`

// TestPodCertificate: a pod has a certificate of the key that its node made, once it is
// issued (A-CERT-1, A-CERT-2); one that is denied stays without (A-CERT-5).
func TestPodCertificate(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "PodCertificateRequest")
	c := newCluster(t, shared)
	c.create(strings.ReplaceAll(podWithCertificate, "NAME", "issued"))
	request := c.awaitRequest("issued")
	event := c.awaitEvent("issued", v1.EventTypeWarning, "FailedMount")
	assert.Deep(t, "A-CERT-2 the pod waits with", `MountVolume.SetUp failed for volume "tls" : credential bundle is not issued yet`, event.Message)
	c.decide(request, issue(t, request))
	c.awaitReady("issued")
	c.awaitLine("issued", "all")
	log := c.kubectl("logs", "issued")
	pair, err := tls.X509KeyPair([]byte(log), []byte(log))
	assert.True(t, err == nil && pair.Leaf.Subject.CommonName == "issued", "A-CERT-2 the pod has no certificate with its key: %v\n%s", err, log)
	assert.True(t, strings.Contains(log, "-r--r-----"), "A-CERT-2 the mode of the file:\n%s", log)

	c.create(strings.ReplaceAll(podWithCertificate, "NAME", "denied"))
	request = c.awaitRequest("denied")
	c.decide(request, certificatesv1.PodCertificateRequestStatus{Conditions: []metav1.Condition{{
		Type: certificatesv1.PodCertificateRequestConditionTypeDenied, Status: metav1.ConditionTrue, Reason: "NotYou", Message: "no", LastTransitionTime: metav1.Now(),
	}}})
	event = c.awaitEvent("denied", v1.EventTypeWarning, "Denied")
	want := fmt.Sprintf(`PodCertificateRequest %s/%s was denied, reason="NotYou", message="no"`, c.namespace, request.Name)
	assert.True(t, event.Message == want, "A-CERT-5 event %q, want %q", event.Message, want)
	c.awaitEvents("denied", func(e *v1.Event) bool {
		return e.Message == `MountVolume.SetUp failed for volume "tls" : PodCertificateRequest was permanently denied: reason="NotYou" message="no"`
	})
}

// awaitRequest waits until the node has asked for the certificate of a pod.
func (c *cluster) awaitRequest(pod string) *certificatesv1.PodCertificateRequest {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	list := cache.NewListWatchFromClient(client.CertificatesV1().RESTClient(), "podcertificaterequests", c.namespace, fields.Everything())
	last, err := watchtools.UntilWithSync(ctx, list, &certificatesv1.PodCertificateRequest{}, nil, func(e watch.Event) (bool, error) {
		return e.Object.(*certificatesv1.PodCertificateRequest).Spec.PodName == pod, nil
	})
	assert.Require(c.t, err == nil, "no certificate is asked for by pod %s: %v", pod, err)
	return last.Object.(*certificatesv1.PodCertificateRequest)
}

// decide does what a signer does.
func (c *cluster) decide(request *certificatesv1.PodCertificateRequest, status certificatesv1.PodCertificateRequestStatus) {
	c.t.Helper()
	request = request.DeepCopy()
	request.Status = status
	assert.Must(c.t, assert.ErrorOf(client.CertificatesV1().PodCertificateRequests(c.namespace).UpdateStatus(c.t.Context(), request, metav1.UpdateOptions{})))
}

// issue makes a certificate for an hour.
func issue(t *testing.T, request *certificatesv1.PodCertificateRequest) certificatesv1.PodCertificateRequestStatus {
	t.Helper()
	proof := assert.Get(x509.ParseCertificateRequest(request.Spec.StubPKCS10Request)).Must(t)
	authority := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	from := time.Now().Truncate(time.Second)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(time.Hour)}
	template.Subject.CommonName = request.Spec.PodName
	der := assert.Get(x509.CreateCertificate(rand.Reader, template, template, proof.PublicKey, authority)).Must(t)
	return certificatesv1.PodCertificateRequestStatus{
		Conditions: []metav1.Condition{{
			Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue, Reason: "Issued", LastTransitionTime: metav1.Now(),
		}},
		CertificateChain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		NotBefore:        new(metav1.NewTime(from)), BeginRefreshAt: new(metav1.NewTime(from.Add(30 * time.Minute))), NotAfter: new(metav1.NewTime(from.Add(time.Hour))),
	}
}
