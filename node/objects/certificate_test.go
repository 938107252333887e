package objects

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

// signer decides on the PodCertificateRequests of a world.
type signer struct {
	*world
	t *testing.T

	pod    *v1.Pod
	asked  []*certificatesv1.PodCertificateRequest
	refuse error // the next request
	events []string
}

// newSigner is that of a pod with one podCertificate source; test runs in its time.
func newSigner(t *testing.T, gate bool, test func(s *signer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		s := &signer{world: newWorld(t, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default", UID: "account"}}), t: t}
		s.world.Objects.certificates.options.PodCertificates = gate
		s.world.Objects.certificates.options.Node = func() *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node"}} }
		s.world.Objects.certificates.options.Warn = func(_ *v1.Pod, reason, message string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, reason+": "+message)
		}
		s.client.PrependReactor("create", "podcertificaterequests", s.name)
		s.pod = newPod("p1", v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{PodCertificate: &v1.PodCertificateProjection{
			SignerName: "example.com/signer", KeyType: "ECDSAP256", MaxExpirationSeconds: new(int32(7200)), UserAnnotations: map[string]string{"example.com/a": "b"},
		}}}}})
		s.Register(s.pod)
		defer s.Unregister("p1")
		synctest.Wait()
		test(s)
	})
}

// name gives requests their names, as an API server does.
func (s *signer) name(a clienttesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refuse; err != nil {
		s.refuse = nil
		return true, nil, err
	}
	request := a.(clienttesting.CreateAction).GetObject().(*certificatesv1.PodCertificateRequest)
	request.Name = fmt.Sprint(request.GenerateName, len(s.asked)+1)
	s.asked = append(s.asked, request.DeepCopy())
	return false, nil, nil
}

// shows is what the pod's volume shows, or the error.
func (s *signer) shows() (volumes.Credentials, string) {
	s.t.Helper()
	have, err := s.PodCertificate(s.t.Context(), s.pod, &s.pod.Spec.Volumes[0], 0)
	return have, text(err)
}

func (s *signer) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// answer decides on the newest request.
func (s *signer) answer(status certificatesv1.PodCertificateRequestStatus) {
	s.t.Helper()
	request := s.asked[s.requests()-1].DeepCopy()
	request.Status = status
	assert.Must(s.t, assert.ErrorOf(s.client.CertificatesV1().PodCertificateRequests("ns").UpdateStatus(s.t.Context(), request, metav1.UpdateOptions{})))
	synctest.Wait()
}

// issue answers with a certificate for two hours, to be renewed after one.
func (s *signer) issue(content string) {
	s.t.Helper()
	s.answer(certificatesv1.PodCertificateRequestStatus{
		Conditions:       []metav1.Condition{{Type: certificatesv1.PodCertificateRequestConditionTypeIssued, Status: metav1.ConditionTrue}},
		CertificateChain: "text\n" + certificate(content), BeginRefreshAt: new(metav1.NewTime(time.Now().Add(time.Hour))), NotAfter: new(metav1.NewTime(time.Now().Add(2 * time.Hour))),
	})
}

// wantShown wants a certificate, and a key that the request for it proves.
func (s *signer) wantShown(content string, request int) {
	s.t.Helper()
	have, failure := s.shows()
	if string(have.Chain) != certificate(content) {
		s.t.Errorf("A-CERT-2 the volume shows %q %s, want %s", have.Chain, failure, content)
		return
	}
	block, rest := pem.Decode(have.Key)
	assert.Require(s.t, block != nil && block.Type == "PRIVATE KEY" && len(rest) == 0, "A-CERT-2 the key is %q", have.Key)
	key := assert.Get(x509.ParsePKCS8PrivateKey(block.Bytes)).Must(s.t)
	proof, err := x509.ParseCertificateRequest(s.asked[request-1].Spec.StubPKCS10Request)
	if err == nil {
		err = proof.CheckSignature()
	}
	public := publicOf(key)
	assert.True(s.t, err == nil && public.Equal(proof.PublicKey), "A-CERT-1 the request proves another key than the volume's: %v", err)
}

func (s *signer) wantEvents(rule string, want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.True(s.t, slices.Equal(s.events, want), "%s events %q, want %q", rule, s.events, want)
	s.events = nil
}

func (s *signer) wantState(want string) {
	s.t.Helper()
	s.States(func(name, state string) {
		assert.True(s.t, name == "example.com/signer" && state == want, "A-CERT-6 the metric has %s %s, want %s", name, state, want)
	})
}

