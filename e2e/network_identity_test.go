package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestHostname: what the pod calls itself (A-NET-2).
func TestHostname(t *testing.T) {
	t.Parallel()
	host := assert.Get(os.Hostname()).Must(t)
	long := "name-" + strings.Repeat("a", 57) + "-b.c" // the 63rd character is a hyphen
	for _, tc := range []struct{ name, spec, kernel, hosts string }{
		{name: long, kernel: long[:62], hosts: long[:62]},
		{name: "fqdn", spec: "hostname: h\nsubdomain: s\nsetHostnameAsFQDN: true", kernel: "h.s.default.svc.cluster.local", hosts: "h.s.default.svc.cluster.local\th"},
		{name: "override", spec: "hostname: h\nhostnameOverride: over.ride", kernel: "over.ride", hosts: "over.ride"},
		{name: "host-name", spec: "hostNetwork: true\nhostname: h", kernel: host},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod(tc.name, "restartPolicy: Never\n"+tc.spec+"\ncontainers:\n"+shell("main", "hostname; grep -E '^10\\.' /etc/hosts || true")))
			want := tc.kernel + "\n"
			if tc.hosts != "" {
				want += "ADDRESS\t" + tc.hosts + "\n"
			}
			text := normal(got.stdout)
			assert.True(t, got.code == 0 && strings.HasPrefix(text, want), "A-NET-2 exit code %d: %q, want %q\n%s", got.code, text, want, got.stderr)
		})
	}
}

// TestFQDNTooLong: a name that the kernel can't take is reported, not cut (A-NET-2).
func TestFQDNTooLong(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("fqdn-"+strings.Repeat("a", 40), "restartPolicy: Never\nsubdomain: s\nsetHostnameAsFQDN: true\ncontainers:\n"+shell("main", "true")))
	c.await(c.stderr, `Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN \S+ is too long \(64 characters is the max, 73 characters requested\)`)
	c.signal(os.Interrupt)
	c.wait()
}

// TestDNSPolicies: which servers a pod asks, and what it is told of (A-NET-3).
func TestDNSPolicies(t *testing.T) {
	t.Parallel()
	const four = "dnsConfig: {nameservers: [192.0.2.1, 192.0.2.2, 192.0.2.3]}"
	for _, tc := range []struct {
		name, spec, events string
		last               string // of the servers
	}{
		{name: "cluster-first", spec: "dnsPolicy: ClusterFirst"},
		{name: "cluster-first-host", spec: "dnsPolicy: ClusterFirstWithHostNet\nhostNetwork: true"},
		{name: "cluster-first-on-host", spec: "dnsPolicy: ClusterFirst\nhostNetwork: true"},
		{name: "dns-default", spec: "dnsPolicy: Default"},
		{name: "dns-none", spec: "dnsPolicy: None\n" + four, last: "192.0.2.3"},
		{name: "dns-limit", spec: "dnsPolicy: Default\nhostNetwork: true\n" + four, events: "DNSConfigForming", last: "192.0.2.2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			result := shared.runStory(t, 0, pod(tc.name, "restartPolicy: Never\n"+tc.spec+"\ncontainers:\n"+shell("main", "grep nameserver /etc/resolv.conf || true")))
			var events []string
			for _, o := range result {
				if o.Type == "event" && slices.Contains([]string{"MissingClusterDNS", "DNSConfigForming"}, o.Reason) {
					events = append(events, o.Reason)
				}
			}
			assert.Deep(t, "A-NET-3 events", tc.events, strings.Join(events, " "))
			servers := strings.Split(strings.TrimSpace(result.output("main")), "\n")
			assert.True(t, tc.last == "" || len(servers) == 3 && servers[2] == "nameserver "+tc.last,
				"A-NET-3 servers %q, want three, the last %s", servers, tc.last)
		})
	}
}

// TestSidecarHostPort: a sidecar's host port works like any other (A-CRI-3).
func TestSidecarHostPort(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	c := shared.startRun(t, pod("sidecar-port", fmt.Sprintf(`
restartPolicy: Never
initContainers:
- name: side
  image: TOOLBOX
  restartPolicy: Always
  command: [serve, --port=8080, --on-term=0]
  ports: [{containerPort: 8080, hostPort: %d, hostIP: 127.0.0.1}]
containers:
`, port)+shell("main", "exec sleep --on-term=0 60")))
	c.await(c.stdout, "serving on")
	assert.Deep(t, "A-CRI-3 the sidecar's host port answered", "sidecar-port\n", get(t, fmt.Sprintf("http://127.0.0.1:%d/hostname", port)))
}

