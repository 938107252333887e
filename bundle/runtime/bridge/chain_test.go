package bridge

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// everyMapping has each protocol, and host IPs of both families.
var everyMapping = []hostports.Mapping{
	{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"},
	{HostPort: 8081, ContainerPort: 81, Protocol: "tcp", HostIP: "198.18.7.1"},
	{HostPort: 8082, ContainerPort: 82, Protocol: "udp", HostIP: "0.0.0.0"},
	{HostPort: 8083, ContainerPort: 83, Protocol: "sctp", HostIP: "127.0.0.1"},
	{HostPort: 8084, ContainerPort: 84, Protocol: "tcp", HostIP: "fd99::1"},
	{HostPort: 8085, ContainerPort: 85, Protocol: "udp", HostIP: "::"},
}

// TestSameAsChain compares all that can be seen of a pod with what the chain of plugins
// makes whose place this one has taken.
func TestSameAsChain(t *testing.T) {
	plugins := chainPlugins(t)
	for _, mappings := range [][]hostports.Mapping{nil, everyMapping} {
		t.Run(fmt.Sprintf("%d host ports", len(mappings)), func(t *testing.T) {
			var seen []string
			for _, add := range []func(*machine, *sandbox) *current.Result{(*machine).chainAdd, (*machine).add} {
				t.Run("one", func(t *testing.T) { // on a thread, and so a machine, of its own
					m := newMachine(t)
					m.plugins = plugins
					s := m.sandbox("c1", mappings...)
					result := add(m, s)
					seen = append(seen, describe(m, s, result))
					assert.NoError(t, assert.ErrorOf(m.run(call{command: "CHECK", pod: s})))
					m.del(s)
					m.wantNothing("after DEL")
				})
			}
			assert.Require(t, len(seen) == 2 && strings.Count(seen[0], "\n") >= 20, "not two descriptions: %q", seen)
			if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
				t.Errorf("(-chain +lifepod-bridge):\n%s", diff)
			}
		})
	}
}

// describe is a text of everything that a pod's ADD has made, without what is random.
func describe(m *machine, s *sandbox, result *current.Result) string {
	t := m.t
	t.Helper()
	w := &strings.Builder{}
	for i, link := range result.Interfaces {
		fmt.Fprintf(w, "interface %d: %s, MAC of %d bytes, sandbox %t\n", i, regexp.MustCompile(`veth[0-9a-f]{8}`).ReplaceAllString(link.Name, "VETH"),
			len(link.Mac), link.Sandbox == s.path())
	}
	for _, ip := range result.IPs {
		fmt.Fprintf(w, "IP %s by %s of interface %d\n", &ip.Address, ip.Gateway, *ip.Interface)
	}
	fmt.Fprintf(w, "routes %v, DNS %+v\n", result.Routes, result.DNS)
	for _, name := range []string{bridgeName, result.Interfaces[1].Name} {
		describeLink(t, w, name, strings.Replace(name, result.Interfaces[1].Name, "VETH", 1), result)
	}
	protinfo := assert.Get(netlink.LinkGetProtinfo(link(t, result.Interfaces[1].Name))).Must(t)
	fmt.Fprintf(w, "port %v\n", &protinfo)
	for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding", "ipv4/conf/" + bridgeName + "/route_localnet"} {
		describeSysctl(t, w, name)
	}
	at(t, s, func() error {
		describeLink(t, w, "eth0", "eth0", result)
		for _, name := range []string{"ipv6/conf/eth0/accept_dad", "ipv4/conf/eth0/arp_notify", "ipv6/conf/eth0/keep_addr_on_down", "ipv6/conf/eth0/disable_ipv6"} {
			describeSysctl(t, w, name)
		}
		routes := assert.Get(netlink.RouteList(nil, netlink.FAMILY_ALL)).Must(t)
		for _, route := range routes {
			if !route.Dst.IP.IsLinkLocalUnicast() && !route.Dst.IP.IsMulticast() {
				fmt.Fprintf(w, "pod's route to %s by %s from %s, scope %s, priority %d, table %d\n",
					route.Dst, route.Gw, route.Src, route.Scope, route.Priority, route.Table)
			}
		}
		return nil
	})
	for line := range strings.Lines(output(t, "nft", "list", "ruleset")) {
		if !strings.Contains(line, `comment "CNI portmap plugin"`) {
			w.WriteString(line)
		}
	}
	return w.String()
}

