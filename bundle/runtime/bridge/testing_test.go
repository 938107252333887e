package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// The test binary is the plugin itself when asPlugin is set.
const asPlugin = "LIFEPOD_BRIDGE_TEST_AS_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		Main()
		return
	}
	os.Exit(run(m))
}

// run has a folder for what is built, which goes with the tests.
func run(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "lifepod-bridge-test-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(built) }()
	return m.Run()
}

var built string

const bridgeName = "lptest0"

// machine is a network namespace with nothing in it, in which plugins are called. It
// ends with its thread, to which the test is locked.
type machine struct {
	t       testing.TB
	home    ns.NetNS
	dataDir string
	backend string
	version string
	plugins string // the folder of plugins; empty for none but this one
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	runtime.LockOSThread() // for good
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	home := assert.Get(ns.GetCurrentNS()).Must(t)
	t.Cleanup(func() { _ = home.Close() })
	lo := assert.Get(netlink.LinkByName("lo")).Must(t)
	assert.Must(t, netlink.LinkSetUp(lo))
	return &machine{t: t, home: home, dataDir: filepath.Join(t.TempDir(), "ipam"), backend: nftables, version: "1.1.0"}
}

// sandbox is a pod's network namespace, and what the runtime says of the pod.
type sandbox struct {
	ns.NetNS
	id, uid  string
	mappings []hostports.Mapping
	result   json.RawMessage // of its ADD
}

func (m *machine) sandbox(id string, mappings ...hostports.Mapping) *sandbox {
	m.t.Helper()
	n := assert.Get(ns.TempNetNS()).Must(m.t)
	m.t.Cleanup(func() { _ = n.Close() })
	return &sandbox{NetNS: n, id: id, uid: "uid-" + id, mappings: mappings}
}

// path is one that the plugin's process can open.
func (s *sandbox) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.Fd()) }

// ipam is the section of the configuration.
func (m *machine) ipam() map[string]any {
	return map[string]any{
		"type": "lifepod-ipam", "dataDir": m.dataDir, "subnet": "198.18.7.0/24",
		"routes": []map[string]any{{"dst": "0.0.0.0/0"}},
	}
}

// call is one call of a plugin: its program, with what else is in its environment and
// its configuration.
type call struct {
	command string
	pod     *sandbox
	program string         // this one, if it is empty
	netns   *string        // the pod's, if it is nil
	config  map[string]any // more of the configuration
}

// prepare is the process of a call.
func (m *machine) prepare(c call) *exec.Cmd {
	m.t.Helper()
	config := map[string]any{
		"cniVersion": m.version, "name": "test", "type": "lifepod-bridge", "bridge": bridgeName, "ipam": m.ipam(),
	}
	if m.backend != "" {
		config["hostPorts"] = m.backend
	}
	if c.pod.mappings != nil {
		config["runtimeConfig"] = map[string]any{"portMappings": c.pod.mappings}
	}
	if c.pod.result != nil && c.command != "ADD" {
		config["prevResult"] = c.pod.result
	}
	maps.Copy(config, c.config)
	text := assert.Get(json.Marshal(config)).Must(m.t)
	netns := c.pod.path()
	if c.netns != nil {
		netns = *c.netns
	}
	if c.program == "" {
		c.program = "/proc/self/exe"
	}
	cmd := exec.Command(c.program)
	cmd.Env = []string{
		asPlugin + "=1", "PATH=" + os.Getenv("PATH"), "CNI_COMMAND=" + c.command, "CNI_CONTAINERID=" + c.pod.id,
		"CNI_NETNS=" + netns, "CNI_IFNAME=eth0", "CNI_PATH=" + m.plugins + "/",
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=p;K8S_POD_UID=" + c.pod.uid,
	}
	cmd.Stdin = bytes.NewReader(text)
	return cmd
}

// run calls a plugin; after an error, its output is the error's.
func (m *machine) run(c call) ([]byte, error) {
	m.t.Helper()
	cmd := m.prepare(c)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s of %s: %w %s%s", c.command, c.pod.id, err, out, &stderr)
	}
	return out, nil
}