// TestHostPortUDP: datagrams to a host port arrive in the pod, whose kernel
// counts those that nobody listens for; a port of SCTP is no hindrance (A-CRI-3).
func TestHostPortUDP(t *testing.T) {
	t.Parallel()
	port := freeUDPPort(t)
	c := shared.startRun(t, pod("udp-port", fmt.Sprintf(`
restartPolicy: Never
containers:
- name: main
  image: TOOLBOX
  command: [sh, -c, "echo waiting; until grep -Eq '^Udp: [0-9]+ [1-9]' /proc/net/snmp; do sleep 0.1; done; echo arrived"]
  ports:
  - {containerPort: 7000, hostPort: %d, protocol: UDP}
  - {containerPort: 7000, hostPort: %d, protocol: SCTP}
`, port, port)))
	c.await(c.stdout, "waiting")
	conn := assert.Get(net.Dial("udp", net.JoinHostPort(hostAddress(t), strconv.Itoa(port)))).Must(t)
	defer func() { _ = conn.Close() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for done := false; !done; {
		_, _ = conn.Write([]byte("x")) // the one before may have been refused
		select {
		case <-c.ended:
			done = true
		case <-tick.C:
		case <-late:
			c.fatalf("A-CRI-3 no datagram arrived")
		}
	}
	got := c.wait()
	assert.True(t, got.code == 0 && strings.HasSuffix(got.stdout, "arrived\n"), "A-CRI-3 exit code %d: %s%s", got.code, got.stdout, got.stderr)
}

// TestOwnHosts: a container that mounts /etc/hosts itself gets its own, another
// one of the pod the managed file (A-NET-1).
func TestOwnHosts(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("own-hosts", `
restartPolicy: Never
volumes: [{name: h, configMap: {name: h}}]
containers:
`+shell("own", "head -n 1 /etc/hosts", "volumeMounts: [{name: h, mountPath: /etc/hosts, subPath: hosts}]")+
		shell("managed", "head -n 1 /etc/hosts; echo 192.0.2.9 more >> /etc/hosts; tail -n 1 /etc/hosts"))+
		"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: h}\ndata: {hosts: \"192.0.2.8 mine\\n\"}\n")
	lines := slices.Sorted(strings.Lines(got.stdout))
	want := []string{"managed | # Kubernetes-managed hosts file.\n", "managed | 192.0.2.9 more\n", "own | 192.0.2.8 mine\n"}
	assert.True(t, got.code == 0 && slices.Equal(lines, want), "A-NET-1 exit code %d: %q, want %q\n%s", got.code, lines, want, got.stderr)
}

// TestHostNetworkHosts: with the machine's network the pod has the machine's
// hosts and its addresses, of both families where there are (A-NET-1, A-CST-17).
func TestHostNetworkHosts(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("host-hosts", "restartPolicy: Never\nhostNetwork: true\ncontainers:\n"+shell("main", "cat /etc/hosts")))
	own := assert.Get(os.ReadFile("/etc/hosts")).Must(t)
	want := "# Kubernetes-managed hosts file (host network).\n" + string(own)
	assert.True(t, strings.TrimSpace(result.output("main")) == strings.TrimSpace(want), "A-NET-1 hosts\n%s\nwant\n%s", result.output("main"), want)
	last := result.last(t)
	var pods, hosts []string
	for _, ip := range last.PodIPs {
		pods = append(pods, ip.IP)
	}
	for _, ip := range last.HostIPs {
		hosts = append(hosts, ip.IP)
	}
	assert.True(t, len(hosts) != 0 && slices.Equal(pods, hosts) && last.PodIP == hosts[0] && last.HostIP == hosts[0],
		"A-CST-17 pod %s %v, host %s %v", last.PodIP, pods, last.HostIP, hosts)
}

func freeUDPPort(t *testing.T) int {
	t.Helper()
	conn := assert.Get(net.ListenPacket("udp", ":0")).Must(t)
	defer func() { _ = conn.Close() }()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// withoutHosts hides the machine's hosts file from what it runs: in a mount namespace of
// its own, as a minimal installation has none.
const withoutHosts = `set -e
mount -t tmpfs none "$1"
mkdir "$1/changed" "$1/work"
mknod "$1/changed/hosts" c 0 0
mount -t overlay -o "lowerdir=/etc,upperdir=$1/changed,workdir=$1/work" none /etc
shift
! test -e /etc/hosts
exec "$@"`

// On a machine without /etc/hosts the runtime makes no sandbox, however often it is
// asked: lifepod says so and starts nothing.
func TestMachineWithoutHosts(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	command := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", withoutHosts, "sh", t.TempDir(),
		binary, "--root", r.dir, "run", "-")
	command.Stdin = strings.NewReader(pod("stub", "containers:\n"+shell("main", "sleep 100")))
	out, err := command.CombinedOutput()
	want := "lifepod: there is no /etc/hosts, without which the container runtime starts no pod: echo 127.0.0.1 localhost > /etc/hosts\n"
	assert.True(t, string(out) == want && command.ProcessState.ExitCode() == 125, "%v: %q, want %q", err, out, want)
}
