package criconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func networkPod(change func(*v1.PodSpec)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "uid-1"}}
	pod.Spec.DNSPolicy = v1.DNSClusterFirst
	if change != nil {
		change(&pod.Spec)
	}
	return pod
}

func TestHostnameOf(t *testing.T) {
	long := strings.Repeat("a", 62)
	for _, tc := range []struct {
		name    string
		podName string
		spec    func(*v1.PodSpec)
		want    Hostname
		wantErr string
	}{
		{name: "A-NET-2 pod name", want: Hostname{Name: "web", Kernel: "web"}},
		{name: "A-NET-2 spec.hostname", spec: func(s *v1.PodSpec) { s.Hostname = "h" }, want: Hostname{Name: "h", Kernel: "h"}},
		{name: "A-NET-2 cut to 63, then - and . removed", podName: long + "-.b", want: Hostname{Name: long, Kernel: long}},
		{name: "A-NET-2 subdomain", spec: func(s *v1.PodSpec) { s.Subdomain = "sub" }, want: Hostname{Name: "web", Domain: "sub.ns.svc.cluster.local", Kernel: "web"}},
		{
			name: "A-NET-2 setHostnameAsFQDN", spec: func(s *v1.PodSpec) { s.Subdomain = "sub"; s.SetHostnameAsFQDN = new(true) },
			want: Hostname{Name: "web", Domain: "sub.ns.svc.cluster.local", Kernel: "web.sub.ns.svc.cluster.local"},
		},
		{
			name: "A-NET-2 FQDN too long", podName: strings.Repeat("a", 41), spec: func(s *v1.PodSpec) { s.Subdomain = "sub"; s.SetHostnameAsFQDN = new(true) },
			wantErr: "failed to construct FQDN from pod hostname and cluster domain, FQDN " + strings.Repeat("a", 41) +
				".sub.ns.svc.cluster.local is too long (64 characters is the max, 66 characters requested)",
		},
		{
			name: "A-NET-2 hostnameOverride replaces and drops the domain",
			spec: func(s *v1.PodSpec) { s.HostnameOverride = new("over.ride"); s.Hostname = "h"; s.Subdomain = "sub" },
			want: Hostname{Name: "over.ride", Kernel: "over.ride"},
		},
		{
			name: "A-NET-2 no limit for hostNetwork, which keeps its name", podName: strings.Repeat("a", 41),
			spec: func(s *v1.PodSpec) { s.Subdomain = "sub"; s.SetHostnameAsFQDN = new(true); s.HostNetwork = true },
			want: Hostname{Name: strings.Repeat("a", 41), Domain: "sub.ns.svc.cluster.local"},
		},
		{
			name: "A-NET-2 hostnameOverride is not part of a FQDN",
			spec: func(s *v1.PodSpec) {
				s.HostnameOverride = new("over")
				s.Subdomain = "sub"
				s.SetHostnameAsFQDN = new(true)
			},
			want: Hostname{Name: "over", Kernel: "over"},
		},
		{name: "A-NET-2 not sent for hostNetwork", spec: func(s *v1.PodSpec) { s.HostNetwork = true }, want: Hostname{Name: "web"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := networkPod(tc.spec)
			if tc.podName != "" {
				pod.Name = tc.podName
			}
			got, err := HostnameOf(pod, "cluster.local")
			assert.Require(t, (err == nil) == (tc.wantErr == "") && (err == nil || err.Error() == tc.wantErr), "error = %v, want %q", err, tc.wantErr)
			assert.Deep(t, "hostname", tc.want, got)
		})
	}
}

const loopbackLines = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n" +
	"fe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"

func TestHostsFile(t *testing.T) {
	aliases := []v1.HostAlias{{IP: "10.1.2.3", Hostnames: []string{"a", "b"}}, {IP: "::5", Hostnames: []string{"c"}}}
	for _, tc := range []struct {
		name     string
		spec     func(*v1.PodSpec)
		hostname Hostname
		want     string
	}{
		{
			name: "A-NET-1 pod network, two families", hostname: Hostname{Name: "web"},
			want: "# Kubernetes-managed hosts file.\n" + loopbackLines + "10.0.0.2\tweb\nfd00::2\tweb\n",
		},
		{
			name: "A-NET-1 with domain and aliases", hostname: Hostname{Name: "web", Domain: "sub.ns.svc.d"},
			spec: func(s *v1.PodSpec) { s.HostAliases = aliases },
			want: "# Kubernetes-managed hosts file.\n" + loopbackLines + "10.0.0.2\tweb.sub.ns.svc.d\tweb\nfd00::2\tweb.sub.ns.svc.d\tweb\n" +
				"\n# Entries added by HostAliases.\n10.1.2.3\ta\tb\n::5\tc\n",
		},
		{
			name: "A-NET-1 host network", hostname: Hostname{Name: "web"},
			spec: func(s *v1.PodSpec) { s.HostNetwork = true; s.HostAliases = aliases[:1] },
			want: "# Kubernetes-managed hosts file (host network).\n127.0.0.1 node\n\n# Entries added by HostAliases.\n10.1.2.3\ta\tb\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := HostsFile(networkPod(tc.spec), tc.hostname, []string{"10.0.0.2", "fd00::2"}, []byte("127.0.0.1 node\n"), nil)
			assert.Deep(t, "hosts", tc.want, string(got))
		})
	}
}

func TestMountsHosts(t *testing.T) {
	own := v1.Container{VolumeMounts: []v1.VolumeMount{{MountPath: "/etc/hosts"}}}
	for _, tc := range []struct {
		name        string
		container   v1.Container
		hostNetwork bool
		ips         []string
		want        bool
	}{
		{"A-NET-1 with an IP", v1.Container{}, false, []string{"10.0.0.2"}, true},
		{"A-NET-1 without an IP", v1.Container{}, false, nil, false},
		{"A-NET-1 host network", v1.Container{}, true, nil, true},
		{"A-NET-1 the container's own mount wins", own, true, []string{"10.0.0.2"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := networkPod(func(s *v1.PodSpec) { s.HostNetwork = tc.hostNetwork })
			assert.Equal(t, tc.want, MountsHosts(pod, &tc.container, tc.ips), "MountsHosts")
		})
	}
}

func TestWriteHostsKeepsTheInode(t *testing.T) {
	dir := t.TempDir()
	path := assert.Get(WriteHosts(dir, networkPod(nil), Hostname{Name: "web"}, []string{"10.0.0.2"}, nil)).Must(t)
	assert.Equal(t, filepath.Join(dir, "etc-hosts"), path, "path")
	before := assert.Get(os.Stat(path)).Must(t)
	assert.Must(t, assert.ErrorOf(WriteHosts(dir, networkPod(nil), Hostname{Name: "web"}, []string{"10.0.0.3"}, nil)))
	after := assert.Get(os.Stat(path)).Must(t)
	assert.True(t, os.SameFile(before, after) && after.Mode().Perm() == 0o644,
		"same file = %v, mode = %v, want the mounted file rewritten with 0644 (A-NET-1)", os.SameFile(before, after), after.Mode())
	content, err := os.ReadFile(path)
	assert.True(t, err == nil && strings.HasSuffix(string(content), "10.0.0.3\tweb\n"), "content = %q, %v, want the new address", content, err)
}
