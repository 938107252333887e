package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// patience is for what happens at once unless it never does.
const patience = time.Minute

// serve answers with the name of the pod on a TCP port of it.
func serve(t testing.TB, s *sandbox, network, address string) {
	t.Helper()
	at(t, s, func() error {
		listener, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return // closed
				}
				_, _ = io.WriteString(c, s.id)
				_ = c.Close()
			}
		}()
		return nil
	})
}

// ask is what a server says when it is called from a network namespace.
func ask(t testing.TB, from ns.NetNS, network, address string) string {
	t.Helper()
	var answer string
	at(t, from, func() error {
		answer = call1(network, address)
		return nil
	})
	return answer
}

func call1(network, address string) string {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return "no answer"
	}
	defer c.Close()
	text, err := io.ReadAll(c)
	if err != nil {
		return "no answer"
	}
	return string(text)
}

// TestReach: pods reach each other and themselves, and host ports are reached from
// wherever they can be called, until DEL has answered.
func TestReach(t *testing.T) {
	m := newMachine(t)
	web := m.sandbox("web", hostports.Mapping{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"},
		hostports.Mapping{HostPort: 8081, ContainerPort: 80, Protocol: "tcp", HostIP: "127.0.0.1"})
	other := m.sandbox("other")
	m.add(web)
	m.add(other)
	for _, s := range []*sandbox{web, other} {
		at(t, s, func() error { return netlink.LinkSetUp(link(t, "lo")) })
	}
	serve(t, web, "tcp", ":80")
	for _, tt := range []struct {
		from             ns.NetNS
		network, address string
	}{
		{m.home, "tcp4", "198.18.7.2:80"}, {other, "tcp4", "198.18.7.2:80"},
		{m.home, "tcp4", "127.0.0.1:8080"}, {m.home, "tcp4", "127.0.0.1:8081"}, {m.home, "tcp4", "198.18.7.1:8080"},
		{other, "tcp4", "198.18.7.1:8080"}, {web, "tcp4", "198.18.7.1:8080"},
	} {
		assert.Equal(t, "web", ask(t, tt.from, tt.network, tt.address), "%s from %s", tt.address, tt.from.Path())
	}
	assert.Equal(t, "no answer", ask(t, other, "tcp4", "198.18.7.1:8081"), "the port of 127.0.0.1 by another address")
	m.del(web)
	assert.Equal(t, "no answer", ask(t, m.home, "tcp4", "127.0.0.1:8080"), "the host port after DEL")
	// The next sandbox of the pod has its address, although the one before has it, too.
	next := m.sandbox("next")
	next.uid = web.uid
	if got := m.add(next).IPs[0].Address.IP.String(); got != "198.18.7.2" {
		t.Errorf("the pod has %s now", got)
	}
	serve(t, next, "tcp", ":80")
	assert.Equal(t, "next", ask(t, m.home, "tcp4", "198.18.7.2:80"), "the address after DEL and ADD")
}

// TestSwitchedOff: route_localnet of the bridge ends with its last host port, in whatever
// way that goes, and not for the host ports of another bridge.
func TestSwitchedOff(t *testing.T) {
	m := newMachine(t)
	mapping := func(port int) hostports.Mapping {
		return hostports.Mapping{HostPort: port, ContainerPort: 80, Protocol: "tcp"}
	}
	want := func(value string) {
		t.Helper()
		if got, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + bridgeName + "/route_localnet"); err != nil || strings.TrimSpace(string(got)) != value {
			t.Errorf("route_localnet is %q, error %v; want %s", got, err, value)
		}
	}
	plain, a, b := m.sandbox("plain"), m.sandbox("a", mapping(8080)), m.sandbox("b", mapping(8081))
	m.add(plain)
	want("0")
	m.add(a)
	m.add(b)
	output(t, "nft", "add rule ip cni_hostport masquerading ip saddr 127.0.0.1 ip daddr 10.0.0.1 masquerade comment other")
	want("1")
	m.del(a)
	want("1")
	m.del(b)
	want("0")
	m.add(m.sandbox("lost", mapping(8082)))
	want("1")
	_, err := m.run(call{command: "GC", pod: plain, config: map[string]any{
		"cni.dev/valid-attachments": []map[string]string{{"containerID": "plain", "ifname": "eth0"}},
	}})
	assert.Must(t, err)
	want("0")
}

// TestCableGoes with the namespace of its pod: DEL does not wait for that.
func TestCableGoes(t *testing.T) {
	m := newMachine(t)
	s := m.sandbox("c1")
	name := m.add(s).Interfaces[1].Name
	m.del(s)
	m.wantNothing("after DEL")
	assert.Must(t, s.Close())
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := netlink.LinkByName(name); isGone(err) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%s is still there: %v", name, err)
		}
	}
}

