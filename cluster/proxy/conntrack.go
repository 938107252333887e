package proxy

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/node/util/sysctl"
	proxyconfig "k8s.io/kubernetes/pkg/proxy/apis/config"
	"k8s.io/kubernetes/pkg/proxy/conntrack"
)

// kube-proxy's defaults for the kernel's table of connections.
const (
	establishedTimeout = 24 * time.Hour // the kernel's are five days
	closeWaitTimeout   = time.Hour      // a minute there: connections that are half closed would be cut
	connectionsPerCPU  = 32 << 10
	leastConnections   = 128 << 10
	mostConnections    = 1 << 20
)

// trackConnections sets how long and how many connections are followed, as kube-proxy does;
// but a machine that follows more of them goes on with that.
func trackConnections(ctx context.Context) error {
	timeouts := conntrack.SetSysctls(ctx, &proxyconfig.KubeProxyConntrackConfiguration{
		TCPEstablishedTimeout: &metav1.Duration{Duration: establishedTimeout},
		TCPCloseWaitTimeout:   &metav1.Duration{Duration: closeWaitTimeout},
	})
	want := int32(min(max(connectionsPerCPU*runtime.NumCPU(), leastConnections), mostConnections))
	have, err := sysctl.New().GetSysctl("net/netfilter/nf_conntrack_max")
	if err == nil && have < int(want) {
		err = conntrack.SetSysctls(ctx, &proxyconfig.KubeProxyConntrackConfiguration{MaxPerCore: new(int32(1)), Min: &want})
	}
	if err = errors.Join(timeouts, err); err != nil {
		return fmt.Errorf("set kube-proxy's limits of connection tracking: %w", err)
	}
	return nil
}
