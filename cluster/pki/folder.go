package pki

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// Names of the pairs NAME.crt and NAME.key.
const (
	caName         = "ca"
	frontProxyCA   = "front-proxy-ca"
	frontProxyName = "front-proxy-client"
	servingName    = "apiserver"
	kubeletClient  = "apiserver-kubelet-client"
	nodeServing    = "node"
	serviceAccount = "service-account"
)

// FrontProxyUser is whom aggregated API servers see calling.
const FrontProxyUser = "front-proxy-client"

// mastersGroup may do everything, whatever RBAC says.
const mastersGroup = "system:masters"

// Config is what the certificates are for.
type Config struct {
	Dir       string   // made with mode 0700 if it is not there
	Names     []string // DNS names of the API server, beside those that every cluster has
	Addresses []net.IP // of the API server, that of the service "kubernetes" included

	Node          string   // of this machine; "" for none
	NodeAddresses []net.IP // at which the API server calls it

	Now func() time.Time // time.Now if nil

	// Renewed is called when Refresh has written a kubeconfig again; may be nil.
	Renewed func()
}

// Folder is the keys of one cluster.
type Folder struct {
	Config
	ca, proxyCA *authority
	kubeconfigs []kubeconfig // kept by Refresh
}

// ServiceNames are the API server's in every cluster.
var ServiceNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}

// Open reads the folder and makes what is not there. All files have mode 0600.
func Open(c Config) (*Folder, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	f := &Folder{Config: c}
	if err := rootfolder.Ensure(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of keys: %w", err)
	}
	// The first time, most of it is waiting for the disk: what is written side by side shares that.
	var all errgroup.Group
	all.Go(func() (err error) {
		f.ca, err = f.authority(caName, "lifepod-ca")
		return err
	})
	all.Go(func() (err error) {
		f.proxyCA, err = f.authority(frontProxyCA, "lifepod-front-proxy-ca")
		return err
	})
	all.Go(f.tokenKey)
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return f, f.Refresh()
}

// signed is a pair that one of the authorities signs.
type signed struct {
	file string
	by   *authority
	leaf leaf
}

func (f *Folder) signed() []signed {
	list := []signed{
		{frontProxyName, f.proxyCA, leaf{name: FrontProxyUser}},
		{kubeletClient, f.ca, leaf{name: "kube-apiserver-kubelet-client", groups: []string{mastersGroup}}},
		{servingName, f.ca, leaf{name: "kube-apiserver", names: slices.Concat(ServiceNames, f.Names), addresses: f.Addresses}},
	}
	if f.Node != "" {
		l := nodeLeaf(f.Node)
		l.names, l.addresses = []string{f.Node}, f.NodeAddresses
		list = append(list, signed{nodeServing, f.ca, l})
	}
	return list
}

// Refresh makes again what has expired, will do so within a third of its time, or
// is not for the configured names any more: certificates, and the kubeconfig files
// that were asked for before.
func (f *Folder) Refresh() error {
	var all errgroup.Group
	for _, s := range f.signed() {
		all.Go(func() error {
			if err := f.refresh(s); err != nil {
				return fmt.Errorf("renew %s: %w", f.path(s.file+".crt"), err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, k := range f.kubeconfigs {
		if err := f.refreshKubeconfig(k); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) refresh(s signed) error {
	if p, err := f.readPair(s.file); err == nil && f.fits(p, s.by, s.leaf) {
		return nil
	}
	p, err := s.by.sign(s.leaf, f.Now())
	if err != nil {
		return err
	}
	return f.writePair(s.file, p)
}

// fits says whether a pair is of use for a while yet.
func (f *Folder) fits(p pair, by *authority, l leaf) bool {
	whole, err := tls.X509KeyPair(p.certificate, p.key)
	if err != nil {
		return false
	}
	c := whole.Leaf
	if c.CheckSignatureFrom(by.certificate) != nil || f.Now().Before(c.NotBefore) || c.NotAfter.Sub(f.Now()) < leafValidity/3 {
		return false
	}
	return l.describes(c)
}

func (l leaf) describes(c *x509.Certificate) bool {
	if c.Subject.CommonName != l.name || !slices.Equal(c.Subject.Organization, l.groups) || !slices.Equal(c.ExtKeyUsage, l.usages()) {
		return false
	}
	for _, name := range l.names {
		if !slices.Contains(c.DNSNames, name) {
			return false
		}
	}
	for _, address := range l.addresses {
		if !slices.ContainsFunc(c.IPAddresses, address.Equal) {
			return false
		}
	}
	return true
}

// CA, CAKey and the others are files.
func (f *Folder) CA() string    { return f.path(caName + ".crt") }
func (f *Folder) CAKey() string { return f.path(caName + ".key") }

// FrontProxyCA signs the client certificate with which aggregated API servers are
// called: FrontProxy, FrontProxyKey.
func (f *Folder) FrontProxyCA() string  { return f.path(frontProxyCA + ".crt") }
func (f *Folder) FrontProxy() string    { return f.path(frontProxyName + ".crt") }
func (f *Folder) FrontProxyKey() string { return f.path(frontProxyName + ".key") }

// Serving and ServingKey are what the API server shows.
func (f *Folder) Serving() string    { return f.path(servingName + ".crt") }
func (f *Folder) ServingKey() string { return f.path(servingName + ".key") }

// KubeletClient and KubeletClientKey are what the API server calls nodes with.
func (f *Folder) KubeletClient() string    { return f.path(kubeletClient + ".crt") }
func (f *Folder) KubeletClientKey() string { return f.path(kubeletClient + ".key") }

// NodeServing and NodeServingKey are what this machine's node shows to the API server.
func (f *Folder) NodeServing() string    { return f.path(nodeServing + ".crt") }
func (f *Folder) NodeServingKey() string { return f.path(nodeServing + ".key") }

// TokenKey signs service account tokens, TokenPublicKey verifies them.
func (f *Folder) TokenKey() string       { return f.path(serviceAccount + ".key") }
func (f *Folder) TokenPublicKey() string { return f.path(serviceAccount + ".pub") }

func (f *Folder) path(name string) string { return filepath.Join(f.Dir, name) }
