package criconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

var (
	nodeResolver = Resolver{
		Host: ResolvConf{Servers: []string{"127.0.0.53"}, Searches: []string{"lan"}, Options: []string{"edns0"}},
		Pod:  ResolvConf{Servers: []string{"192.0.2.53"}, Searches: []string{"lan"}, Options: []string{"edns0"}},
	}
	testCluster = ClusterDNS{DNS: []string{"10.96.0.10"}, Domain: "cluster.local"}
)

func numbered(format string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

func TestDNS(t *testing.T) {
	missing := lifecycle.Warning{Reason: "MissingClusterDNS", Message: `pod: "web_ns(uid-1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`}
	for _, tc := range []struct {
		name     string
		spec     func(*v1.PodSpec)
		cluster  ClusterDNS
		resolver *Resolver
		want     *runtimeapi.DNSConfig
		warnings []lifecycle.Warning
	}{
		{
			name: "A-NET-3 ClusterFirst", cluster: testCluster,
			want: &runtimeapi.DNSConfig{Servers: []string{"10.96.0.10"}, Searches: []string{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan"}, Options: []string{"ndots:5"}},
		},
		{
			name: "A-NET-3 ClusterFirst without clusterDNS falls to Default with a warning", warnings: []lifecycle.Warning{missing},
			want: &runtimeapi.DNSConfig{Servers: []string{"192.0.2.53"}, Searches: []string{"lan"}, Options: []string{"edns0"}},
		},
		{
			name: "A-NET-3 ClusterFirst without a cluster is Default, without a warning", cluster: ClusterDNS{Domain: "cluster.local", Absent: true},
			want: &runtimeapi.DNSConfig{Servers: []string{"192.0.2.53"}, Searches: []string{"lan"}, Options: []string{"edns0"}},
		},
		{
			name: "A-NET-3 ClusterFirst with hostNetwork is Default, with the host's own servers", cluster: testCluster, spec: func(s *v1.PodSpec) { s.HostNetwork = true },
			want: &runtimeapi.DNSConfig{Servers: []string{"127.0.0.53"}, Searches: []string{"lan"}, Options: []string{"edns0"}},
		},
		{
			name: "A-NET-3 ClusterFirstWithHostNet", cluster: testCluster, spec: func(s *v1.PodSpec) { s.HostNetwork = true; s.DNSPolicy = v1.DNSClusterFirstWithHostNet },
			want: &runtimeapi.DNSConfig{Servers: []string{"10.96.0.10"}, Searches: []string{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan"}, Options: []string{"ndots:5"}},
		},
		{
			name: "A-NET-3 None", spec: func(s *v1.PodSpec) {
				s.DNSPolicy = v1.DNSNone
				s.DNSConfig = &v1.PodDNSConfig{Nameservers: []string{"192.0.2.1"}}
			},
			want: &runtimeapi.DNSConfig{Servers: []string{"192.0.2.1"}},
		},
		{
			name: "A-NET-3 dnsConfig is appended, duplicates dropped, options override", cluster: testCluster, spec: func(s *v1.PodSpec) {
				s.DNSConfig = &v1.PodDNSConfig{
					Nameservers: []string{"10.96.0.10", "192.0.2.1"}, Searches: []string{"cluster.local", "x.org"},
					Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("2")}, {Name: "rotate"}},
				}
			},
			want: &runtimeapi.DNSConfig{
				Servers:  []string{"10.96.0.10", "192.0.2.1"},
				Searches: []string{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan", "x.org"}, Options: []string{"ndots:2", "rotate"},
			},
		},
		{
			name: "A-NET-3 no configuration at all", spec: func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault; s.HostNetwork = true }, resolver: &Resolver{},
			want: &runtimeapi.DNSConfig{Servers: []string{"127.0.0.1"}, Searches: []string{"."}},
		},
		{
			name: "A-NET-3 loopback servers are told", spec: func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault },
			resolver: &Resolver{Pod: ResolvConf{Servers: []string{"127.0.0.1", "::1"}}},
			want:     &runtimeapi.DNSConfig{Servers: []string{"127.0.0.1", "::1"}},
			warnings: []lifecycle.Warning{{Reason: "DNSConfigForming", Message: "the host's nameservers 127.0.0.1 ::1 are on loopback, out of reach of the pod network: set dnsConfig.nameservers"}},
		},
		{
			name: "A-NET-4 none but scoped servers is told", spec: func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault },
			resolver: new(newResolver(ResolvConf{Servers: []string{"fe80::1%3", "fe80::2%eth0"}, Searches: []string{"lan"}})),
			want:     &runtimeapi.DNSConfig{Searches: []string{"lan"}},
			warnings: []lifecycle.Warning{{Reason: "DNSConfigForming", Message: "the host's nameservers fe80::1%3 fe80::2%eth0 are on one interface of the host, out of reach of the pod network: set dnsConfig.nameservers"}},
		},
		{
			name: "A-NET-4 nothing but scoped servers: the runtime must not look for itself", spec: func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault },
			resolver: new(newResolver(ResolvConf{Servers: []string{"fe80::1%3"}})),
			want:     &runtimeapi.DNSConfig{Servers: []string{"127.0.0.1"}, Searches: []string{"."}},
			warnings: []lifecycle.Warning{{Reason: "DNSConfigForming", Message: "the host's nameservers fe80::1%3 are on one interface of the host, out of reach of the pod network: set dnsConfig.nameservers"}},
		},
		{
			name: "A-NET-4 scoped servers are left out", spec: func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault },
			resolver: new(newResolver(ResolvConf{Servers: []string{"fe80::1%3", "192.0.2.53"}})),
			want:     &runtimeapi.DNSConfig{Servers: []string{"192.0.2.53"}},
		},
		{
			name: "A-NET-4 a host-network pod has them", spec: func(s *v1.PodSpec) { s.DNSPolicy = v1.DNSDefault; s.HostNetwork = true },
			resolver: new(newResolver(ResolvConf{Servers: []string{"fe80::1%3", "192.0.2.53"}})),
			want:     &runtimeapi.DNSConfig{Servers: []string{"fe80::1%3", "192.0.2.53"}},
		},
		{
			name: "A-NET-3 three servers", spec: func(s *v1.PodSpec) {
				s.DNSPolicy = v1.DNSNone
				s.DNSConfig = &v1.PodDNSConfig{Nameservers: numbered("192.0.2.%d", 4)}
			},
			want:     &runtimeapi.DNSConfig{Servers: numbered("192.0.2.%d", 3)},
			warnings: []lifecycle.Warning{{Reason: "DNSConfigForming", Message: "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.0 192.0.2.1 192.0.2.2"}},
		},
		{
			name: "A-NET-3 32 searches", spec: func(s *v1.PodSpec) {
				s.DNSPolicy = v1.DNSNone
				s.DNSConfig = &v1.PodDNSConfig{Searches: numbered("d%d", 33)}
			},
			want:     &runtimeapi.DNSConfig{Searches: numbered("d%d", 32)},
			warnings: []lifecycle.Warning{{Reason: "DNSConfigForming", Message: "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: " + strings.Join(numbered("d%d", 32), " ")}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resolver := nodeResolver
			if tc.resolver != nil {
				resolver = *tc.resolver
			}
			got, warnings := DNS(networkPod(tc.spec), tc.cluster, resolver)
			assert.Deep(t, "DNS", tc.want, got, protocmp.Transform())
			assert.Deep(t, "warnings", tc.warnings, warnings)
		})
	}
}