// sleep lets time pass, and the pod ask whenever it is told to.
func (s *signer) sleep(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); {
		time.Sleep(min(time.Minute, time.Until(until)))
		synctest.Wait()
		if len(s.hears()) > 0 {
			s.shows()
		}
	}
}

func TestCertificateRequest(t *testing.T) {
	newSigner(t, true, func(s *signer) {
		_, failure := s.shows()
		assert.True(t, failure == "credential bundle is not issued yet", "A-CERT-2 %q", failure)
		s.wantState("not_yet_issued")
		s.shows()
		n := s.requests()
		assert.Require(t, n == 1, "A-CERT-1 %d requests, want 1", n)
		got := s.asked[0]
		want := certificatesv1.PodCertificateRequestSpec{
			SignerName: "example.com/signer", PodName: "pod-p1", PodUID: "p1", ServiceAccountName: "default", ServiceAccountUID: "account",
			NodeName: "node-1", NodeUID: "node", MaxExpirationSeconds: new(int32(7200)), UnverifiedUserAnnotations: map[string]string{"example.com/a": "b"},
			StubPKCS10Request: got.Spec.StubPKCS10Request,
		}
		assert.Deep(t, "A-CERT-1", want, got.Spec)
		diff := cmp.Diff([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod-p1", UID: "p1"}}, got.OwnerReferences)
		assert.True(t, diff == "" && got.GenerateName == "req-", "A-CERT-1 named %s, owned (-want +got):\n%s", got.GenerateName, diff)
		s.issue("A")
		assert.Deep(t, "told", []string{"p1: PodCertificateRequest ns/req-1 is issued"}, s.hears())
		s.wantShown("A", 1)
		s.wantState("fresh")
	})
}

func TestKeyTypes(t *testing.T) {
	for kind, want := range map[string]string{
		"RSA3072": "*rsa.PrivateKey 384", "RSA4096": "*rsa.PrivateKey 512", "ECDSAP256": "*ecdsa.PrivateKey P-256",
		"ECDSAP384": "*ecdsa.PrivateKey P-384", "ECDSAP521": "*ecdsa.PrivateKey P-521", "ED25519": "ed25519.PrivateKey", "DSA": `unknown key type "DSA"`,
	} {
		key, err := newKey(kind)
		assert.Equal(t, want, describeKey(key, err), "A-CERT-1 %s is", kind)
	}
}

// TestCertificateIsRenewed: from the time on that the signer has named, while the old one is shown.
func TestCertificateIsRenewed(t *testing.T) {
	newSigner(t, true, func(s *signer) {
		s.shows()
		s.issue("A")
		s.sleep(time.Hour - time.Second)
		n := s.requests()
		assert.True(t, n == 1, "A-CERT-3 %d requests before the renewal is due", n)
		s.sleep(longestCertificateJitter + time.Minute)
		n = s.requests()
		assert.Require(t, n == 2, "A-CERT-3 %d requests when the renewal is due, want 2", n)
		s.wantShown("A", 1)
		s.issue("B")
		s.wantShown("B", 2)
		s.wantEvents("A-CERT-3")
		assert.True(t, !bytes.Equal(s.asked[0].Spec.StubPKCS10Request, s.asked[1].Spec.StubPKCS10Request), "A-CERT-3 the renewal has the same key")
	})
}

// TestSlowSigner: its pod has events, and goes on with what it has.
func TestSlowSigner(t *testing.T) {
	newSigner(t, true, func(s *signer) {
		s.shows()
		s.issue("A")
		s.sleep(time.Hour + overdueAfter - time.Minute)
		s.wantEvents("A-CERT-3")
		s.sleep(longestCertificateJitter + 2*time.Minute)
		s.wantEvents("A-CERT-3", "CertificateOverdueForRefresh: PodCertificate refresh overdue")
		s.wantState("overdue_for_refresh")
		s.sleep(time.Hour)
		s.wantEvents("A-CERT-3", "CertificateExpired: PodCertificate expired")
		s.wantState("expired")
		s.wantShown("A", 1)
		s.issue("B")
		s.wantShown("B", 2)
	})
}

func TestRefusedCertificate(t *testing.T) {
	for kind, want := range map[string]struct{ why, event, state string }{
		certificatesv1.PodCertificateRequestConditionTypeDenied: {
			`PodCertificateRequest was permanently denied: reason="No" message="not you"`, `Denied: PodCertificateRequest ns/req-1 was denied, reason="No", message="not you"`, "denied",
		},
		certificatesv1.PodCertificateRequestConditionTypeFailed: {
			`PodCertificateRequest was permanently failed: reason="No" message="not you"`, `Failed: PodCertificateRequest ns/req-1 failed, reason="No", message="not you"`, "failed",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			newSigner(t, true, func(s *signer) {
				s.shows()
				s.answer(certificatesv1.PodCertificateRequestStatus{Conditions: []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: "No", Message: "not you"}}})
				_, err := s.PodCertificate(t.Context(), s.pod, &s.pod.Spec.Volumes[0], 0)
				assert.True(t, errors.As(err, new(*volumes.RefusedError)) && err.Error() == want.why, "A-CERT-5 error = %v, want %s", err, want.why)
				s.wantEvents("A-CERT-5", want.event)
				s.wantState(want.state)
				s.sleep(24 * time.Hour)
				assert.Equal(t, 1, s.requests(), "A-CERT-5 requests")
			})
		})
	}
}

