package numa_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/managerstate"
	"github.com/lifepod/lifepod/roster/numa"
)

// scenario is what the managers of the kubelet of 1.36.3 were seen to do with pods that come
// and go on a machine that there isn't, both chosen at random.
type scenario struct {
	Layout          machine           `json:"layout"`
	CPUOptions      map[string]string `json:"cpuOptions"`
	ReservedCPUs    string            `json:"reservedCPUs"`
	Reserved        int               `json:"reserved"`
	Policy          string            `json:"policy"`
	Scope           string            `json:"scope"`
	TopologyOptions map[string]string `json:"topologyOptions"`
	Error           string            `json:"error"` // of the start
	Ops             []op              `json:"ops"`
	CPUFile         string            `json:"cpuFile"` // at the end
	MemoryFile      string            `json:"memoryFile"`
}

type op struct {
	UID       string      `json:"uid"`
	Remove    bool        `json:"remove"`
	Init      []container `json:"init"`
	Main      []container `json:"main"`
	Burstable bool        `json:"burstable"`
	Reason    string      `json:"reason"` // of the refusal
	Message   string      `json:"message"`
	CPUs      string      `json:"cpus"` // who has what then
	Memory    string      `json:"memory"`
	// Nodes has, of each NUMA node, its assignments, and its group with the MiB that are free
	// there. How they are split within a group may differ: the kubelet's depends on pods
	// that it has refused, too.
	Nodes string `json:"nodes"`
}

type container struct {
	Name    string `json:"n"`
	CPU     string `json:"c"`
	MiB     int64  `json:"m"`
	Huge    int64  `json:"h"` // pages of 2 MiB
	Sidecar bool   `json:"s"`
}

type machine struct {
	Sockets        int    `json:"sockets"`
	NodesPerSocket int    `json:"nodesPerSocket"` // 0: a node has two sockets
	CoresPerNode   int    `json:"coresPerNode"`
	Threads        int    `json:"threads"` // of a core
	Interleaved    bool   `json:"interleaved"`
	UncoresPerNode int    `json:"uncoresPerNode"`
	MiB            uint64 `json:"mib"`
	Huge           uint64 `json:"huge"`
}

func (m machine) layout() numa.Layout {
	count := m.Sockets * m.NodesPerSocket
	if m.NodesPerSocket == 0 {
		count = m.Sockets / 2
	}
	var l numa.Layout
	for id := range count {
		n := numa.Node{ID: id, MemoryBytes: m.MiB << 20}
		if m.Huge > 0 {
			n.HugePages = []numa.HugePages{{PageBytes: 2 << 20, Count: m.Huge}}
		}
		for other := range count {
			n.Distances = append(n.Distances, map[bool]uint64{true: 10, false: map[bool]uint64{true: 20, false: 30}[other^id == 1]}[other == id])
		}
		for core := range m.CoresPerNode {
			n.CPUs = append(n.CPUs, m.core(id, core, count*m.CoresPerNode)...)
		}
		l.Nodes = append(l.Nodes, n)
	}
	return l
}

// core are the CPUs of one core.
func (m machine) core(node, core, cores int) []numa.CPU {
	index, socket := node*m.CoresPerNode+core, node*2+core*2/m.CoresPerNode
	if m.NodesPerSocket > 0 {
		socket = node / m.NodesPerSocket
	}
	var list []numa.CPU
	for thread := range m.Threads {
		c := numa.CPU{ID: index + thread*cores, Core: index, Socket: socket, UncoreCache: socket}
		if m.Interleaved {
			c.ID, c.Core = index*m.Threads+thread, index*m.Threads
		}
		if m.UncoresPerNode > 0 {
			c.UncoreCache = node*m.UncoresPerNode + core*m.UncoresPerNode/m.CoresPerNode
		}
		list = append(list, c)
	}
	return list
}

func (o op) pod() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: o.UID, Namespace: "d", UID: types.UID(o.UID)}}
	for _, c := range o.Init {
		p.Spec.InitContainers = append(p.Spec.InitContainers, c.spec(o.Burstable))
	}
	for _, c := range o.Main {
		p.Spec.Containers = append(p.Spec.Containers, c.spec(o.Burstable))
	}
	return p
}

func (c container) spec(burstable bool) v1.Container {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(c.CPU), v1.ResourceMemory: *resource.NewQuantity(c.MiB<<20, resource.BinarySI)}
	if c.Huge > 0 {
		list["hugepages-2Mi"] = *resource.NewQuantity(c.Huge<<21, resource.BinarySI)
	}
	out := v1.Container{Name: c.Name, Resources: v1.ResourceRequirements{Requests: list, Limits: list}}
	if burstable {
		out.Resources.Limits = nil
	}
	if c.Sidecar {
		out.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	}
	return out
}

// resources are those of the scenario's node before any pod.
func (s scenario) resources() (r *numa.Resources, err error) {
	layout := s.Layout.layout()
	r = &numa.Resources{}
	topologyOptions, err := numa.ParseOptions(s.TopologyOptions)
	if err != nil {
		return nil, err
	}
	if r.Topology, err = numa.NewPolicy(s.Policy, s.Scope, topologyOptions, layout); err != nil {
		return nil, err
	}
	options, err := numa.ParseCPUOptions(s.CPUOptions, numa.CPUGates{Alpha: true, Beta: true})
	if err != nil {
		return nil, err
	}
	reserved, err := cpuset.Parse(s.ReservedCPUs)
	if err != nil {
		return nil, err
	}
	if r.CPUs, err = numa.NewStaticCPUs(layout, reserved, s.Reserved, options); err != nil {
		return nil, err
	}
	memoryReserved := numa.ReservedMemory{}
	for _, id := range layout.NodeIDs() {
		memoryReserved[id] = map[v1.ResourceName]uint64{v1.ResourceMemory: 64 << 20}
	}
	if r.Memory, err = numa.NewStaticMemory(layout, memoryReserved); err != nil {
		return nil, err
	}
	return r, r.Check()
}

