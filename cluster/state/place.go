// Package state is an etcd cluster that somebody else runs, with the objects of a
// cluster and what its servers have to agree on.
package state

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Place is where the objects are. Its fields are the flags of kube-apiserver.
type Place struct {
	Endpoints []string // URLs, https://HOST:PORT
	CAFile    string   // that the servers' certificates are signed by; empty: what the machine trusts
	CertFile  string   // shown to the servers; empty: none
	KeyFile   string
	Prefix    string // of all keys; DefaultPrefix if empty
}

// DefaultPrefix is kube-apiserver's.
const DefaultPrefix = "/registry"

// Given says whether there is an etcd to use at all.
func (p Place) Given() bool { return len(p.Endpoints) > 0 }

// Validate says what is wrong with the flags, without asking anybody.
func (p Place) Validate() error {
	if !p.Given() {
		for flag, value := range map[string]string{"--etcd-cafile": p.CAFile, "--etcd-certfile": p.CertFile, "--etcd-keyfile": p.KeyFile} {
			if value != "" {
				return fmt.Errorf("%s is for an etcd that is there: want --etcd-endpoints as well", flag)
			}
		}
		return nil
	}
	for _, endpoint := range p.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Port() == "" || u.Path != "" {
			return fmt.Errorf("--etcd-endpoints %q: want URLs such as https://etcd1.example:2379, with commas between them", endpoint)
		}
	}
	if prefix := p.prefix(); !strings.HasPrefix(prefix, "/") || strings.HasSuffix(prefix, "/") {
		return fmt.Errorf("--etcd-prefix %q: want one that begins with a slash and does not end with one, such as %s", prefix, DefaultPrefix)
	}
	_, err := p.tls()
	return err
}

func (p Place) prefix() string {
	if p.Prefix == "" {
		return DefaultPrefix
	}
	return p.Prefix
}

func (p Place) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.CAFile != "" {
		text, err := os.ReadFile(p.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--etcd-cafile: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--etcd-cafile %s: there is no certificate in PEM in it", p.CAFile)
		}
	}
	if (p.CertFile == "") != (p.KeyFile == "") {
		return nil, errors.New("--etcd-certfile and --etcd-keyfile belong together: want both, or none")
	}
	if p.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--etcd-certfile %s, --etcd-keyfile %s: %w", p.CertFile, p.KeyFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
