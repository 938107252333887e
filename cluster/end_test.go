package cluster

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/internal/assert"
)

// hold makes a request to a webhook that doesn't answer, and returns when it is there. The API server
// gives such a webhook up after 30 s.
func (s *testCluster) hold(t *testing.T) (givenUp <-chan struct{}) {
	t.Helper()
	asked, gone, answer := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raise(asked)
		select {
		case <-r.Context().Done():
			raise(gone)
		case <-answer:
		}
	}))
	t.Cleanup(func() {
		close(answer)
		server.Close()
	})
	hook := admission.ValidatingWebhook{
		Name: "slow.example.com", SideEffects: new(admission.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
		ClientConfig: admission.WebhookClientConfig{URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
		Rules: []admission.RuleWithOperations{{
			Operations: []admission.OperationType{admission.Create},
			Rule:       admission.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
		}},
	}
	assert.Must(t, assert.ErrorOf(s.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(),
		&admission.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Webhooks: []admission.ValidatingWebhook{hook}}, metav1.CreateOptions{})))
	patience := time.After(time.Minute)
	for { // the API server needs a moment to know the webhook
		go func() {
			_, _ = s.client.CoreV1().Secrets("default").Create(t.Context(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "held-"}}, metav1.CreateOptions{})
		}()
		select {
		case <-asked:
			return gone
		case <-time.After(100 * time.Millisecond):
		case <-patience:
			t.Fatal("the webhook is not asked")
		}
	}
}

// raise notes in a channel with one place that something has happened.
func raise(happened chan<- struct{}) {
	select {
	case happened <- struct{}{}:
	default:
	}
}

// A cluster ends although others watch, also by connections of their own, and it does not wait for
// a request that waits for a webhook. Each watch ends.
func TestEndsWhileWatched(t *testing.T) {
	s := startCluster(t, Config{Disable: withoutNode})
	var watches []watch.Interface
	for range 3 {
		w := assert.Get(s.client.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})).Must(t)
		first := <-w.ResultChan() // it is open: each cluster has ConfigMaps
		assert.Require(t, first.Type == watch.Added, "the watch begins with %v", first)
		watches = append(watches, w)
	}
	s.end()
	select {
	case err := <-s.ended:
		assert.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	for _, w := range watches {
		for e := range w.ResultChan() {
			assert.True(t, e.Type != watch.Error, "the watch ends with %v", e.Object)
		}
	}
}

func TestEndsWhileRequested(t *testing.T) {
	s := startCluster(t, Config{Disable: withoutNode})
	givenUp := s.hold(t)
	s.end()
	select {
	case err := <-s.ended:
		assert.NoError(t, err)
	case <-givenUp:
		t.Error("it waits until the webhook is given up")
	}
}
