package objects

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

// issuer gives out numbered tokens and keeps what was asked for.
type issuer struct {
	requests []*authenticationv1.TokenRequest
	refuse   []error // the next answers
}

func (w *world) issue() *issuer {
	i := &issuer{}
	w.Register(newPod("p1"))
	w.client.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, runtime.Object, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.away {
			return true, nil, errAway
		}
		if len(i.refuse) > 0 {
			err := i.refuse[0]
			i.refuse = i.refuse[1:]
			return true, nil, err
		}
		request := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
		i.requests = append(i.requests, request.DeepCopy())
		seconds := ptr.Deref(request.Spec.ExpirationSeconds, 3600)
		request.Spec.ExpirationSeconds = &seconds
		request.Status = authenticationv1.TokenRequestStatus{
			Token: fmt.Sprint("token-", len(i.requests)), ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Duration(seconds) * time.Second)),
		}
		return true, request, nil
	})
	return i
}

func tokenOf(seconds int64) *v1.ServiceAccountTokenProjection {
	return &v1.ServiceAccountTokenProjection{Audience: "vault", ExpirationSeconds: &seconds, Path: "token"}
}

func (w *world) token(t *testing.T, p *v1.ServiceAccountTokenProjection) string {
	t.Helper()
	token, err := w.Token(t.Context(), newPod("p1"), p)
	if err != nil {
		return err.Error()
	}
	return token
}

// TestTokenRequest: A-VOL-5, the token is bound to the pod.
func TestTokenRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.Unregister("p1")
		i := w.issue()
		for _, p := range []*v1.ServiceAccountTokenProjection{tokenOf(3607), tokenOf(3607), tokenOf(600), {Path: "plain"}} {
			assert.NoError(t, assert.ErrorOf(w.Token(t.Context(), newPod("p1"), p)))
		}
		pod := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: "pod-p1", UID: "p1"}
		want := []authenticationv1.TokenRequestSpec{
			{Audiences: []string{"vault"}, ExpirationSeconds: ptr.To[int64](3607), BoundObjectRef: pod},
			{Audiences: []string{"vault"}, ExpirationSeconds: ptr.To[int64](600), BoundObjectRef: pod},
			{BoundObjectRef: pod},
		}
		var got []authenticationv1.TokenRequestSpec
		for _, r := range i.requests {
			got = append(got, r.Spec)
		}
		assert.Deep(t, "requests", want, got)
	})
}

// TestTokenIsRenewed: A-VOL-5, at 80 % of its life or after 24 h, up to 10 s sooner.
func TestTokenIsRenewed(t *testing.T) {
	for lifetime, want := range map[time.Duration]time.Duration{time.Hour: 48 * time.Minute, 100 * 24 * time.Hour: 24 * time.Hour} {
		inWorld(t, func(t *testing.T, w *world) {
			defer w.Unregister("p1")
			w.issue()
			p := tokenOf(int64(lifetime.Seconds()))
			assert.Equal(t, "token-1", w.token(t, p), "first")
			time.Sleep(want - 11*time.Second)
			synctest.Wait()
			changes := w.hears()
			assert.True(t, changes == nil && w.token(t, p) == "token-1", "told %q and token renewed, too soon", changes)
			time.Sleep(12 * time.Second)
			synctest.Wait()
			assert.Deep(t, "told", []string{"p1: a service account token is due for renewal"}, w.hears())
			assert.Equal(t, "token-2", w.token(t, p), "then")
		})
	}
}

// TestTokenWhileAway: one that can't be renewed is good until it expires; it is
// asked for again after pauses, and not in a hurry.
func TestTokenWhileAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.Unregister("p1")
		w.issue()
		p := tokenOf(3600)
		w.token(t, p)
		w.setAway(true)
		assert.Equal(t, "failed to fetch token: connection refused", w.token(t, tokenOf(700)), "first token while away")
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		changes := 0
		for range 9 { // minutes
			for range w.hears() {
				changes++
				assert.Equal(t, "token-1", w.token(t, p), "token")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		assert.True(t, changes >= 2 && changes <= 8, "told %d times in 9 minutes", changes)
		time.Sleep(2 * time.Minute)
		got, want := w.token(t, p), `token of service account "default" expired and refresh failed: connection refused`
		assert.True(t, got == want, "%q, want %q", got, want)
		w.setAway(false)
		assert.Equal(t, "token-2", w.token(t, p), "back again")
	})
}

// TestFirstTokenWhileAway: the pod hears when to ask again.
func TestFirstTokenWhileAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.Unregister("p1")
		w.issue()
		w.setAway(true)
		w.token(t, tokenOf(600))
		time.Sleep(2 * renewalRetries.Duration)
		synctest.Wait()
		assert.Deep(t, "told", []string{"p1: a service account token is due for renewal"}, w.hears())
		w.setAway(false)
		assert.Equal(t, "token-1", w.token(t, tokenOf(600)), "token")
	})
}

// TestTokenAfterTheEnd: nothing is kept of a pod that is gone.
func TestTokenAfterTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.issue()
		w.token(t, tokenOf(600))
		w.Unregister("p1")
		assert.Equal(t, "token-2", w.token(t, tokenOf(600)), "token")
		time.Sleep(time.Hour)
		changes := w.hears()
		assert.True(t, changes == nil && len(w.tokens.known) == 0, "told %q, and %d pods kept", changes, len(w.tokens.known))
	})
}

// TestNewPodIsNotKnownYet: the API server's authorizer and admission may be behind.
func TestNewPodIsNotKnownYet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.Unregister("p1")
		i := w.issue()
		i.refuse = []error{
			apierrors.NewForbidden(v1.Resource("serviceaccounts"), "default", nil),
			apierrors.NewNotFound(v1.Resource("pod"), "pod-p1"),
		}
		assert.Equal(t, "token-1", w.token(t, tokenOf(600)), "token")
		began := time.Now()
		i.refuse = []error{apierrors.NewNotFound(v1.Resource("serviceaccounts"), "default")}
		got, want := w.token(t, tokenOf(601)), `failed to fetch token: serviceaccounts "default" not found`
		assert.True(t, got == want && time.Since(began) == 0, "a missing service account: %q after %v, want %q at once", got, time.Since(began), want)
	})
}