// TestDeleteAgain: DEL is content with what has gone, also with the namespace.
func TestDeleteAgain(t *testing.T) {
	m := newMachine(t)
	s := m.sandbox("c1", everyMapping...)
	m.add(s)
	file := t.TempDir() + "/file"
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	for _, netns := range []string{s.path(), s.path(), "", "/nonexistent", file} {
		if _, err := m.run(call{command: "DEL", pod: s, netns: &netns}); err != nil {
			t.Errorf("in %q: %v", netns, err)
		}
		m.wantNothing("after DEL in " + netns)
	}
	// The namespace has gone before the first DEL, as after a kill -9 of the runtime.
	s = m.sandbox("c2", everyMapping...)
	m.add(s)
	assert.Must(t, s.Close())
	netns := ""
	assert.Must(t, assert.ErrorOf(m.run(call{command: "DEL", pod: s, netns: &netns})))
	assert.Equal(t, "", m.rules()+m.attached(), "left")
}

// TestMany: the bridge and the tables come to be once, whoever is first.
func TestMany(t *testing.T) {
	m := newMachine(t)
	var pods []*sandbox
	for i := range 12 {
		pods = append(pods, m.sandbox(fmt.Sprint("c", i), hostports.Mapping{HostPort: 9000 + i, ContainerPort: 80, Protocol: "tcp"}))
	}
	for _, command := range []string{"ADD", "CHECK", "DEL"} {
		// They are started here, because a process is in the namespaces of the thread.
		var started []*exec.Cmd
		var outputs []*strings.Builder
		for _, s := range pods {
			cmd := m.prepare(call{command: command, pod: s})
			out := &strings.Builder{}
			cmd.Stdout, cmd.Stderr = out, out
			assert.Must(t, cmd.Start())
			started, outputs = append(started, cmd), append(outputs, out)
		}
		for i, cmd := range started {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, outputs[i])
			}
			if command == "ADD" {
				pods[i].keep(t, []byte(outputs[i].String()))
			}
		}
	}
	m.wantNothing("after DEL")
	if got, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + bridgeName + "/route_localnet"); err != nil || string(got) != "0\n" {
		t.Errorf("route_localnet is %q after the last host port: %v", got, err)
	}
	for _, chain := range []string{"hostports_all", "prerouting", "output"} {
		if got := strings.Count(output(t, "nft", "list", "chain", "ip", "cni_hostport", chain), "jump"); got != 1 && (chain != "hostports_all" || got != 2) {
			t.Errorf("chain %s has %d jumps", chain, got)
		}
	}
}

// TestKilled at any moment, the plugin leaves nothing that DEL does not find.
func TestKilled(t *testing.T) {
	for _, command := range []string{"ADD", "DEL"} {
		t.Run(command, func(t *testing.T) {
			m := newMachine(t)
			kills := 0
			for after := time.Duration(0); ; after += after/4 + 200*time.Microsecond {
				s := m.sandbox(fmt.Sprint("c", after.Microseconds()), everyMapping...)
				if command == "DEL" {
					m.add(s)
				}
				cmd := m.prepare(call{command: command, pod: s})
				assert.Must(t, cmd.Start())
				time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				m.del(s)
				m.wantNothing(fmt.Sprintf("%s was killed after %v", command, after))
				if again := m.sandbox(s.id + "-again"); true {
					again.uid = s.uid
					m.add(again)
					m.del(again)
				}
				if err == nil {
					break // it was done before
				}
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatal(err)
				}
				kills++
			}
			assert.True(t, kills >= 3, "only %d were killed", kills)
		})
	}
}

// TestFailedAdd leaves nothing.
func TestFailedAdd(t *testing.T) {
	m := newMachine(t)
	s := m.sandbox("c1", everyMapping...)
	at(t, s, func() error { // so that the cable can't be made
		return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}})
	})
	out, err := m.run(call{command: "ADD", pod: s})
	assert.True(t, err != nil && strings.Contains(err.Error(), "make a veth pair: file exists"), "error %v of an interface that is there, output %s", err, out)
	m.wantNothing("after a failed ADD")
	m.del(s) // which leaves the interface that it has not made
	at(t, s, func() error { _, err := netlink.LinkByName("eth0"); return err })
}

