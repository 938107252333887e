package join

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// renewBefore is how long before its end a self-signed certificate is made anew,
// which happens at a start; the kubelet serves an expired one.
const renewBefore = 30 * 24 * time.Hour

// selfSign makes a certificate for host unless the files have a good one.
func selfSign(certFile, keyFile, host string, now time.Time) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil && now.Before(pair.Leaf.NotAfter.Add(-renewBefore)) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read self-signed certificate %s and key %s: %w", certFile, keyFile, err)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return fmt.Errorf("make self-signed certificate for %s: %w", host, err)
	}
	if err := certutil.WriteCert(certFile, cert); err != nil {
		return fmt.Errorf("write self-signed certificate: %w", err)
	}
	if err := keyutil.WriteKey(keyFile, key); err != nil {
		return fmt.Errorf("write key of self-signed certificate: %w", err)
	}
	return nil
}
