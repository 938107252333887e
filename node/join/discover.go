package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
)

// Cluster is a cluster whose certificate authority is known.
type Cluster struct {
	Server    string
	Authority []byte // PEM

	token  string
	client kubernetes.Interface // with the token
}

// Patience with a cluster that can't be reached, and with the signature of a token,
// which is made shortly after it; and how often it is looked.
const (
	reachPatience     = 5 * time.Minute
	signaturePatience = 15 * time.Second
	retryDelay        = time.Second
)

// unsigned is the error of a token that cluster-info has no signature of.
type unsigned struct{ id string }

func (e unsigned) Error() string {
	return fmt.Sprintf("the cluster does not know token %s, or it has expired: make one with lifepod token create", e.id)
}

// Discover finds the cluster of an invitation. It waits for a server that can't be
// reached yet; all other errors are final.
func Discover(ctx context.Context, i Invitation, log *slog.Logger) (*Cluster, error) {
	if err := i.validate(); err != nil {
		return nil, err
	}
	first, err := i.awaitInfo(ctx, rest.TLSClientConfig{Insecure: true}, log)
	if err != nil {
		return nil, err
	}
	authority, err := i.verify(first)
	if err != nil {
		return nil, err
	}
	secure := rest.TLSClientConfig{CAData: authority}
	second, err := i.awaitInfo(ctx, secure, log)
	if err != nil {
		return nil, err
	}
	if first.Data[bootstrapapi.KubeConfigKey] != second.Data[bootstrapapi.KubeConfigKey] {
		return nil, fmt.Errorf("what answers at %s says something else when it is verified: somebody is in between", i.Server)
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: i.Server, TLSClientConfig: secure, BearerToken: i.Token})
	if err != nil {
		return nil, err
	}
	return &Cluster{Server: i.Server, Authority: authority, token: i.Token, client: client}, nil
}

// Version is that of Kubernetes which its API server tells.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	info, err := c.client.Discovery().ServerVersionWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the cluster for its version: %w", err)
	}
	return info.GitVersion, nil
}

// awaitInfo reads cluster-info when the server can be reached and has signed it.
func (i Invitation) awaitInfo(ctx context.Context, tls rest.TLSClientConfig, log *slog.Logger) (*v1.ConfigMap, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: i.Server, TLSClientConfig: tls, Timeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	began, logged := time.Now(), ""
	for {
		info, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, bootstrapapi.ConfigMapClusterInfo, metav1.GetOptions{})
		if err == nil && info.Data[bootstrapapi.JWSSignatureKeyPrefix+i.tokenID()] == "" {
			err = unsigned{i.tokenID()}
		}
		if err == nil {
			return info, nil
		}
		if ctx.Err() != nil || time.Since(began) > discoveryPatience(err) {
			return nil, i.explain(err)
		}
		if err.Error() != logged {
			logged = err.Error()
			log.Warn("waiting for the cluster", "server", i.Server, "err", err)
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
		}
	}
}

// discoveryPatience is how long an error may go away by itself.
func discoveryPatience(err error) time.Duration {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &unsigned{}):
		return signaturePatience
	case errors.As(err, &status) && (apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)):
		return signaturePatience // a cluster that has just begun
	case isUntrusted(err):
		return 0
	}
	return reachPatience
}

func (i Invitation) explain(err error) error {
	switch {
	case errors.As(err, &unsigned{}):
		return err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err):
		return fmt.Errorf("the cluster at %s takes no nodes by token: %w", i.Server, err)
	case isUntrusted(err):
		return fmt.Errorf("what answers at %s is not what the cluster's authority vouches for: %w", i.Server, err)
	}
	return fmt.Errorf("reach the cluster at %s: %w", i.Server, err)
}

// verify believes cluster-info, or not.
func (i Invitation) verify(info *v1.ConfigMap) (authority []byte, err error) {
	text := info.Data[bootstrapapi.KubeConfigKey]
	signature := info.Data[bootstrapapi.JWSSignatureKeyPrefix+i.tokenID()]
	if !jws.DetachedTokenIsValid(signature, text, i.tokenID(), i.tokenSecret()) {
		return nil, fmt.Errorf("what answers at %s does not know the token's secret: it is another cluster, or the token is wrong", i.Server)
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("read cluster-info: %w", err)
	}
	for _, cluster := range config.Clusters {
		return i.trusted(cluster.CertificateAuthorityData)
	}
	return nil, errors.New("read cluster-info: it names no cluster")
}

// isUntrusted says whether a server has shown a certificate that doesn't fit: no
// waiting helps.
func isUntrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &unknown) || errors.As(err, &host)
}