// shownCPUs and shownMemory are the states as scenarios have them.
func shownCPUs(s numa.CPUState) string {
	var list []string
	for uid, of := range s.Given {
		for name, set := range of {
			list = append(list, fmt.Sprintf("%s/%s=%s", uid, name, set))
		}
	}
	slices.Sort(list)
	return s.Shared.String() + ";" + strings.Join(list, " ")
}

func shownMemory(s numa.MemoryState) (who, nodes string) {
	var list []string
	for uid, of := range s.Given {
		for name, blocks := range of {
			for _, b := range blocks {
				list = append(list, fmt.Sprintf("%s/%s=%s:%d%v", uid, name, b.Type, b.Size>>20, b.NUMAAffinity))
			}
		}
	}
	slices.Sort(list)
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(s.Nodes)) {
		free := map[v1.ResourceName]uint64{}
		for _, cell := range s.Nodes[id].Cells {
			for name, table := range s.Nodes[cell].MemoryMap {
				free[name] += table.Free >> 20
			}
		}
		parts = append(parts, fmt.Sprint(s.Nodes[id].NumberOfAssignments, s.Nodes[id].Cells, free))
	}
	return strings.Join(list, " "), strings.Join(parts, " ")
}

func readScenarios(t *testing.T) []scenario {
	t.Helper()
	data := assert.Get(os.ReadFile(cmp.Or(os.Getenv("SCENARIOS"), "testdata/kubelet.jsonl"))).Must(t)
	var list []scenario
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s scenario
		assert.Must(t, json.Unmarshal(lines.Bytes(), &s))
		list = append(list, s)
	}
	return list
}

// play lets the pods of a scenario come and go.
func (s scenario) play(t *testing.T, r *numa.Resources) {
	t.Helper()
	for i, o := range s.Ops {
		var refusal numa.Refusal
		if o.Remove {
			r.Release(types.UID(o.UID))
		} else if _, err := r.Admit(o.pod()); err != nil {
			refusal = *numa.RefusalOf(err)
		}
		if want := (numa.Refusal{Reason: o.Reason, Message: o.Message}); refusal != want { // A-NUMA-2, A-NUMA-7, A-NUMA-9
			t.Fatalf("step %d: refused %v, by the kubelet %v", i, refusal, want)
		}
		if got := shownCPUs(r.CPUs.State()); got != o.CPUs { // A-NUMA-1, A-NUMA-3, A-NUMA-5, A-NUMA-6, A-NUMA-8
			t.Fatalf("step %d (-kubelet +lifepod):\n%s", i, gocmp.Diff(o.CPUs, got))
		}
		who, nodes := shownMemory(r.Memory.State())
		if diff := gocmp.Diff([]string{o.Memory, o.Nodes}, []string{who, nodes}); diff != "" { // A-NUMA-10, A-NUMA-12, A-NUMA-13
			t.Fatalf("step %d (-kubelet +lifepod):\n%s", i, diff)
		}
	}
}

// Whatever comes, everybody has the same as with the kubelet, or is refused with the same
// words, and either goes on with the state of the other.
func TestAsTheKubelet(t *testing.T) {
	for i, s := range readScenarios(t) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r, err := s.resources()
			if err != nil || s.Error != "" && len(s.Ops) == 0 {
				assert.Require(t, err != nil && s.Error != "", "error %v, the kubelet's %q", err, s.Error)
				return
			}
			s.play(t, r)
			s.compareFiles(t, r)
		})
	}
}

// compareFiles goes on with the kubelet's state files, and with ours. The order of a
// container's blocks is any.
func (s scenario) compareFiles(t *testing.T, r *numa.Resources) {
	t.Helper()
	kubelet, own := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"cpu_manager_state": s.CPUFile, "memory_manager_state": s.MemoryFile} {
		assert.Must(t, os.WriteFile(filepath.Join(kubelet, name), []byte(text), 0o600))
	}
	assert.Must(t, errors.Join(managerstate.WriteCPUs(own, "static", r.CPUs.State()), managerstate.WriteMemory(own, "Static", r.Memory.State())))
	for _, dir := range []string{kubelet, own} {
		again := assert.Get(s.resources()).Must(t)
		ofCPUs := assert.Get(managerstate.ReadCPUs(dir, "static")).Must(t)
		ofMemory := assert.Get(managerstate.ReadMemory(dir, "Static")).Must(t)
		who, nodes := shownMemory(r.Memory.State())
		whoRead, nodesRead := shownMemory(ofMemory)
		if who != whoRead || nodes != nodesRead || shownCPUs(ofCPUs) != shownCPUs(r.CPUs.State()) {
			t.Errorf("A-NUMA-14: read from %s: %s %s %s", dir, shownCPUs(ofCPUs), whoRead, nodesRead)
		}
		err := cmp.Or(again.CPUs.Restore(ofCPUs), again.Memory.Restore(ofMemory))
		assert.True(t, (err == nil) == (s.Error == ""), "A-NUMA-15: it goes on with error %v, the kubelet with %q", err, s.Error)
	}
}