// TestRefused: each misuse has one clear error.
func TestRefused(t *testing.T) {
	m := newMachine(t)
	assert.Must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "lpcable"}, PeerName: "lpcable1"}))
	assert.Must(t, netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "lpused"}}))
	assert.Must(t, netlink.AddrAdd(link(t, "lpused"), &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(198, 18, 8, 1), Mask: net.CIDRMask(24, 32)}}))
	none := "/nonexistent"
	for _, tt := range []struct {
		config map[string]any
		netns  *string
		want   string
	}{
		{config: map[string]any{"bridge": ""}, want: `7 network configuration: bridge is missing`},
		{config: map[string]any{"bridge": "lpcable"}, want: `999 bridge lpcable: there is an interface of that name, which is no bridge but veth`},
		{config: map[string]any{"bridge": "lpused"}, want: `999 bridge lpused: it has the address 198.18.8.1/24, and not 198.18.7.1/24`},
		{config: map[string]any{"bridge": []int{}}, want: `6 network configuration: json: cannot unmarshal array into Go struct field config.bridge of type string`},
		{config: map[string]any{"ipam": map[string]any{}}, want: `7 ipam section: dataDir "" is not an absolute path`},
		{config: mapping(0, 80, "tcp", ""), want: "7 network configuration: port mapping 0 to 80: want ports from 1 to 65535"},
		{config: mapping(80, 65536, "tcp", ""), want: "7 network configuration: port mapping 80 to 65536: want ports from 1 to 65535"},
		{config: mapping(80, 80, "icmp", ""), want: `7 network configuration: port mapping 80: unknown protocol "icmp"`},
		{config: mapping(80, 80, "tcp", "here"), want: `7 network configuration: port mapping 80: host IP: ParseAddr("here"): unable to parse IP`},
		{netns: &none, want: `8 open the network namespace: failed to Statfs "/nonexistent": no such file or directory`},
	} {
		s := m.sandbox("c1")
		out, err := m.run(call{command: "ADD", pod: s, config: tt.config, netns: tt.netns})
		if got := failure(t, out); err == nil || got != tt.want {
			t.Errorf("%v: %s, want %s", tt.config, got, tt.want)
		}
		m.wantNothing(tt.want)
	}
}

func mapping(host, container int, protocol, hostIP string) map[string]any {
	return map[string]any{"runtimeConfig": map[string]any{"portMappings": []hostports.Mapping{{HostPort: host, ContainerPort: container, Protocol: protocol, HostIP: hostIP}}}}
}

// failure is the error that a plugin has printed.
func failure(t testing.TB, out []byte) string {
	t.Helper()
	var said struct {
		Code uint
		Msg  string
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("output %q: %v", out, err)
	}
	return fmt.Sprint(said.Code, " ", said.Msg)
}

