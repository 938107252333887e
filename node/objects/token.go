package objects

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// When a token is renewed (A-VOL-5).
const (
	longestTokenUse    = 24 * time.Hour
	renewalPercent     = 80 // of its lifetime
	longestTokenJitter = 10 * time.Second
)

// renewalRetries are the pauses after attempts that failed.
var renewalRetries = wait.Backoff{Duration: 10 * time.Second, Factor: 2, Jitter: 1, Steps: 10, Cap: time.Minute}

// tokens are those of the service accounts of registered pods.
type tokens struct {
	options Options

	// guarded by mu
	mu    sync.Mutex
	known map[types.UID]map[tokenKey]*token // of registered pods
}

// tokenKey is what makes two requests ask for the same token.
type tokenKey struct {
	audience string
	seconds  int64
}

// token is a token and when it is asked for anew.
type token struct {
	text    string // empty: it could not be had yet
	expires time.Time
	renew   time.Time
	pauses  wait.Backoff // before the next attempt, after a failed one
	timer   *time.Timer  // tells the pod that it is time
}

// Token is the token that a volume of the pod shows, bound to the pod. It is asked
// for anew at 80 % of its life or after 24 h; Changed tells when. One that can't be
// renewed is given out as long as it is valid; after a failure Changed tells when to
// ask again, at the latest after two minutes.
func (o *Objects) Token(ctx context.Context, pod *v1.Pod, projection *v1.ServiceAccountTokenProjection) (string, error) {
	return o.tokens.token(ctx, pod, projection)
}

// TokenStatus is Token with the time at which it expires, for a driver of volumes that acts as the pod.
func (o *Objects) TokenStatus(ctx context.Context, pod *v1.Pod, request storagev1.TokenRequest) (authenticationv1.TokenRequestStatus, error) {
	projection := &v1.ServiceAccountTokenProjection{Audience: request.Audience, ExpirationSeconds: request.ExpirationSeconds}
	text, err := o.tokens.token(ctx, pod, projection)
	if err != nil {
		return authenticationv1.TokenRequestStatus{}, err
	}
	return authenticationv1.TokenRequestStatus{Token: text, ExpirationTimestamp: metav1.Time{Time: o.tokens.expiry(pod.UID, keyOf(projection))}}, nil
}

// expiry is that of the token that a registered pod has; zero without one.
func (t *tokens) expiry(pod types.UID, key tokenKey) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.known[pod][key]; have != nil {
		return have.expires
	}
	return time.Time{}
}

func keyOf(projection *v1.ServiceAccountTokenProjection) tokenKey {
	return tokenKey{audience: projection.Audience, seconds: ptr.Deref(projection.ExpirationSeconds, 0)}
}

func (t *tokens) token(ctx context.Context, pod *v1.Pod, projection *v1.ServiceAccountTokenProjection) (string, error) {
	key := keyOf(projection)
	t.mu.Lock()
	have := t.known[pod.UID][key]
	t.mu.Unlock()
	if have != nil && have.text != "" && time.Now().Before(have.renew) {
		return have.text, nil
	}
	answer, err := t.request(ctx, pod, projection)
	if err == nil {
		return t.keep(pod.UID, key, answer), nil
	}
	if have == nil || have.text == "" {
		t.retryLater(pod.UID, key, cmp.Or(have, &token{pauses: renewalRetries}))
		return "", fmt.Errorf("failed to fetch token: %w", err)
	}
	t.options.Log.Warn("token is not renewed", "pod", pod.Name, "namespace", pod.Namespace, "expires", have.expires, "err", err)
	t.retryLater(pod.UID, key, have)
	if time.Now().After(have.expires) {
		return "", fmt.Errorf("token of service account %q expired and refresh failed: %w", pod.Spec.ServiceAccountName, err)
	}
	return have.text, nil
}

func (t *tokens) request(ctx context.Context, pod *v1.Pod, projection *v1.ServiceAccountTokenProjection) (*authenticationv1.TokenRequest, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: projection.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if projection.Audience != "" {
		request.Spec.Audiences = []string{projection.Audience}
	}
	return soon(ctx, func(ctx context.Context) (*authenticationv1.TokenRequest, error) {
		return t.options.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	})
}

// keep files a new token. Its renewal does not hang on this machine's clock being
// that of the API server more than Kubernetes' does.
func (t *tokens) keep(pod types.UID, key tokenKey, answer *authenticationv1.TokenRequest) string {
	lifetime := time.Duration(ptr.Deref(answer.Spec.ExpirationSeconds, 0)) * time.Second
	expires := answer.Status.ExpirationTimestamp.Time
	issued := expires.Add(-lifetime)
	renew := issued.Add(min(lifetime*renewalPercent/100, longestTokenUse)).Add(-rand.N(longestTokenJitter))
	fresh := &token{text: answer.Status.Token, expires: expires, renew: renew, pauses: renewalRetries}
	t.replace(pod, key, fresh, time.Until(renew))
	return fresh.text
}

// retryLater has the pod ask again after a pause.
func (t *tokens) retryLater(pod types.UID, key tokenKey, have *token) {
	next := *have
	t.replace(pod, key, &next, next.pauses.Step())
}

// replace makes a token the one of its key and has the pod told after a time, at
// least a second: a token that is due as soon as it comes must not be asked for
// in a circle. Nothing is kept for a pod that is not registered any more.
func (t *tokens) replace(pod types.UID, key tokenKey, now *token, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.known[pod]
	if known == nil {
		return
	}
	if before := known[key]; before != nil {
		before.timer.Stop()
	}
	now.timer = time.AfterFunc(max(after, time.Second), func() {
		t.options.Changed(pod, lifecycle.Because{Kind: "a-service-account-token-is-due-for-renewal"})
	})
	known[key] = now
}

func (t *tokens) register(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[pod] == nil {
		t.known[pod] = map[tokenKey]*token{}
	}
}

// forget drops the tokens of a pod.
func (t *tokens) forget(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, have := range t.known[pod] {
		have.timer.Stop()
	}
	delete(t.known, pod)
}
