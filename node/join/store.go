package join

import (
	"crypto/tls"

	"k8s.io/client-go/util/certificate"
)

// store tells when a certificate was added.
type store struct {
	certificate.FileStore
	updated func()
}

// Update keeps a certificate and makes it the current one.
func (s *store) Update(cert, key []byte) (*tls.Certificate, error) {
	pair, err := s.FileStore.Update(cert, key)
	if err == nil {
		s.updated()
	}
	return pair, err
}
