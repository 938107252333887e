package nodes

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/client-go/kubernetes"
)

// Where API servers publish the authorities of client certificates, for servers that act for them.
const (
	authorityMap = "extension-apiserver-authentication"
	authorityKey = "client-ca-file"
)

const (
	authoritiesGood  = time.Minute     // how long they are not asked for again
	authoritiesAgain = 5 * time.Second // the same after they could not be read: nobody's requests are to make more
	authoritiesWait  = 5 * time.Second // for the API server to answer
)

// ClientCA has the cluster's authorities of client certificates, such as that with which an API server shows who it is. They
// are read when a certificate is to be verified.
type ClientCA struct {
	Client kubernetes.Interface
	Log    *slog.Logger

	mu   sync.Mutex
	next time.Time      // they are not read again before
	pool *x509.CertPool // nil: they could not be read yet
}

// Options are for the verification of a certificate; false: there is nothing to verify it with.
func (c *ClientCA) Options() (x509.VerifyOptions, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().After(c.next) {
		pool, err := c.fetch()
		if err != nil {
			c.Log.Warn("can't read the cluster's authorities of client certificates", "err", err)
			c.next = time.Now().Add(authoritiesAgain)
		} else {
			c.pool, c.next = pool, time.Now().Add(authoritiesGood)
		}
	}
	options := requestx509.DefaultVerifyOptions()
	options.Roots = c.pool
	return options, c.pool != nil
}

func (c *ClientCA) fetch() (*x509.CertPool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), authoritiesWait)
	defer cancel()
	found, err := c.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authorityMap, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(found.Data[authorityKey])) {
		return nil, errors.New("ConfigMap kube-system/" + authorityMap + " has no certificate as " + authorityKey)
	}
	return pool, nil
}
