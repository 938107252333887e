package register

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
)

// kubeadm and the scheduler parse the version semantically; skew policies compare
// major and minor.
func TestVersion(t *testing.T) {
	got := assert.Get(version.ParseSemantic(Version)).Must(t)
	level := version.MustParseSemantic("v1.37.2")
	assert.True(t, got.Major() == 1 && got.Minor() == 37 && !got.LessThan(level) && !level.LessThan(got), "%s is not equal to %s", got, level)
}

func TestDeclaredFeatures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		gates   map[string]bool
		runtime *runtimeapi.RuntimeFeatures
		want    []string
	}{
		{"what lifepod does", FeaturesOn(), nil, []string{"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"}},
		{"gate off", map[string]bool{}, nil, nil},
		{"the runtime cannot", map[string]bool{"UserNamespacesHostNetworkSupport": true}, nil, nil},
		{"the runtime can", map[string]bool{"UserNamespacesHostNetworkSupport": true},
			&runtimeapi.RuntimeFeatures{UserNamespacesHostNetwork: true}, []string{"UserNamespacesHostNetworkSupport"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := assert.Get(declaredFeatures(tt.gates, tt.runtime)).Must(t)
			assert.Deep(t, "", tt.want, got)
		})
	}
}

// Static pods are held against the Node before it is registered, and without a cluster.
func TestFeaturesOfANodeThatIsNotRegistered(t *testing.T) {
	node := assert.Get(newNode(Config{Name: "node-1", FeatureGates: FeaturesOn()}, Machine{})).Must(t)
	got := node.Node().Status.DeclaredFeatures
	assert.True(t, slices.Contains(got, "RestartAllContainersOnContainerExits"), "declared features %q", got)
}

func TestImages(t *testing.T) {
	images := &fakeRuntime{images: []*runtimeapi.Image{
		{Id: "a", Size: 5, RepoTags: []string{"small:1"}},
		{Id: "b", Size: 9, RepoTags: []string{"t1", "t2", "t3"}, RepoDigests: []string{"d1", "d2", "d3"}},
		{Id: "c", Size: 9},
	}}
	for most, want := range map[int32][]v1.ContainerImage{
		-1: {{Names: []string{}, SizeBytes: 9}, {Names: []string{"d1", "d2", "d3", "t1", "t2"}, SizeBytes: 9}, {Names: []string{"small:1"}, SizeBytes: 5}},
		1:  {{Names: []string{}, SizeBytes: 9}},
		0:  nil,
	} {
		got := assert.Get(imagesOn(context.Background(), images, most)).Must(t)
		assert.Require(t, len(got) == len(want), "at most %d: %d images, want %d", most, len(got), len(want))
		for i := range got {
			diff := cmp.Diff(strings.Join(want[i].Names, " "), strings.Join(got[i].Names, " "))
			assert.True(t, diff == "" && got[i].SizeBytes == want[i].SizeBytes, "at most %d: image %d = %v, want %v", most, i, got[i], want[i])
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		host  string
		ips   string
		named []string
		want  string
		err   string
	}{
		{name: "default route", host: "node-1", want: "10.0.0.7 node-1"},
		{name: "IPv6 family", host: "node-1", ips: "::", want: "fd00::7 node-1"},
		{name: "IPv4 family", host: "node-1", ips: "0.0.0.0", want: "10.0.0.7 node-1"},
		{name: "given", host: "node-1", ips: "fd00::7", want: "fd00::7 node-1"},
		{name: "dual stack", host: "node-1", ips: "fd00::7, 10.0.0.7", want: "fd00::7 10.0.0.7 node-1"},
		{name: "name is an address", host: "192.0.2.1", want: "192.0.2.1 192.0.2.1"},
		{name: "by DNS, own addresses only, IPv4 first", host: "node-1", named: []string{"192.0.2.9", "fd00::7", "10.0.0.7"}, want: "10.0.0.7 node-1"},
		{name: "by DNS, the other family", host: "node-1", named: []string{"192.0.2.9", "fd00::7"}, want: "fd00::7 node-1"},
		{name: "of another machine", host: "node-1", ips: "10.9.9.9", err: "node IP 10.9.9.9: no network interface of this machine has it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ips := assert.Get(ParseNodeIPs(tt.ips)).Must(t)
			f := testFinder(tt.host, ips...)
			if tt.named != nil {
				f.lookup = func(context.Context, string, string) (out []net.IP, err error) {
					for _, ip := range tt.named {
						out = append(out, net.ParseIP(ip))
					}
					return out, nil
				}
			}
			addresses, err := f.addresses(context.Background())
			if tt.err != "" {
				assert.Require(t, err != nil && err.Error() == tt.err, "error %v, want %s", err, tt.err)
				return
			}
			assert.Must(t, err)
			var got []string
			for i, a := range addresses {
				assert.True(t, i >= len(addresses)-1 || a.Type == v1.NodeInternalIP, "address %d is a %s", i, a.Type)
				got = append(got, a.Address)
			}
			diff := cmp.Diff(tt.want, strings.Join(got, " "))
			assert.True(t, diff == "" && addresses[len(addresses)-1].Type == v1.NodeHostName, "(-want +got):\n%s", diff)
		})
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parse func() error
		want  string // empty: no error
	}{
		{"labels", func() error {
			got, err := ParseLabels("a=b, node.kubernetes.io/x=1,topology.kubernetes.io/zone=z,example.com/y=")
			want := map[string]string{"a": "b", "node.kubernetes.io/x": "1", "topology.kubernetes.io/zone": "z", "example.com/y": ""}
			assert.Deep(t, "labels", want, got)
			return err
		}, ""},
		{"label without value", func() error { _, err := ParseLabels("a"); return err }, `node label "a": want key=value`},
		{"label of the control plane", func() error { _, err := ParseLabels("node-role.kubernetes.io/x="); return err },
			`node label "node-role.kubernetes.io/x": a node may not set it itself`},
		{"label in k8s.io", func() error { _, err := ParseLabels("foo.k8s.io/x=1"); return err }, "a node may not set it itself"},
		{"label value", func() error { _, err := ParseLabels("a=!"); return err }, `node label a="!"`},
		{"taints", func() error {
			got, err := ParseTaints("a=b:NoSchedule,c:NoExecute,d=:PreferNoSchedule")
			want := []v1.Taint{{Key: "a", Value: "b", Effect: "NoSchedule"}, {Key: "c", Effect: "NoExecute"}, {Key: "d", Effect: "PreferNoSchedule"}}
			assert.Deep(t, "taints", want, got)
			return err
		}, ""},
		{"taint without effect", func() error { _, err := ParseTaints("a=b"); return err }, `taint "a=b": want key=value:effect`},
		{"taint effect", func() error { _, err := ParseTaints("a=b:Never"); return err }, `effect "Never": want NoSchedule`},
		{"taint twice", func() error { _, err := ParseTaints("a=b:NoSchedule,a=c:NoSchedule"); return err }, "another one has its key and effect"},
		{"node IP", func() error { _, err := ParseNodeIPs("10.0.0.300"); return err }, `node IP "10.0.0.300": "10.0.0.300" is not an IP address`},
		{"node IPs of one family", func() error { _, err := ParseNodeIPs("10.0.0.1,10.0.0.2"); return err }, "must contain either a single IP or a dual-stack pair"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.parse()
			if tt.want == "" && err == nil {
				return
			}
			assert.True(t, err != nil && tt.want != "" && strings.Contains(err.Error(), tt.want), "error %v, want %q", err, tt.want)
		})
	}
}