func link(t testing.TB, name string) netlink.Link {
	t.Helper()
	return assert.Get(netlink.LinkByName(name)).Must(t)
}

func describeLink(t testing.TB, w *strings.Builder, name, as string, result *current.Result) {
	t.Helper()
	l := link(t, name)
	a := l.Attrs()
	same := slices.ContainsFunc(result.Interfaces, func(i *current.Interface) bool { return i.Name == name && i.Mac == a.HardwareAddr.String() })
	fmt.Fprintf(w, "%s %s: MTU %d, %s, flags %s, queue %d, plugged in %t, the result's MAC %t\n",
		l.Type(), as, a.MTU, a.OperState, a.Flags, a.TxQLen, a.MasterIndex != 0, same)
	addresses := assert.Get(netlink.AddrList(l, netlink.FAMILY_ALL)).Must(t)
	for _, address := range addresses {
		if !address.IP.IsLinkLocalUnicast() {
			fmt.Fprintf(w, "%s has %s, broadcast %s, scope %d\n", as, address.IPNet, address.Broadcast, address.Scope)
		}
	}
	describeSysctl(t, w, "ipv6/conf/"+name+"/accept_ra")
}

func describeSysctl(t testing.TB, w *strings.Builder, name string) {
	t.Helper()
	text := assert.Get(os.ReadFile("/proc/sys/net/" + name)).Must(t)
	fmt.Fprintf(w, "%s = %s", regexp.MustCompile(`veth[0-9a-f]{8}`).ReplaceAllString(name, "VETH"), text)
}

// TestPodOfChain: a pod that the chain has made is checked and deleted after an upgrade.
func TestPodOfChain(t *testing.T) {
	m := newMachine(t)
	m.plugins = chainPlugins(t)
	s := m.sandbox("old", everyMapping...)
	m.chainAdd(s)
	assert.NoError(t, assert.ErrorOf(m.run(call{command: "CHECK", pod: s})))
	beside := m.sandbox("new")
	m.add(beside)
	m.del(s)
	assert.Equal(t, "new", m.attached(), "attachments of")
	assert.Equal(t, "", m.rules(), "rules are left")
	if got := m.ports(); len(got) != 1 {
		t.Errorf("ports of the bridge: %q, want one", got)
	}
	m.del(beside)
	m.wantNothing("after the other DEL")
}

// FuzzConfig: whatever is on the plugin's standard input, it is refused, or names a bridge and ports that there can be; the
// result of an earlier ADD is read or refused, too.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"cniVersion":"1.0.0","name":"n","type":"t","bridge":"lp0","runtimeConfig":{"portMappings":[{"hostPort":80,"containerPort":80,"protocol":"tcp"}]}}`))
	f.Add([]byte(`{"cniVersion":"1.0.0","bridge":"lp0","runtimeConfig":{"portMappings":[{"hostPort":65536,"protocol":"tcp","hostIP":"::1%x"}]}}`))
	f.Add([]byte(`{"cniVersion":"9","bridge":"../x","prevResult":{"ips":[{"address":"10.0.0.1/33"}]}}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, stdin []byte) {
		c, err := parseConfig(stdin)
		if err != nil {
			return
		}
		assert.Require(t, c.Bridge != "", "%s is taken without a bridge", stdin)
		for _, m := range c.RuntimeConfig.PortMappings {
			assert.Require(t, m.HostPort >= 1 && m.HostPort <= 65535 && m.ContainerPort >= 1 && m.ContainerPort <= 65535, "the mapping %+v is taken", m)
		}
		if result, err := c.previous(); (err != nil) && result != nil {
			t.Fatalf("%+v with the error %v", result, err)
		}
	})
}
