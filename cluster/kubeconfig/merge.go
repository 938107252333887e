package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config says what is to be put where.
type Config struct {
	Admin   string // kubeconfig file of the cluster's administrator
	Into    File   // of the user
	Context string // name of the context, the cluster and the user there
	Use     bool   // makes it the current one, also if there is one
}

// Merge puts the cluster into a user's file, under one name, and remembers that it
// did. A context of that name that is another cluster's is an error; without a
// current context it becomes the current one.
func Merge(c Config) error {
	admin, err := read(c.Admin)
	if err != nil {
		return err
	}
	err = c.Into.change(func(config *clientcmdapi.Config) error {
		if err := admin.mayReplace(config, c.Context); err != nil {
			return err
		}
		admin.put(config, c.Context)
		if c.Use || config.CurrentContext == "" {
			config.CurrentContext = c.Context
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the cluster into %s: %w", c.Into.Path, err)
	}
	return remember(c.Admin, place{File: c.Into.Path, Context: c.Context})
}

// Renew brings the files into which the cluster was put up to date: its address and
// the administrator's certificate. An entry that was removed or is another's by now
// is left alone.
func Renew(admin string) error {
	return each(admin, func(a *entry, config *clientcmdapi.Config, context string) error {
		if config.Contexts[context] != nil && a.mayReplace(config, context) == nil {
			a.put(config, context)
		}
		return nil
	})
}

// Remove takes the cluster out of all files into which it was put. It needs the
// administrator's file yet.
func Remove(admin string) error {
	return each(admin, func(a *entry, config *clientcmdapi.Config, context string) error {
		if config.Contexts[context] == nil || a.mayReplace(config, context) != nil {
			return nil //nolint:nilerr // it is another's
		}
		delete(config.Contexts, context)
		delete(config.Clusters, context)
		delete(config.AuthInfos, context)
		if config.CurrentContext == context {
			config.CurrentContext = ""
		}
		return nil
	})
}

// each changes all files that are remembered.
func each(admin string, change func(*entry, *clientcmdapi.Config, string) error) error {
	places, err := remembered(admin)
	if err != nil || len(places) == 0 {
		return err
	}
	a, err := read(admin)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range places {
		file := File{Path: p.File}
		err := file.change(func(config *clientcmdapi.Config) error { return change(a, config, p.Context) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the user has removed it
			errs = append(errs, fmt.Errorf("change the cluster in %s: %w", p.File, err))
		}
	}
	return errors.Join(errs...)
}

// entry is a cluster and who administers it.
type entry struct {
	cluster *clientcmdapi.Cluster
	user    *clientcmdapi.AuthInfo
}

func read(admin string) (*entry, error) {
	config, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of the cluster: %w", err)
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil || config.Clusters[context.Cluster] == nil || config.AuthInfos[context.AuthInfo] == nil {
		return nil, fmt.Errorf("kubeconfig of the cluster %s: its current context is incomplete", admin)
	}
	return &entry{config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]}, nil
}

func (e *entry) put(config *clientcmdapi.Config, name string) {
	config.Clusters[name], config.AuthInfos[name] = e.cluster, e.user
	if config.Contexts[name] == nil { // else the user's namespace is kept
		config.Contexts[name] = clientcmdapi.NewContext()
	}
	config.Contexts[name].Cluster, config.Contexts[name].AuthInfo = name, name
}

// mayReplace says why what has the name must stay.
func (e *entry) mayReplace(config *clientcmdapi.Config, name string) error {
	context := config.Contexts[name]
	if cluster := config.Clusters[name]; cluster != nil && !e.is(cluster) {
		return fmt.Errorf("%q is the cluster at %s there, this one is at %s: choose another name", name, cluster.Server, e.cluster.Server)
	}
	if context != nil && (context.Cluster != name || context.AuthInfo != name) {
		return fmt.Errorf("context %q is of cluster %q and user %q: choose another name", name, context.Cluster, context.AuthInfo)
	}
	if context == nil && config.Clusters[name] == nil && config.AuthInfos[name] != nil {
		return fmt.Errorf("%q is another user there: choose another name", name)
	}
	return nil
}

// is says whether a cluster is this one: at its address, or of its authority.
func (e *entry) is(cluster *clientcmdapi.Cluster) bool {
	return cluster.Server == e.cluster.Server || bytes.Equal(cluster.CertificateAuthorityData, e.cluster.CertificateAuthorityData)
}