func TestReadMachine(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"proc/meminfo":                                          "MemTotal:       16384 kB\nMemFree: 1 kB\nSwapTotal: 2048 kB\n",
		"proc/sys/kernel/random/boot_id":                        "boot\n",
		"proc/device-tree/system-id":                            "system\x00",
		"etc/machine-id":                                        "machine\n",
		"usr/lib/os-release":                                    "NAME=Debian\nPRETTY_NAME=\"Debian 13\"\n",
		"sys/devices/system/cpu/online":                         "0-2,4\n",
		"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3\n",
	} {
		file = filepath.Join(root, file)
		assert.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		assert.Must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	got := assert.Get(readMachine(root, root)).Must(t)
	assert.True(t, got.StorageBytes > 0 && got.Kernel != "", "storage %d, kernel %q", got.StorageBytes, got.Kernel)
	want := Machine{
		CPUs: cpuset.New(0, 1, 2, 4), MemoryBytes: 16 << 20, SwapBytes: 2 << 20,
		HugePages: []HugePages{{PageBytes: 2 << 20, Count: 3}},
		MachineID: "machine", SystemUUID: "system", BootID: "boot", OSImage: "Debian 13",
		StorageBytes: got.StorageBytes, Kernel: got.Kernel,
	}
	assert.Deep(t, "", want, got, cmp.Comparer(cpuset.CPUSet.Equals))
	assert.NoError(t, assert.ErrorOf(ReadMachine("/")), "this machine")
}

// Of a Node that the API server has taken as it was sent there is one, else what was sent is held against the next.
func TestWrote(t *testing.T) {
	node := func(features ...string) *v1.Node { return &v1.Node{Status: v1.NodeStatus{DeclaredFeatures: features}} }
	for name, test := range map[string]struct {
		left, sent *v1.Node
		one        bool
	}{"taken": {node("A"), node("A"), true}, "not taken": {node(), node("A"), false}} {
		var p patches
		if p.wrote(test.left, test.sent); p.left != test.left || (p.sent == p.left) != test.one || differs(p.sent, test.sent) {
			t.Errorf("%s: left %v, sent %v", name, p.left.Status, p.sent.Status)
		}
	}
}
