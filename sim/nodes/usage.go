package nodes

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/node/stats"
)

// PathAnnotation is where a Node says at which path its usage is, which metrics-server 0.9 heeds: all nodes
// have one address and port.
const PathAnnotation = "metrics.k8s.io/resource-metrics-path"

func UsagePath(node string) string { return "/metrics/resource/" + node }

// whichNode refuses the path of a server of one node.
func whichNode(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "this is the API of many nodes: ask for "+UsagePath("NODE")+", as the annotation "+PathAnnotation+" of each Node says", http.StatusBadRequest)
}

// usageOf answers what the node that the path names and its pods use.
func (a *API) usageOf(w http.ResponseWriter, r *http.Request) {
	nodes, name := a.known(), r.PathValue("node")
	at := slices.IndexFunc(nodes, func(n *member) bool { return n.name == name })
	if at < 0 {
		http.Error(w, "there is no simulated node "+name+" here", http.StatusNotFound)
		return
	}
	measure := func(context.Context) (*statsapi.Summary, error) { return a.config.usage(nodes[at]), nil }
	stats.ResourceHandler(measure, a.config.Log).ServeHTTP(w, r)
}

// usage is that of a node: of its pods, and so much of its own that it is not nothing.
func (c *APIConfig) usage(n *member) *statsapi.Summary {
	const ownMilliCPU, ownBytes = 10, 64 << 20
	now := time.Now()
	s := &statsapi.Summary{}
	bytes, containers := int64(ownBytes), map[string]time.Duration{}
	for _, pod := range n.list() {
		one := c.podUsage(pod, now)
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
	cpu := n.used.add(containers) + now.Sub(n.since)/1000*ownMilliCPU
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
func (c *APIConfig) podUsage(pod *v1.Pod, now time.Time) statsapi.PodStats {
	s := statsapi.PodStats{PodRef: statsapi.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}}
	var cpu time.Duration
	var bytes int64
	started := startsOf(pod)
	for _, used := range c.Pods.Usage(pod.UID) {
		since, known := started[used.Container]
		if !known { // nobody was told yet
			continue
		}
		// A container that lives faster uses as many CPUs, for so much less time.
		took := time.Duration(float64(used.CPU) / cmp.Or(c.Speed, 1))
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
