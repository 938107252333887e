package nodes

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/sim/live"
)

// PathAnnotation is where a Node says at which path its usage is, which metrics-server 0.9 heeds: all nodes
// have one address and port.
const PathAnnotation = "metrics.k8s.io/resource-metrics-path"

func UsagePath(node string) string { return "/metrics/resource/" + node }

// Meter says what nodes and their pods use.
type Meter struct {
	Pods  *live.Pods
	Speed float64 // at which they live; 0: 1
	Log   *slog.Logger

	mu    sync.Mutex
	nodes map[string]*measuredNode
}

type measuredNode struct {
	name    string
	pods    func() []*v1.Pod // as the API server has them
	since   time.Time        // it was added
	counted counter
}

// Add adds a node, whose pods are as the API server has them.
func (m *Meter) Add(name string, pods func() []*v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.nodes == nil {
		m.nodes = map[string]*measuredNode{}
	}
	m.nodes[name] = &measuredNode{name: name, pods: pods, since: time.Now()}
}

// Remove ends what Add began: the node can't be asked.
func (m *Meter) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.nodes, name)
}

// WhichNode refuses the path of a server of one node.
func (m *Meter) WhichNode() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this is the API of many nodes: ask for "+UsagePath("NODE")+", as the annotation "+PathAnnotation+" of each Node says", http.StatusBadRequest)
	})
}

// OfNode answers what the node that the path names and its pods use.
func (m *Meter) OfNode() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		n := m.nodes[r.PathValue("node")]
		m.mu.Unlock()
		if n == nil {
			http.Error(w, "there is no simulated node "+r.PathValue("node")+" here", http.StatusNotFound)
			return
		}
		measure := func(context.Context) (*statsapi.Summary, error) { return m.usage(n), nil }
		stats.ResourceHandler(measure, m.Log).ServeHTTP(w, r)
	})
}

// usage is that of a node: of its pods, and so much of its own that it is not nothing.
func (m *Meter) usage(n *measuredNode) *statsapi.Summary {
	const ownMilliCPU, ownBytes = 10, 64 << 20
	now := time.Now()
	s := &statsapi.Summary{}
	bytes, containers := int64(ownBytes), map[string]time.Duration{}
	for _, pod := range n.pods() {
		one := m.podUsage(pod, now)
		if len(one.Containers) == 0 {
			continue
		}
		s.Pods = append(s.Pods, one)
		bytes += int64(*one.Memory.WorkingSetBytes) //nolint:gosec // a sum of what scenarios say
		for i := range one.Containers {
			c := &one.Containers[i]
			containers[one.PodRef.UID+" "+c.Name+" "+c.StartTime.Format(time.RFC3339Nano)] = time.Duration(*c.CPU.UsageCoreNanoSeconds) //nolint:gosec // as above
		}
	}
	cpu := n.counted.add(containers) + now.Sub(n.since)/1000*ownMilliCPU
	s.Node = statsapi.NodeStats{NodeName: n.name, StartTime: metav1.NewTime(n.since), CPU: cpuOf(cpu, now), Memory: memoryOf(bytes, now)}
	return s
}

// counter is the CPU time that the containers of a node have taken, which never falls. What one takes after it was asked
// for the last time is not counted.
type counter struct {
	mu   sync.Mutex
	sum  time.Duration
	last map[string]time.Duration // by instance of a container
}

func (c *counter) add(now map[string]time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	for instance, cpu := range now {
		c.sum += max(0, cpu-c.last[instance])
	}
	c.last = now
	return c.sum
}

// podUsage is that of a pod as the API server has it; without containers nothing of it runs.
func (m *Meter) podUsage(pod *v1.Pod, now time.Time) statsapi.PodStats {
	s := statsapi.PodStats{PodRef: statsapi.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}}
	var cpu time.Duration
	var bytes int64
	started := startsOf(pod)
	for _, used := range m.Pods.Usage(pod.UID) {
		since, known := started[used.Container]
		if !known { // nobody was told yet
			continue
		}
		// A container that lives faster uses as many CPUs, for so much less time.
		took := time.Duration(float64(used.CPU) / cmp.Or(m.Speed, 1))
		cpu, bytes = cpu+took, bytes+used.MemoryBytes
		s.Containers = append(s.Containers, statsapi.ContainerStats{
			Name: used.Container, StartTime: since, CPU: cpuOf(took, now), Memory: memoryOf(used.MemoryBytes, now),
		})
	}
	s.CPU, s.Memory = cpuOf(cpu, now), memoryOf(bytes, now)
	return s
}

// startsOf are when the containers of a pod were started that run, by name.
func startsOf(pod *v1.Pod) map[string]metav1.Time {
	started := map[string]metav1.Time{}
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, c := range list {
			if c.State.Running != nil {
				started[c.Name] = c.State.Running.StartedAt
			}
		}
	}
	return started
}

func cpuOf(cpu time.Duration, at time.Time) *statsapi.CPUStats {
	return &statsapi.CPUStats{Time: metav1.NewTime(at), UsageCoreNanoSeconds: new(uint64(cpu))} //nolint:gosec // not negative
}

func memoryOf(bytes int64, at time.Time) *statsapi.MemoryStats {
	return &statsapi.MemoryStats{Time: metav1.NewTime(at), WorkingSetBytes: new(uint64(bytes))} //nolint:gosec // not negative
}
