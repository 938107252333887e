package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	config "k8s.io/kubelet/config/v1"

	"github.com/lifepod/lifepod/worker/images"
)

// Tokens are those of pods' service accounts, bound to their pods and kept until
// they have to be made anew (package node/objects).
type Tokens interface {
	Token(ctx context.Context, pod *v1.Pod, projection *v1.ServiceAccountTokenProjection) (string, error)
}

// ServiceAccounts are those of the API server, with their tokens.
type ServiceAccounts interface {
	ServiceAccount(ctx context.Context, namespace, name string) (*v1.ServiceAccount, error)
	Tokens
}

// APIServiceAccounts asks an API server for a service account each time.
type APIServiceAccounts struct {
	Client kubernetes.Interface
	Tokens
}

// ServiceAccount implements ServiceAccounts.
func (a APIServiceAccounts) ServiceAccount(ctx context.Context, namespace, name string) (*v1.ServiceAccount, error) {
	return a.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

// tokenSeconds is how long a token is good, the API's default.
const tokenSeconds int64 = 60 * 60

// accountIdentity is what a plugin is told of the pod's service account; zero for nothing.
type accountIdentity struct {
	token       string
	annotations map[string]string
	account     *images.ServiceAccount
	key         string // for the cache, tells identities apart
}

// identify makes the identity of a pod for a provider that wants one (KEP-4412).
// ok is false if the plugin is not asked for this pod: it has no service account,
// or not the annotations by which it would opt in.
func identify(ctx context.Context, accounts ServiceAccounts, wants *config.ServiceAccountTokenAttributes, pod *v1.Pod) (id accountIdentity, ok bool, err error) {
	if wants == nil {
		return accountIdentity{}, true, nil
	}
	if pod == nil || pod.Spec.ServiceAccountName == "" {
		return accountIdentity{}, !*wants.RequireServiceAccount, nil
	}
	if accounts == nil {
		return accountIdentity{}, false, fmt.Errorf("failed to get service account: there is no API server")
	}
	name := pod.Spec.ServiceAccountName
	account, err := accounts.ServiceAccount(ctx, pod.Namespace, name)
	if err != nil {
		return accountIdentity{}, false, fmt.Errorf("failed to get service account: %w", err)
	}
	annotations, ok := wanted(account.Annotations, wants)
	if !ok {
		return accountIdentity{}, false, nil
	}
	token, err := accounts.Token(ctx, pod, &v1.ServiceAccountTokenProjection{
		Audience: wants.ServiceAccountTokenAudience, ExpirationSeconds: new(tokenSeconds),
	})
	if err != nil {
		return accountIdentity{}, false, fmt.Errorf("failed to get service account token: %w", err)
	}
	id = accountIdentity{token: token, annotations: annotations, account: &images.ServiceAccount{UID: string(account.UID), Namespace: pod.Namespace, Name: name}}
	id.key = id.cacheKey(wants.CacheType)
	return id, true, nil
}

// wanted are the annotations that the plugin is told of; false if a required one
// is missing.
func wanted(all map[string]string, wants *config.ServiceAccountTokenAttributes) (map[string]string, bool) {
	out := map[string]string{}
	for _, key := range wants.RequiredServiceAccountAnnotationKeys {
		value, found := all[key]
		if !found {
			return nil, false
		}
		out[key] = value
	}
	for _, key := range wants.OptionalServiceAccountAnnotationKeys {
		if value, found := all[key]; found {
			out[key] = value
		}
	}
	return out, true
}

// cacheKey has all that credentials depend on, each with its length so that no
// two are taken for one another.
func (id accountIdentity) cacheKey(by config.ServiceAccountTokenCacheType) string {
	parts := []string{id.account.Namespace, id.account.Name, id.account.UID}
	for _, key := range slices.Sorted(maps.Keys(id.annotations)) {
		parts = append(parts, key, id.annotations[key])
	}
	if by == config.TokenServiceAccountTokenCacheType {
		parts = append(parts, id.token)
	}
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
