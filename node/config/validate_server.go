package config

import (
	"fmt"
	"net"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	cliflag "k8s.io/component-base/cli/flag"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	netutils "k8s.io/utils/net"
)

const maxPort = 65535

func validateServer(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		between("port", c.Port, 1, maxPort),
		between("readOnlyPort", c.ReadOnlyPort, 0, maxPort),
		between("healthzPort", *c.HealthzPort, 0, maxPort),
		ipAddress(below("address"), c.Address),
		ipAddress(below("healthzBindAddress"), c.HealthzBindAddress),
		oneOf(below("authorization", "mode"), c.Authorization.Mode,
			kubeletconfig.KubeletAuthorizationModeAlwaysAllow, kubeletconfig.KubeletAuthorizationModeWebhook),
	)
	if u, err := url.Parse(c.StaticPodURL); c.StaticPodURL != "" && (err != nil || u.Host == "") {
		errs = append(errs, field.Invalid(below("staticPodURL"), c.StaticPodURL, "should be a URL such as https://host/pods.yaml"))
	}
	if c.EnableSystemLogQuery != nil && *c.EnableSystemLogQuery && !*c.EnableSystemLogHandler {
		errs = append(errs, field.Invalid(below("enableSystemLogQuery"), true, "requires enableSystemLogHandler"))
	}
	return errs
}

func ipAddress(path *field.Path, address string) field.ErrorList {
	if net.ParseIP(address) != nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, address, "should be an IP address")}
}

func validateTLS(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	if (c.TLSCertFile == "") != (c.TLSPrivateKeyFile == "") {
		errs = append(errs, field.Invalid(below("tlsCertFile"), c.TLSCertFile, "should be set together with tlsPrivateKeyFile"))
	}
	if _, err := cliflag.TLSCipherSuites(c.TLSCipherSuites); err != nil {
		errs = append(errs, field.Invalid(below("tlsCipherSuites"), c.TLSCipherSuites, err.Error()))
	}
	if _, err := cliflag.TLSVersion(c.TLSMinVersion); err != nil {
		errs = append(errs, field.Invalid(below("tlsMinVersion"), c.TLSMinVersion, "should be one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13"))
	}
	if _, err := cliflag.TLSCurvePreferences(c.TLSCurvePreferences); err != nil {
		errs = append(errs, field.Invalid(below("tlsCurvePreferences"), c.TLSCurvePreferences, err.Error()))
	}
	return errs
}

func validateDNS(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	for i, server := range c.ClusterDNS {
		// As sloppy as the kubelet, which reads 010.0.0.10 as 10.0.0.10.
		if netutils.ParseIPSloppy(server) == nil {
			errs = append(errs, field.Invalid(below("clusterDNS").Index(i), server, "should be an IP address"))
		}
	}
	return errs
}

// The feature gates of the periods at a shutdown of the machine; both are on by default.
const (
	shutdownGate           = "GracefulNodeShutdown"
	shutdownByPriorityGate = "GracefulNodeShutdownBasedOnPodPriority"
)

func validateShutdown(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	total, critical := c.ShutdownGracePeriod, c.ShutdownGracePeriodCriticalPods
	errs := gather(secondOrMore("shutdownGracePeriod", total), secondOrMore("shutdownGracePeriodCriticalPods", critical))
	if critical.Duration > total.Duration {
		errs = append(errs, field.Invalid(below("shutdownGracePeriodCriticalPods"), critical.Duration.String(),
			fmt.Sprintf("is a part of shutdownGracePeriod, and should be %s at most", total.Duration)))
	}
	simple, byPriority := total.Duration != 0 || critical.Duration != 0, len(c.ShutdownGracePeriodByPodPriority) > 0
	path := below("shutdownGracePeriodByPodPriority")
	if byPriority && simple {
		errs = append(errs, field.Forbidden(path, "may not be set together with shutdownGracePeriod"))
	}
	for i, p := range c.ShutdownGracePeriodByPodPriority {
		if p.ShutdownGracePeriodSeconds < 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("shutdownGracePeriodSeconds"), p.ShutdownGracePeriodSeconds, "should be at least 0"))
		}
	}
	needs := func(path *field.Path, gate string) {
		if on, set := c.FeatureGates[gate]; set && !on {
			errs = append(errs, field.Forbidden(path, "requires feature gate "+gate))
		}
	}
	if simple {
		needs(below("shutdownGracePeriod"), shutdownGate)
	}
	if byPriority {
		needs(path, shutdownGate)
		needs(path, shutdownByPriorityGate)
	}
	return errs
}

// secondOrMore refuses durations that are no time for a pod.
func secondOrMore(path string, d metav1.Duration) field.ErrorList {
	if d.Duration == 0 || d.Duration >= time.Second {
		return nil
	}
	return field.ErrorList{field.Invalid(below(path), d.Duration.String(), "should be 0, or at least 1s")}
}