func (m *machine) add(s *sandbox) *current.Result {
	m.t.Helper()
	out := assert.Get(m.run(call{command: "ADD", pod: s})).Must(m.t)
	return s.keep(m.t, out)
}

// keep notes the result of an ADD.
func (s *sandbox) keep(t testing.TB, out []byte) *current.Result {
	t.Helper()
	s.result = out
	r := assert.Get(current.NewResult(out)).Must(t)
	return assert.Get(current.GetResult(r)).Must(t)
}

func (m *machine) del(s *sandbox) {
	m.t.Helper()
	assert.Must(m.t, assert.ErrorOf(m.run(call{command: "DEL", pod: s})))
}

// at calls in another network namespace, on a thread of its own.
func at(t testing.TB, where ns.NetNS, do func() error) {
	t.Helper()
	assert.Must(t, where.Do(func(ns.NetNS) error { return do() }))
}

// output is what a program prints here.
func output(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	assert.Require(t, err == nil, "%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	return string(out)
}

// chainPlugins is the folder of the plugins whose place this one has taken, built once.
func chainPlugins(t testing.TB) string {
	t.Helper()
	building.Do(func() {
		cmd := exec.Command("go", "build", "-o", built,
			"github.com/containernetworking/plugins/plugins/main/bridge",
			"github.com/containernetworking/plugins/plugins/meta/portmap",
			"github.com/lifepod/lifepod/bundle/runtime/cmd/lifepod-ipam")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the plugins of the chain: %v: %s", err, out)
		}
	})
	return built
}

var building sync.Once

// chainAdd adds a pod as lifepod did before: by bridge, lifepod-ipam and portmap.
func (m *machine) chainAdd(s *sandbox) *current.Result {
	m.t.Helper()
	out, err := m.run(call{command: "ADD", pod: s, program: filepath.Join(m.plugins, "bridge"),
		config: map[string]any{"type": "bridge", "isGateway": true, "hairpinMode": true}})
	assert.Must(m.t, err)
	out, err = m.run(call{command: "ADD", pod: s, program: filepath.Join(m.plugins, "portmap"),
		config: map[string]any{"type": "portmap", "backend": m.backend, "prevResult": json.RawMessage(out)}})
	assert.Must(m.t, err)
	return s.keep(m.t, out)
}

// ports are what is plugged into the bridge.
func (m *machine) ports() []string {
	m.t.Helper()
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return nil
	}
	links := assert.Get(netlink.LinkList()).Must(m.t)
	var names []string
	for _, link := range links {
		if link.Attrs().MasterIndex == bridge.Attrs().Index {
			names = append(names, link.Attrs().Name)
		}
	}
	return names
}

// attached are the containers that the store has attachments of.
func (m *machine) attached() string {
	m.t.Helper()
	files := assert.Get(filepath.Glob(filepath.Join(m.dataDir, "pods", "*"))).Must(m.t)
	var found []string
	for _, file := range files {
		text := assert.Get(os.ReadFile(file)).Must(m.t)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		var record struct {
			Attachments []struct{ Container string }
		}
		if json.Unmarshal(line, &record) != nil {
			continue // written aside by one that was killed
		}
		for _, a := range record.Attachments {
			found = append(found, a.Container)
		}
	}
	return strings.Join(found, " ")
}

// rules are those of host ports, of both families, without the chains' own.
func (m *machine) rules() string {
	m.t.Helper()
	out := assert.Get(exec.Command("nft", "list", "ruleset").Output()).Must(m.t)
	var found strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " comment ") {
			found.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return found.String()
}

// wantNothing fails if something of a pod is left that would be in another's way.
func (m *machine) wantNothing(when string) {
	m.t.Helper()
	if ports, attached, rules := m.ports(), m.attached(), m.rules(); len(ports) > 0 || attached != "" || rules != "" {
		m.t.Errorf("%s: ports of the bridge %q, attachments %q, rules %q; want none", when, ports, attached, rules)
	}
}
