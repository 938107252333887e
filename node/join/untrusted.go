package join

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// isUntrusted says whether a server has shown a certificate that doesn't fit: no
// waiting helps.
func isUntrusted(err error) bool {
	var verification *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &unknown) || errors.As(err, &host)
}
