package devices

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/cadvisor/lib/utils/sysfs"
	"google.golang.org/protobuf/testing/protocmp"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/numa"
)

// A-DEV-13, A-DEV-14: others are told of the devices that a container has, once for each NUMA node, and of all
// that are healthy.
func TestGivenAndUsable(t *testing.T) {
	n := begin(t, folder(t), nil)
	f := n.plugin("a.sock", nil, "g0")
	list := devicesOf(api.Healthy, "g0", "g1", "g2")
	list[0].Topology = &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: 1}, {ID: 0}}}
	list[2].Health = api.Unhealthy
	f.lists <- list
	n.await(gpu, 3, 2)
	pod := podOf("p", "2")
	if got := n.Allocate(t.Context(), pod); got.Refusal != nil {
		t.Fatal(got.Refusal)
	}
	on := func(node int64) *podresources.TopologyInfo {
		return &podresources.TopologyInfo{Nodes: []*podresources.NUMANode{{ID: node}}}
	}
	given := []*podresources.ContainerDevices{
		{ResourceName: gpu, DeviceIds: []string{"g0"}, Topology: on(0)}, {ResourceName: gpu, DeviceIds: []string{"g0"}, Topology: on(1)},
		{ResourceName: gpu, DeviceIds: []string{"g1"}},
	}
	assert.Deep(t, "A-DEV-13: given", given, n.Given("p", "main"), protocmp.Transform())
	assert.Empty(t, n.Given("p", "other"), "A-DEV-13: a container without devices has")
	usable := []*podresources.ContainerDevices{given[1], given[0], given[2]} // the plugin's order of nodes
	assert.Deep(t, "A-DEV-14: usable", usable, n.Usable(), protocmp.Transform())
	f.server.Stop()
	n.await(gpu, 3, 0)
	got := n.Usable()
	assert.True(t, len(got) == 0, "A-DEV-14: without their plugin %v can be used", got)
}

// recorded is a /sys that was recorded on another machine. What cAdvisor's library has to be
// told below which folder is overridden; the rest gets whole paths.
type recorded struct {
	sysfs.SysFs // the real one
	root        string
}

func (r recorded) path(parts ...string) string {
	return filepath.Join(append([]string{r.root, "devices/system"}, parts...)...)
}

func (r recorded) GetNodesPaths() ([]string, error) { return filepath.Glob(r.path("node/node*[0-9]")) }

func (r recorded) GetCPUsPaths(of string) ([]string, error) {
	if !strings.HasPrefix(of, r.root) {
		of = r.path("cpu")
	}
	return filepath.Glob(of + "/cpu*[0-9]")
}

func (r recorded) IsCPUOnline(dir string) bool {
	text, err := os.ReadFile(r.path("cpu/online"))
	if err != nil {
		return false
	}
	online, err := cpuset.Parse(strings.TrimSpace(string(text)))
	id, notNumber := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "cpu"))
	return err == nil && notNumber == nil && online.Contains(id)
}

func (r recorded) GetCaches(cpu int) ([]os.FileInfo, error) {
	entries, err := os.ReadDir(r.path("cpu", fmt.Sprintf("cpu%d", cpu), "cache"))
	if err != nil {
		return nil, err
	}
	var list []os.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

func (r recorded) GetCacheInfo(cpu int, cache string) (c sysfs.CacheInfo, err error) {
	value := func(name string) int {
		text, readErr := os.ReadFile(r.path("cpu", fmt.Sprintf("cpu%d", cpu), "cache", cache, name))
		if readErr != nil {
			err = readErr
			return 0
		}
		if name == "shared_cpu_list" {
			shared, parseErr := cpuset.Parse(strings.TrimSpace(string(text)))
			if parseErr != nil {
				err = parseErr
			}
			return shared.Size()
		}
		n, numberErr := strconv.Atoi(strings.TrimSpace(string(text)))
		if numberErr != nil {
			err = numberErr
		}
		return n
	}
	return sysfs.CacheInfo{Id: value("id"), Level: value("level"), Cpus: value("shared_cpu_list"), Type: "Unified"}, err
}

// unpack makes the files of a recording: lines of a path and its text.
func unpack(t *testing.T, file string) recorded {
	t.Helper()
	data := assert.Get(os.ReadFile(file)).Must(t)
	root := t.TempDir()
	for line := range strings.Lines(string(data)) {
		name, text, isFile := strings.Cut(strings.TrimSpace(line), " = ")
		if !isFile {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.Must(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
	}
	return recorded{SysFs: sysfs.NewRealSysFs(), root: root}
}

// A-NUMA-1: where CPUs, caches, memory and huge pages are is what the kernel says.
func TestRecorded(t *testing.T) {
	got := assert.Get(read(unpack(t, "testdata/two-nodes.sys"))).Must(t)
	pages := []numa.HugePages{{PageBytes: 2 << 20, Count: 16}}
	want := numa.Layout{Nodes: []numa.Node{
		{
			MemoryBytes: 4096 << 10, HugePages: pages, Distances: []uint64{10, 21},
			CPUs: []numa.CPU{{ID: 0}, {ID: 1, Core: 1, UncoreCache: 1}, {ID: 4}, {ID: 5, Core: 1, UncoreCache: 1}},
		},
		{
			// CPU 7 is offline: cAdvisor takes the cache of the core that has lost it for the node's.
			ID: 1, MemoryBytes: 8192 << 10, Distances: []uint64{21, 10},
			CPUs: []numa.CPU{{ID: 2, Core: 2, Socket: 1, UncoreCache: 2}, {ID: 3, Core: 3, Socket: 1, UncoreCache: 1}, {ID: 6, Core: 2, Socket: 1, UncoreCache: 2}},
		},
	}}
	assert.Deep(t, "layout", want, got)
}

// A machine that doesn't say where its CPUs are is an error, not one without CPUs.
func TestUnknown(t *testing.T) {
	l, err := read(recorded{SysFs: sysfs.NewRealSysFs(), root: t.TempDir()})
	assert.True(t, err != nil, "layout %v", l)
}

// This machine has the CPUs that the kernel has online.
func TestRead(t *testing.T) {
	l := assert.Get(ReadLayout()).Must(t)
	text := assert.Get(os.ReadFile("/sys/devices/system/cpu/online")).Must(t)
	assert.Equal(t, strings.TrimSpace(string(text)), l.CPUSet().String(), "CPUs")
}
