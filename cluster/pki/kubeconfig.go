package pki

import (
	"bytes"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// AdminUser is the name of who may do everything.
const AdminUser = "lifepod-admin"

type kubeconfig struct {
	path, cluster, server string
	leaf                  leaf
}

// AdminKubeconfig writes the file with which people are the administrator of the
// cluster at server, named cluster. A certificate that is of use yet is kept.
func (f *Folder) AdminKubeconfig(path, cluster, server string) error {
	return f.keepKubeconfig(kubeconfig{path, cluster, server, leaf{name: AdminUser, groups: []string{mastersGroup}}})
}

// NodeKubeconfig is that of the named node's agent; the Node authorizer and
// NodeRestriction limit it to what concerns that node.
func (f *Folder) NodeKubeconfig(path, cluster, server, node string) error {
	return f.keepKubeconfig(kubeconfig{path, cluster, server, nodeLeaf(node)})
}

func (f *Folder) keepKubeconfig(k kubeconfig) error {
	f.kubeconfigs = append(f.kubeconfigs, k)
	return f.refreshKubeconfig(k)
}

func (f *Folder) refreshKubeconfig(k kubeconfig) error {
	ca, err := os.ReadFile(f.CA())
	if err != nil {
		return err
	}
	if f.keeps(k, ca) {
		return nil
	}
	p, err := f.ca.sign(k.leaf, f.Now())
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[k.cluster] = &clientcmdapi.Cluster{Server: k.server, CertificateAuthorityData: ca}
	config.AuthInfos[k.cluster] = &clientcmdapi.AuthInfo{ClientCertificateData: p.certificate, ClientKeyData: p.key}
	config.Contexts[k.cluster] = &clientcmdapi.Context{Cluster: k.cluster, AuthInfo: k.cluster}
	config.CurrentContext = k.cluster
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := wholefile.Write(k.path, text); err != nil {
		return fmt.Errorf("write the kubeconfig of %q: %w", k.leaf.name, err)
	}
	if f.Renewed != nil {
		f.Renewed()
	}
	return nil
}

// keeps says whether the file does for a while yet.
func (f *Folder) keeps(k kubeconfig, ca []byte) bool {
	config, err := clientcmd.LoadFromFile(k.path)
	if err != nil || config.Clusters[k.cluster] == nil || config.AuthInfos[k.cluster] == nil {
		return false
	}
	c, u := config.Clusters[k.cluster], config.AuthInfos[k.cluster]
	return c.Server == k.server && bytes.Equal(c.CertificateAuthorityData, ca) &&
		f.fits(pair{u.ClientCertificateData, u.ClientKeyData}, f.ca, k.leaf)
}
