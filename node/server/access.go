package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

const (
	answersKept   = 1024      // of the API server, on who may do what
	largestAsking = 10 * 1024 // bytes of a question whose answer is kept
)

// access asks the API server who may do what, and keeps its answers for a while.
type access struct {
	reviews         authorizationclient.SubjectAccessReviewInterface
	answers         *cache.LRUExpireCache
	keepYes, keepNo time.Duration
}

func newAccess(reviews authorizationclient.SubjectAccessReviewInterface, c kubeletconfig.KubeletWebhookAuthorization) *access {
	return &access{
		reviews: reviews, answers: cache.NewLRUExpireCache(answersKept),
		keepYes: c.CacheAuthorizedTTL.Duration, keepNo: c.CacheUnauthorizedTTL.Duration,
	}
}

// request is what somebody wants to do with this node's API.
type request struct{ node, verb, subresource string }

func (a *access) allowed(ctx context.Context, who user.Info, r request) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.verb, Version: "v1", Resource: "nodes", Subresource: r.subresource, Name: r.node,
		},
	}}
	for key, values := range who.GetExtra() {
		review.Spec.Extra[key] = values
	}
	text, err := json.Marshal(review.Spec)
	if err != nil {
		return false, err
	}
	key := string(text)
	if known, ok := a.answers.Get(key); ok {
		return known.(bool), nil
	}
	var answer *authorizationv1.SubjectAccessReview
	err = ask(ctx, func(ctx context.Context) error {
		answer, err = a.reviews.Create(ctx, review, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return false, err
	}
	allowed, keep := answer.Status.Allowed && !answer.Status.Denied, a.keepNo
	if allowed {
		keep = a.keepYes
	}
	if len(key) <= largestAsking && keep > 0 {
		a.answers.Add(key, allowed, keep)
	}
	return allowed, nil
}

// requests are those under way, also those whose connections were hijacked,
// which a http.Server forgets.
type requests struct {
	mu    sync.Mutex
	count int
	over  chan struct{} // closed when there is none and none may begin any more; nil before end
}

// counted passes requests on until the end.
func (q *requests) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !q.begin() {
			refuse(w, http.StatusServiceUnavailable, "the node's API is ending")
			return
		}
		defer q.done()
		next.ServeHTTP(w, r)
	})
}

func (q *requests) begin() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over != nil {
		return false
	}
	q.count++
	return true
}

func (q *requests) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count--; q.count == 0 && q.over != nil {
		close(q.over)
	}
}

// end lets no more requests begin; what it returns is closed when the last one
// is over. Called once.
func (q *requests) end() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = make(chan struct{})
	if q.count == 0 {
		close(q.over)
	}
	return q.over
}