func TestDNSSearchLengths(t *testing.T) {
	long := strings.Repeat("a", 254)
	fits := strings.Repeat("b", 253)
	conf, warnings := limit(ResolvConf{Searches: []string{long, fits}})
	diff := cmp.Diff([]string{fits}, conf.Searches)
	assert.True(t, diff == "" && len(warnings) == 1, "A-NET-3 253 per search (-want +got):\n%s, %d warnings", diff, len(warnings))
	eight := numbered(strings.Repeat("c", 252)+"%d", 9)
	conf, warnings = limit(ResolvConf{Searches: eight})
	diff = cmp.Diff(eight[:8], conf.Searches)
	assert.True(t, diff == "" && len(warnings) == 1, "A-NET-3 2048 in all (-want +got):\n%s, %d warnings", diff, len(warnings))
}

func TestDNSLeavesTheResolverAlone(t *testing.T) {
	resolver := Resolver{Pod: ResolvConf{Servers: make([]string, 1, 8), Options: make([]string, 1, 8)}}
	resolver.Pod.Servers[0], resolver.Pod.Options[0] = "192.0.2.53", "ndots:1"
	pod := networkPod(func(s *v1.PodSpec) {
		s.DNSPolicy = v1.DNSDefault
		s.DNSConfig = &v1.PodDNSConfig{Options: []v1.PodDNSConfigOption{{Name: "ndots", Value: new("9")}}}
	})
	DNS(pod, ClusterDNS{}, resolver)
	assert.Equal(t, "ndots:1", resolver.Pod.Options[0], "the option of the shared resolver")
}

func TestHostResolver(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		assert.Must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	real := write("real", "nameserver 192.0.2.53\n")
	stub := write("stub", "# stub\nnameserver 127.0.0.53\noptions edns0 trust-ad\nsearch a b\nsearch lan. .\noptions ndots:1 ndots:2\n")
	scoped := write("scoped", "nameserver 127.0.0.53\nnameserver fe80::1%3\n")
	none := filepath.Join(dir, "none")
	wantStub := ResolvConf{Servers: []string{"127.0.0.53"}, Searches: []string{"lan"}, Options: []string{"edns0", "trust-ad", "ndots:2"}}
	wantReal := ResolvConf{Servers: []string{"192.0.2.53"}}
	for _, tc := range []struct {
		name, path, systemd string
		want                Resolver
	}{
		{"A-NET-3 real servers", real, stub, Resolver{Host: wantReal, Pod: wantReal}},
		{"A-NET-3 stub with systemd-resolved", stub, real, Resolver{Host: wantStub, Pod: wantReal}},
		{"A-NET-3 stub without systemd-resolved", stub, none, Resolver{Host: wantStub, Pod: wantStub}},
		{"A-NET-4 stub and a scoped server", scoped, real, Resolver{Host: ResolvConf{Servers: []string{"127.0.0.53", "fe80::1%3"}}, Pod: wantReal}},
		{"A-NET-4 scoped servers behind the stub", stub, scoped, Resolver{Host: wantStub, Pod: ResolvConf{Servers: []string{"127.0.0.53"}}, Scoped: []string{"fe80::1%3"}}},
		{"A-NET-3 no file", none, real, Resolver{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := assert.Get(hostResolver(tc.path, tc.systemd)).Must(t)
			assert.Deep(t, "resolver", tc.want, got)
		})
	}
	assert.Fails(t, assert.ErrorOf(hostResolver(write("bad", "nameserver\n"), none)), "a nameserver line without an address was accepted")
}