// TestCheck notices each thing that is not as ADD has left it.
func TestCheck(t *testing.T) {
	m := newMachine(t)
	for _, tt := range []struct {
		want string
		undo func(s *sandbox, result *current.Result)
	}{
		{"", func(*sandbox, *current.Result) {}},
		{"eth0 does not have the address 198.18.7.2/24", func(s *sandbox, r *current.Result) {
			at(t, s, func() error { return netlink.AddrDel(link(t, "eth0"), &netlink.Addr{IPNet: &r.IPs[0].Address}) })
		}},
		{"there is no route to 0.0.0.0/0 by eth0", func(s *sandbox, r *current.Result) {
			at(t, s, func() error { return netlink.RouteDel(&netlink.Route{Gw: r.IPs[0].Gateway}) })
		}},
		{"is not connected to the bridge", func(_ *sandbox, r *current.Result) {
			assert.Must(t, netlink.LinkSetNoMaster(link(t, r.Interfaces[1].Name)))
		}},
		{"eth0 has the MAC 02:00:00:00:00:07", func(s *sandbox, _ *current.Result) {
			at(t, s, func() error {
				return netlink.LinkSetHardwareAddr(link(t, "eth0"), net.HardwareAddr{2, 0, 0, 0, 0, 7})
			})
		}},
		{"2 of 2 rules of the chain masquerading are missing", func(*sandbox, *current.Result) {
			output(t, "nft", "flush", "chain", "ip", "cni_hostport", "masquerading")
		}},
		{"has no address on eth0", func(s *sandbox, _ *current.Result) {
			assert.Must(t, os.Remove(m.dataDir+"/pods/"+s.uid))
		}},
		{"CHECK needs the previous result", func(s *sandbox, _ *current.Result) { s.result = nil }},
	} {
		s := m.sandbox("c1", hostports.Mapping{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"})
		tt.undo(s, m.add(s))
		_, err := m.run(call{command: "CHECK", pod: s})
		assert.True(t, (err == nil) == (tt.want == "") && (err == nil || strings.Contains(err.Error(), tt.want)), "error %v, want %q", err, tt.want)
		m.del(s)
		assert.Must(t, os.RemoveAll(m.dataDir))
	}
}

// TestCollect drops what the runtime has forgotten, and nobody else's.
func TestCollect(t *testing.T) {
	m := newMachine(t)
	kept, lost := m.sandbox("kept", everyMapping...), m.sandbox("lost", everyMapping...)
	m.add(kept)
	m.add(lost)
	output(t, "nft", "add rule ip cni_hostport hostports tcp dport 7 dnat to 10.0.0.1:7 comment foreign")
	_, err := m.run(call{command: "GC", pod: kept, config: map[string]any{
		"cni.dev/valid-attachments": []map[string]string{{"containerID": "kept", "ifname": "eth0"}},
	}})
	assert.Must(t, err)
	assert.Equal(t, "kept", m.attached(), "attachments of")
	if got := m.rules(); !strings.Contains(got, "foreign") || !strings.Contains(got, "kept") || strings.Contains(got, "lost") {
		t.Errorf("rules:\n%s", got)
	}
}

func TestStatus(t *testing.T) {
	m := newMachine(t)
	s := m.sandbox("c1")
	assert.Must(t, assert.ErrorOf(m.run(call{command: "STATUS", pod: s})))
	m.dataDir = "/dev/null"
	out, err := m.run(call{command: "STATUS", pod: s})
	if got := failure(t, out); err == nil || !strings.HasPrefix(got, "50 ") {
		t.Errorf("without a store: %s", got)
	}
}

// TestVersions: the result is of the version that the configuration has.
func TestVersions(t *testing.T) {
	m := newMachine(t)
	got := map[string]string{}
	for _, m.version = range []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
		s := m.sandbox("c" + m.version)
		out := assert.Get(m.run(call{command: "ADD", pod: s})).Must(t)
		s.result = out
		var result struct{ CNIVersion string }
		assert.Must(t, json.Unmarshal(out, &result))
		got[m.version] = result.CNIVersion
		m.del(s)
	}
	assert.Deep(t, "", map[string]string{"0.3.1": "0.3.1", "0.4.0": "0.4.0", "1.0.0": "1.0.0", "1.1.0": "1.1.0"}, got)
}

// TestPortmap: where nftables does not work, host ports are those of the plugin portmap.
func TestPortmap(t *testing.T) {
	m := newMachine(t)
	m.plugins, m.backend = chainPlugins(t), "iptables"
	plain := m.sandbox("plain")
	m.add(plain)
	s := m.sandbox("c1", hostports.Mapping{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"})
	m.add(s)
	serve(t, s, "tcp", ":80")
	assert.Equal(t, "c1", ask(t, m.home, "tcp4", "127.0.0.1:8080"), "the host port")
	_, err := m.run(call{command: "CHECK", pod: s})
	assert.Must(t, err)
	m.del(s)
	if got := output(t, "iptables", "-w", "-t", "nat", "-S"); strings.Contains(got, "8080") {
		t.Errorf("rules are left:\n%s", got)
	}
	m.plugins = "/nonexistent"
	_, err = m.run(call{command: "ADD", pod: m.sandbox("c2", s.mappings...)})
	assert.True(t, err != nil && strings.Contains(err.Error(), "the plugin portmap is in none of the folders /nonexistent/"), "without the plugin: %v", err)
	m.del(plain)
	m.wantNothing("after DEL")
}

// TestForgottenUDP: what came for a UDP port before it led to the pod leads there now.
func TestForgottenUDP(t *testing.T) {
	m := newMachine(t)
	first := m.sandbox("first")
	m.add(first) // so that the kernel follows connections
	m.del(first)
	client, err := net.Dial("udp4", "198.18.7.1:8053")
	assert.Must(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := m.sandbox("c1", hostports.Mapping{HostPort: 8053, ContainerPort: 53, Protocol: "udp"})
	warm := m.sandbox("warm", hostports.Mapping{HostPort: 8054, ContainerPort: 53, Protocol: "udp"})
	m.add(warm) // the tables are there, and connections are followed
	_, err = client.Write([]byte("lost"))
	assert.Must(t, err)
	m.add(s)
	var server net.PacketConn
	at(t, s, func() (err error) {
		server, err = net.ListenPacket("udp4", ":53")
		return err
	})
	defer func() { _ = server.Close() }()
	var once sync.Once
	stop := context.AfterFunc(ctx, func() { once.Do(func() { _ = server.Close() }) })
	defer stop()
	_, _ = client.Write([]byte("found")) // it may tell that the one before was refused
	assert.Must(t, assert.ErrorOf(client.Write([]byte("found"))))
	buffer := make([]byte, 10)
	n, _, err := server.ReadFrom(buffer)
	if err != nil || string(buffer[:n]) != "found" {
		t.Errorf("received %q: %v", buffer[:n], err)
	}
}
