package objects

import (
	"fmt"
	"math/rand/v2"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// When a certificate of a pod is asked for anew (A-CERT-3, A-CERT-4).
const (
	longestCertificateJitter = 5 * time.Minute
	requestGoneAfter         = 10 * time.Minute // it is not seen in the API
	overdueAfter             = 10 * time.Minute // of the time from which it is renewed
	remindEvery              = time.Minute      // that it is due
)

// requestRetries are the pauses after requests that could not be made.
var requestRetries = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 20, Cap: time.Minute}

// podCertificate is what one source shows, and how the next one comes about. It is guarded
// by certificates.mu.
type podCertificate struct {
	// immutable
	pod    *v1.Pod
	signer string

	shown      *issued               // nil: none yet
	asked      *asked                // nil: no request waits for its signer
	refused    *volumes.RefusedError // for good
	verdict    string                // of refused, as the metric has it
	cause      error                 // of the last attempt to ask
	requesting bool                  // the request is being made
	retry      time.Time             // zero: no attempt has failed
	pauses     wait.Backoff          // before the next one
	again      time.Time             // when the pod is told again that it is due
	timer      *time.Timer
}

// news are what others are told.
type news struct {
	because lifecycle.Because // the pod should look again at its volumes; zero: it need not
	events  []podEvent
}

type podEvent struct{ reason, message string }

// issued is a certificate with its key.
type issued struct {
	volumes.Credentials
	renew, expires time.Time

	overdueReported, expiredReported bool // events
}

// asked is a request that waits for its signer.
type asked struct {
	name  string
	key   []byte        // PEM
	gone  time.Time     // when it is taken for deleted unless it is seen
	heard chan struct{} // closed when it is decided
}

// due says whether it is time to ask for a certificate.
func (have *podCertificate) due(now time.Time) bool {
	switch {
	case have.refused != nil || have.asked != nil || now.Before(have.retry):
		return false
	case have.shown == nil:
		return true
	}
	return !now.Before(have.shown.renew)
}

// decide takes over what the signer has made of the request.
func (have *podCertificate) decide(request *certificatesv1.PodCertificateRequest) news {
	name := request.Namespace + "/" + request.Name
	for _, condition := range request.Status.Conditions {
		switch condition.Type {
		case certificatesv1.PodCertificateRequestConditionTypeDenied:
			return have.refuse("denied", lifecycle.Because{Kind: "was-denied", Text: "PodCertificateRequest " + name}, condition)
		case certificatesv1.PodCertificateRequestConditionTypeFailed:
			return have.refuse("failed", lifecycle.Because{Kind: "request-failed", Text: "PodCertificateRequest " + name}, condition)
		case certificatesv1.PodCertificateRequestConditionTypeIssued:
			have.shown = &issued{Credentials: volumes.Credentials{Key: have.asked.key, Chain: onlyCertificates([]byte(request.Status.CertificateChain))}}
			if at := request.Status.BeginRefreshAt; at != nil {
				have.shown.renew = at.Add(rand.N(longestCertificateJitter))
			}
			if at := request.Status.NotAfter; at != nil {
				have.shown.expires = at.Time
			}
			have.answered()
			return news{because: lifecycle.Because{Kind: "is-issued", Text: "PodCertificateRequest " + name}}
		}
	}
	return news{}
}

// refuse is for good: the pod gets no certificate any more.
func (have *podCertificate) refuse(verdict string, what lifecycle.Because, condition metav1.Condition) news {
	have.verdict = verdict
	have.refused = &volumes.RefusedError{
		Why: fmt.Sprintf("PodCertificateRequest was permanently %s: reason=%q message=%q", verdict, condition.Reason, condition.Message),
	}
	have.answered()
	event := podEvent{condition.Type, fmt.Sprintf("%s, reason=%q, message=%q", what, condition.Reason, condition.Message)}
	return news{because: what, events: []podEvent{event}}
}

// answered ends the wait for a request.
func (have *podCertificate) answered() {
	close(have.asked.heard)
	have.asked = nil
}

// look finds what is too late by now.
func (have *podCertificate) look(now time.Time) (happened news) {
	s := have.shown
	if s == nil || have.refused != nil {
		return news{}
	}
	if now.After(s.renew.Add(overdueAfter)) && !s.overdueReported {
		s.overdueReported = true
		happened.events = append(happened.events, podEvent{"CertificateOverdueForRefresh", "PodCertificate refresh overdue"})
	}
	if now.After(s.expires) && !s.expiredReported {
		s.expiredReported = true
		happened.events = append(happened.events, podEvent{"CertificateExpired", "PodCertificate expired"})
	}
	return happened
}

// next is when to look at it again.
func (have *podCertificate) next() time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	switch {
	case have.refused != nil:
		return time.Time{}
	case have.asked != nil:
		sooner(have.asked.gone)
	case !have.retry.IsZero():
		sooner(latest(have.retry, have.again))
	case have.shown != nil:
		sooner(latest(have.shown.renew, have.again))
	}
	const after = time.Millisecond // look looks for what is past
	if s := have.shown; s != nil && !s.overdueReported {
		sooner(s.renew.Add(overdueAfter + after))
	}
	if s := have.shown; s != nil && !s.expiredReported {
		sooner(s.expires.Add(after))
	}
	return next
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// state is the one of the metric kubelet_podcertificate_states.
func (have *podCertificate) state(now time.Time) string {
	switch {
	case have.refused != nil:
		return have.verdict
	case have.shown == nil:
		return "not_yet_issued"
	case now.After(have.shown.expires):
		return "expired"
	case now.After(have.shown.renew.Add(overdueAfter)):
		return "overdue_for_refresh"
	}
	return "fresh"
}
