package criconfig

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Limits of A-NET-3.
const (
	maxServers     = 3
	maxSearches    = 32
	maxSearchChars = 2048
	maxSearchName  = 253
)

// ClusterDNS is the DNS service of a cluster.
type ClusterDNS struct {
	DNS    []string
	Domain string
	Absent bool // there is no cluster, whose DNS a pod could miss
}

// DNS computes a pod's resolver configuration (A-NET-3) and what the user
// should be warned of. Options keep their order, where Kubernetes has none.
func DNS(pod *v1.Pod, cluster ClusterDNS, resolver Resolver) (*runtimeapi.DNSConfig, []lifecycle.Warning) {
	var warnings []lifecycle.Warning
	conf := nodeConf(pod, resolver)
	switch policy := effectivePolicy(pod); {
	case policy == v1.DNSNone:
		conf = ResolvConf{}
	case policy == v1.DNSClusterFirst && len(cluster.DNS) > 0:
		conf.Servers = slices.Clone(cluster.DNS)
		conf.Searches = clusterSearches(pod.Namespace, cluster.Domain, conf.Searches)
		conf.Options = []string{"ndots:5"}
	default:
		if policy == v1.DNSClusterFirst && !cluster.Absent {
			warnings = append(warnings, missingClusterDNS(pod))
		}
		conf = conf.orLocal()
		warnings = append(warnings, unreachable(pod, conf, resolver.Scoped)...)
	}
	if extra := pod.Spec.DNSConfig; extra != nil {
		conf = merge(conf, extra)
	}
	conf, cut := limit(conf)
	warnings = append(warnings, cut...)
	return &runtimeapi.DNSConfig{Servers: conf.Servers, Searches: conf.Searches, Options: conf.Options}, warnings
}

// effectivePolicy folds the policies into None, ClusterFirst and Default.
func effectivePolicy(pod *v1.Pod) v1.DNSPolicy {
	switch pod.Spec.DNSPolicy {
	case v1.DNSClusterFirstWithHostNet:
		return v1.DNSClusterFirst
	case v1.DNSClusterFirst:
		if pod.Spec.HostNetwork {
			return v1.DNSDefault
		}
	}
	return pod.Spec.DNSPolicy
}

// nodeConf is a copy of the host's configuration as the pod can use it.
func nodeConf(pod *v1.Pod, resolver Resolver) ResolvConf {
	conf := resolver.Pod
	if pod.Spec.HostNetwork {
		conf = resolver.Host
	}
	return ResolvConf{Servers: slices.Clone(conf.Servers), Searches: slices.Clone(conf.Searches), Options: slices.Clone(conf.Options)}
}

// orLocal stands in for a host without any configuration: ask the local
// machine, search nothing. Sent empty, the runtime would look for itself.
func (c ResolvConf) orLocal() ResolvConf {
	if len(c.Servers)+len(c.Searches)+len(c.Options) > 0 {
		return c
	}
	return ResolvConf{Servers: []string{"127.0.0.1"}, Searches: []string{"."}}
}

func clusterSearches(namespace, domain string, host []string) []string {
	if domain == "" {
		return host
	}
	own := []string{namespace + ".svc." + domain, "svc." + domain, domain}
	return withoutDuplicates(append(own, host...))
}

func missingClusterDNS(pod *v1.Pod) lifecycle.Warning {
	return lifecycle.Warning{
		Reason: "MissingClusterDNS",
		Message: fmt.Sprintf("pod: %q. kubelet does not have ClusterDNS IP configured and cannot create Pod using %q policy. Falling back to %q policy.",
			lifecycle.PodText(pod), v1.DNSClusterFirst, v1.DNSDefault),
	}
}

// unreachable warns of a configuration that cannot work: a pod on the pod
// network has its own loopback. Kubernetes says nothing.
func unreachable(pod *v1.Pod, conf ResolvConf, scoped []string) []lifecycle.Warning {
	servers, where := conf.Servers, "on loopback"
	switch {
	case pod.Spec.HostNetwork || len(servers) > 0 && !conf.onlyLoopback():
		return nil
	case len(scoped) > 0:
		servers, where = scoped, "on one interface of the host" // A-NET-4
	case len(servers) == 0:
		return nil
	}
	return []lifecycle.Warning{{
		Reason:  "DNSConfigForming",
		Message: fmt.Sprintf("the host's nameservers %s are %s, out of reach of the pod network: set dnsConfig.nameservers", strings.Join(servers, " "), where),
	}}
}

// merge adds the pod's dnsConfig.
func merge(conf ResolvConf, extra *v1.PodDNSConfig) ResolvConf {
	conf.Servers = withoutDuplicates(append(conf.Servers, extra.Nameservers...))
	conf.Searches = withoutDuplicates(append(conf.Searches, extra.Searches...))
	for _, option := range extra.Options {
		text := option.Name
		if option.Value != nil && *option.Value != "" {
			text += ":" + *option.Value
		}
		conf.Options = setOption(conf.Options, text)
	}
	return conf
}

// limit cuts what C libraries do not take.
func limit(conf ResolvConf) (ResolvConf, []lifecycle.Warning) {
	var warnings []lifecycle.Warning
	warn := func(format string, list []string) {
		warnings = append(warnings, lifecycle.Warning{Reason: "DNSConfigForming", Message: fmt.Sprintf(format, strings.Join(list, " "))})
	}
	if len(conf.Servers) > maxServers {
		conf.Servers = conf.Servers[:maxServers]
		warn("Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: %s", conf.Servers)
	}
	searches := slices.Clone(conf.Searches[:min(len(conf.Searches), maxSearches)])
	searches = slices.DeleteFunc(searches, func(name string) bool { return len(name) > maxSearchName })
	for len(strings.Join(searches, " ")) > maxSearchChars {
		searches = searches[:len(searches)-1]
	}
	if len(searches) < len(conf.Searches) {
		conf.Searches = searches
		warn("Search Line limits were exceeded, some search paths have been omitted, the applied search line is: %s", conf.Searches)
	}
	return conf, warnings
}

func withoutDuplicates(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
