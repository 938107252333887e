package server

import (
	"context"
	"errors"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// newCertificates authenticates users by their client certificates; nil: none count.
func newCertificates(c *Config) (authenticator.Request, error) {
	authorities, file := c.Access.ClientCA, c.Kubelet.Authentication.X509.ClientCAFile
	switch {
	case authorities != nil:
	case file == "":
		return nil, nil
	default:
		ca, err := newClientCA(file, c.Log)
		if err != nil {
			return nil, err
		}
		authorities = ca.verifyOptions
	}
	return x509.NewDynamic(authorities, x509.CommonNameUserConversion), nil
}

// newAuthenticator is the union that the kubelet builds of
// k8s.io/apiserver/pkg/authentication/authenticatorfactory, of the same parts;
// that package itself would double the agent's memory by what it imports.
func newAuthenticator(c *Config, certificates authenticator.Request) (authenticator.Request, error) {
	var ways []authenticator.Request
	if certificates != nil {
		ways = append(ways, certificates)
	}
	if on(c.Kubelet.Authentication.Webhook.Enabled) {
		if c.Client == nil {
			return nil, errors.New("authentication.webhook: no client provided, cannot use webhook authentication: without --kubeconfig set enabled to false")
		}
		keep := c.Kubelet.Authentication.Webhook.CacheTTL.Duration
		tokens := cache.New(&tokenReviews{c.Client.AuthenticationV1().TokenReviews()}, false, keep, keep)
		ways = append(ways, bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens))
	}
	var everybody authenticator.Request
	if enabled := c.Kubelet.Authentication.Anonymous.Enabled; enabled != nil && *enabled {
		everybody = anonymous.NewAuthenticator(nil)
	}
	switch {
	case len(ways) == 0 && everybody == nil:
		return nil, errors.New("authentication: no authentication method configured: want a clientCAFile, webhook or anonymous")
	case len(ways) == 0:
		return everybody, nil
	}
	known := group.NewAuthenticatedGroupAdder(union.New(ways...))
	if everybody == nil {
		return known, nil
	}
	return union.NewFailOnError(known, everybody), nil
}

// tokenReviews has the API server say whose a token is.
type tokenReviews struct {
	client authenticationclient.TokenReviewInterface
}

// AuthenticateToken asks for one token.
func (t *tokenReviews) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	var review *authenticationv1.TokenReview
	err := ask(ctx, func(ctx context.Context) (err error) {
		review, err = t.client.Create(ctx, &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if !review.Status.Authenticated {
		if review.Status.Error != "" {
			err = errors.New(review.Status.Error)
		}
		return nil, false, err
	}
	who := review.Status.User
	extra := map[string][]string{}
	for key, values := range who.Extra {
		extra[key] = values
	}
	return &authenticator.Response{User: &user.DefaultInfo{
		Name: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra,
	}}, true, nil
}

// patience is how long one question to the API server may take altogether:
// whoever asks the node's API waits for it.
const patience = 10 * time.Second

// ask puts a question to the API server, again when that may help: five times
// in about four seconds, as the kubelet does.
func ask(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	pauses := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
	err := wait.ExponentialBackoffWithContext(ctx, pauses, func(ctx context.Context) (bool, error) {
		last = question(ctx)
		return last == nil || !passing(last), nil
	})
	if last != nil {
		return last
	}
	return err
}

// passing errors may be over at the next attempt.
func passing(err error) bool {
	if utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		utilnet.IsProbableEOF(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) {
		return true
	}
	_, asked := apierrors.SuggestsClientDelay(err)
	return asked
}
