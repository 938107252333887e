// Package apiserver is the Kubernetes API server of a cluster, in this process.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/lifepod/lifepod/cluster/apiserver/defaults"
	"github.com/lifepod/lifepod/cluster/apiserver/inprocess"
	"github.com/lifepod/lifepod/cluster/apiserver/openapi"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/state"
)

type Config struct {
	Keys         *pki.Folder
	Etcd         state.Place
	Listen       net.IP
	Port         int
	Advertise    net.IP // where other machines and pods find it; not on loopback
	ServiceRange string // CIDR
	// RuntimeConfig turns APIs on and off, beside the stable and beta ones, which are on.
	RuntimeConfig map[string]string
	// DisableAdmission are admission plugins that don't run, as kube-apiserver's flag.
	DisableAdmission []string
}

// Server is an API server that is made and does not serve yet.
type Server struct {
	prepared prepared
	loopback *rest.Config
	direct   inprocess.Transport
}

type prepared interface{ Run(context.Context) error }

// How long an API server that shuts down waits for its clients. It tells watches that it
// ends, so that their clients watch the next server. Without a time for watches it waits
// for them and never tells them. Requests that don't end by themselves, such as logs that
// are followed, are cut off with their connections.
const (
	endWatches     = 2 * time.Second
	endConnections = 3 * time.Second
)

func New(ctx context.Context, c Config) (*Server, error) {
	completed, err := c.options().Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete the API server's options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("options of the API server: %w", utilerrors.NewAggregate(errs))
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	s := &Server{loopback: config.KubeAPIs.ControlPlane.Generic.LoopbackClientConfig}
	whole, err := config.Complete()
	if err != nil {
		return nil, err
	}
	front, made, err := prepare(whole)
	if err != nil {
		return nil, err
	}
	s.direct, s.prepared = inprocess.Transport{Handler: front.Handler}, made
	return s, nil
}

// prepare makes the chain of servers. Some things are made at other times than upstream
// makes them, see the packages below this one. Requests come in at front.
func prepare(config app.CompletedConfig) (front *genericapiserver.GenericAPIServer, made prepared, err error) {
	generic := &config.KubeAPIs.ControlPlane.Generic
	openAPIv2 := generic.OpenAPIConfig
	generic.OpenAPIConfig, generic.SkipOpenAPIInstallation = nil, true // v3's stays, for server-side apply
	upstreams := defaults.Take(generic)
	limit(config.Aggregator.GenericConfig)
	noteOrigin(config.Aggregator.GenericConfig)
	chain, err := app.CreateServerChain(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make the API server: %w", err)
	}
	front = chain.GenericAPIServer
	kube, ok := front.NextDelegate().(*genericapiserver.GenericAPIServer)
	if !ok {
		return nil, nil, errors.New("make the API server: the chain of servers is not the one that is known")
	}
	if err := upstreams.Replace(front, kube); err != nil {
		return nil, nil, fmt.Errorf("make the API server: %w", err)
	}
	openapi.ServeV2(kube, openAPIv2)
	if err := openapi.ServeV3(kube, generic.OpenAPIV3Config); err != nil {
		return nil, nil, err
	}
	front.ShutdownTimeout = endConnections
	if made, err = chain.PrepareRun(); err != nil {
		return nil, nil, fmt.Errorf("prepare the API server: %w", err)
	}
	return front, made, nil
}

// DefaultsChecks are the checks of /readyz that wait until the objects that every cluster
// has are there.
func DefaultsChecks() []string { return defaults.Checks() }

// InProcess is how this process calls the server: as system:masters, without a limit and without
// a connection. Each call makes a new one.
func (s *Server) InProcess() *rest.Config {
	config := s.Loopback()
	config.Transport, config.TLSClientConfig = s.direct, rest.TLSClientConfig{}
	return config
}

// Loopback is the same by a connection, for who does something with it.
func (s *Server) Loopback() *rest.Config {
	config := rest.CopyConfig(s.loopback)
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	if err := s.prepared.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}

func (c Config) options() *options.ServerRunOptions {
	o := options.NewServerRunOptions()
	transport := &o.Etcd.StorageConfig.Transport
	transport.ServerList, transport.TrustedCAFile = c.Etcd.Endpoints, c.Etcd.CAFile
	transport.CertFile, transport.KeyFile = c.Etcd.CertFile, c.Etcd.KeyFile
	if c.Etcd.Prefix != "" {
		o.Etcd.StorageConfig.Prefix = c.Etcd.Prefix
	}
	o.SecureServing.BindAddress, o.SecureServing.BindPort = c.Listen, c.Port
	o.SecureServing.ServerCert.CertKey.CertFile = c.Keys.Serving()
	o.SecureServing.ServerCert.CertKey.KeyFile = c.Keys.ServingKey()
	o.GenericServerRunOptions.AdvertiseAddress = c.Advertise
	o.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = endWatches
	o.AllowPrivileged = true
	o.ServiceClusterIPRanges = c.ServiceRange

	o.Authentication.ClientCert.ClientCA = c.Keys.CA()
	o.Authentication.BootstrapToken.Enable = true
	o.Authentication.Anonymous.Allow = true
	o.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc.cluster.local"}
	o.Authentication.ServiceAccounts.KeyFiles = []string{c.Keys.TokenPublicKey()}
	o.ServiceAccountSigningKeyFile = c.Keys.TokenKey()
	o.Authorization.Modes = []string{"Node", "RBAC"}
	o.Admission.GenericAdmission.EnablePlugins = slices.DeleteFunc([]string{"NodeRestriction", "DenyServiceExternalIPs"}, func(plugin string) bool {
		return slices.Contains(c.DisableAdmission, plugin)
	})
	o.Admission.GenericAdmission.DisablePlugins = c.DisableAdmission

	o.KubeletConfig.TLSClientConfig.CertFile = c.Keys.KubeletClient()
	o.KubeletConfig.TLSClientConfig.KeyFile = c.Keys.KubeletClientKey()
	o.KubeletConfig.TLSClientConfig.CAFile = c.Keys.CA()
	o.KubeletConfig.PreferredAddressTypes = []string{"InternalIP", "ExternalIP", "Hostname"}

	proxy := o.Authentication.RequestHeader
	proxy.ClientCAFile, proxy.AllowedNames = c.Keys.FrontProxyCA(), []string{pki.FrontProxyUser}
	proxy.ExtraHeaderPrefixes = []string{"X-Remote-Extra-"}
	proxy.GroupHeaders, proxy.UsernameHeaders = []string{"X-Remote-Group"}, []string{"X-Remote-User"}
	o.ProxyClientCertFile, o.ProxyClientKeyFile = c.Keys.FrontProxy(), c.Keys.FrontProxyKey()
	o.EnableAggregatorRouting = true

	o.APIEnablement.RuntimeConfig = runtimeConfig(c.RuntimeConfig)
	o.Features.EnableProfiling = false
	return o
}

// URL is where the server is found at an address.
func URL(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}
