package server

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"
)

// clientCA is the file of the authorities whose client certificates count. It is
// looked at whenever a certificate is verified: no watcher, no timer, and a
// certificate of a new authority counts at once.
type clientCA struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	seen    version // that was read last, whether or not it was valid
	options x509.VerifyOptions
}

// version tells one content of a file from another.
type version struct {
	modified time.Time
	size     int64
	inode    uint64
}

func newClientCA(path string, log *slog.Logger) (*clientCA, error) {
	c := &clientCA{path: path, log: log}
	seen, err := c.look()
	if err != nil {
		return nil, fmt.Errorf("authentication.x509.clientCAFile: %w", err)
	}
	pool, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("authentication.x509.clientCAFile: %w", err)
	}
	c.use(seen, pool)
	return c, nil
}

// verifyOptions are those of the file as it is now; of one that can't be read,
// as it was last.
func (c *clientCA) verifyOptions() (x509.VerifyOptions, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, err := c.look()
	if seen == c.seen {
		return c.options, true
	}
	c.seen = seen // reported once
	var pool *x509.CertPool
	if err == nil {
		pool, err = c.read()
	}
	if err != nil {
		c.log.Warn("can't read the client CA file: its former content stays valid", "err", err)
		return c.options, true
	}
	c.use(seen, pool)
	c.log.Info("the client CA file has changed", "file", c.path)
	return c.options, true
}

func (c *clientCA) use(seen version, pool *x509.CertPool) {
	c.seen, c.options = seen, requestx509.DefaultVerifyOptions()
	c.options.Roots = pool
}

func (c *clientCA) look() (version, error) {
	info, err := os.Stat(c.path)
	if err != nil {
		return version{}, err
	}
	return version{info.ModTime(), info.Size(), info.Sys().(*syscall.Stat_t).Ino}, nil
}

func (c *clientCA) read() (*x509.CertPool, error) {
	text, err := os.ReadFile(c.path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", c.path)
	}
	return pool, nil
}