// TestDeletedRequest: seen, or while nothing was seen.
func TestDeletedRequest(t *testing.T) {
	newSigner(t, true, func(s *signer) {
		s.shows()
		assert.Must(t, s.client.CertificatesV1().PodCertificateRequests("ns").Delete(t.Context(), "req-1", metav1.DeleteOptions{}))
		synctest.Wait()
		assert.Deep(t, "A-CERT-4 told", []string{"p1: PodCertificateRequest ns/req-1 was deleted"}, s.hears())
		s.shows()
		s.mu.Lock()
		delete(s.certificates.watch.now, "ns/req-2") // its deletion was missed
		s.mu.Unlock()
		s.sleep(requestGoneAfter - time.Minute)
		n := s.requests()
		assert.True(t, n == 2, "A-CERT-4 %d requests, want 2", n)
		s.sleep(longestCertificateJitter + 2*time.Minute)
		assert.Equal(t, 3, s.requests(), "A-CERT-4 requests")
		s.issue("A")
		s.wantShown("A", 3)
	})
}

// TestCertificateNotAskedFor: the pod hears when to try again.
func TestCertificateNotAskedFor(t *testing.T) {
	newSigner(t, true, func(s *signer) {
		s.refuse = errors.New("the API is off")
		_, failure := s.shows()
		assert.True(t, failure == "credential bundle is not issued yet: while creating PodCertificateRequest: the API is off", "A-CERT-2 %q", failure)
		time.Sleep(time.Second)
		changes := s.hears()
		assert.True(t, len(changes) == 1 && strings.Contains(changes[0], "is due"), "told %q", changes)
		s.shows()
		s.issue("A")
		s.wantShown("A", 1)
	})
}

func TestCertificateGateIsOff(t *testing.T) {
	newSigner(t, false, func(s *signer) {
		_, err := s.PodCertificate(t.Context(), s.pod, &s.pod.Spec.Volumes[0], 0)
		assert.True(t, errors.As(err, new(*volumes.RefusedError)) && strings.Contains(err.Error(), "feature gate PodCertificateRequest"),
			"A-CERT-1 error = %v", err)
		begun, _ := s.opened()
		assert.True(t, begun == 0 && s.requests() == 0, "%d watches and %d requests without the gate", begun, s.requests())
	})
}

// TestRequestsAreNotWatchedWithoutPods: the watch ends with the last pod.
func TestRequestsAreNotWatchedWithoutPods(t *testing.T) {
	newSigner(t, true, func(s *signer) {
		s.Unregister("p1")
		synctest.Wait()
		begun, open := s.opened()
		assert.True(t, begun == 1 && open == 0, "%d watches begun, %d open", begun, open)
		_, failure := s.shows()
		assert.True(t, failure == "no pod with this podCertificate source is registered", "%q", failure)
	})
}

// publicKey is what all kinds of public keys have.
type publicKey interface{ Equal(crypto.PublicKey) bool }

func publicOf(key any) publicKey { return key.(crypto.Signer).Public().(publicKey) }

// describeKey is the type of a key and its size, or the error.
func describeKey(key crypto.Signer, err error) string {
	if err != nil {
		return err.Error()
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return fmt.Sprintf("%T %d", k, k.Size())
	case *ecdsa.PrivateKey:
		return fmt.Sprintf("%T %s", k, k.Curve.Params().Name)
	case ed25519.PrivateKey:
	}
	return fmt.Sprintf("%T", key)
}
