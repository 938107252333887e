package stats

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/lifecycle"
)

const (
	// rateSpan is how long a reading is kept to compare later ones with: a rate
	// over less would jump about, and many who ask must not shorten it.
	rateSpan = 10 * time.Second
	// rateForgotten is when nobody has asked for something any more.
	rateForgotten = 10 * time.Minute
)

// rates tell how fast a counter grows, from what was read when somebody asked before.
type rates struct {
	mu sync.Mutex
	of map[string]rate
}

type rate struct{ older, newer sample }

type sample struct {
	at    time.Time
	value uint64
}

// nanoCores is the use of CPU in billionths of a core, of something that has used
// nanos of CPU time; nil when it was never read before.
func (r *rates) nanoCores(name string, at time.Time, nanos uint64) *uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := sample{at, nanos}
	known, found := r.of[name]
	switch {
	case !found || nanos < known.newer.value: // a new life of the same name
		r.forget(at)
		r.of[name] = rate{older: now, newer: now}
		return nil
	case at.Sub(known.newer.at) >= rateSpan:
		known = rate{older: known.newer, newer: now}
	}
	r.of[name] = known
	passed := at.Sub(known.older.at)
	if passed <= 0 {
		return nil
	}
	return new(uint64(float64(nanos-known.older.value) / passed.Seconds()))
}

// forget drops what nobody has asked for. Called with mu held.
func (r *rates) forget(now time.Time) {
	for name, known := range r.of {
		if now.Sub(known.newer.at) > rateForgotten {
			delete(r.of, name)
		}
	}
}

var (
	ofClaim = []string{"namespace", "persistentvolumeclaim"}

	claimCapacity   = desc("kubelet_volume_stats_capacity_bytes", "Capacity in bytes of the volume", ofClaim...)
	claimAvailable  = desc("kubelet_volume_stats_available_bytes", "Number of available bytes in the volume", ofClaim...)
	claimUsed       = desc("kubelet_volume_stats_used_bytes", "Number of used bytes in the volume", ofClaim...)
	claimInodes     = desc("kubelet_volume_stats_inodes", "Maximum number of inodes in the volume", ofClaim...)
	claimInodesFree = desc("kubelet_volume_stats_inodes_free", "Number of free inodes in the volume", ofClaim...)
	claimInodesUsed = desc("kubelet_volume_stats_inodes_used", "Number of used inodes in the volume", ofClaim...)

	logSize = desc("kubelet_container_log_filesystem_used_bytes", "Bytes used by the container's logs on the filesystem.", "uid", "namespace", "pod", "container")
)

// Describe is that of an unchecked collector: what there is depends on the pods.
func (s *Stats) Describe(chan<- *prometheus.Desc) {}

// Collect writes what /metrics has of logs and claims.
func (s *Stats) Collect(out chan<- prometheus.Metric) {
	all, claims := map[types.UID]*v1.Pod{}, map[types.UID]*v1.Pod{}
	for _, pod := range s.Pods.List() {
		all[pod.UID] = pod
		if pod.Status.Phase == v1.PodRunning {
			s.writeLogs(out, pod)
		}
		if slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return isClaim(&v) }) {
			claims[pod.UID] = pod
		}
	}
	s.volumes.forget(all)
	written := map[statsapi.PVCReference]bool{} // several pods may use one claim
	for _, list := range s.sizes(context.Background(), claims, isClaim) {
		for _, v := range list {
			if !written[*v.stats.PVCRef] {
				written[*v.stats.PVCRef] = true
				writeClaim(out, v.stats)
			}
		}
	}
}

func writeClaim(out chan<- prometheus.Metric, v statsapi.VolumeStats) {
	for d, value := range map[*prometheus.Desc]*uint64{
		claimCapacity: v.CapacityBytes, claimAvailable: v.AvailableBytes, claimUsed: v.UsedBytes,
		claimInodes: v.Inodes, claimInodesFree: v.InodesFree, claimInodesUsed: v.InodesUsed,
	} {
		out <- gauge(d, float64(deref(value)), v.PVCRef.Namespace, v.PVCRef.Name)
	}
}

func (s *Stats) writeLogs(out chan<- prometheus.Metric, pod *v1.Pod) {
	for _, c := range lifecycle.AllContainers(pod) {
		if logs := filesIn(filepath.Join(s.Pods.LogDir(pod), c.Name)); logs.inodes > 0 {
			out <- gauge(logSize, float64(logs.bytes), string(pod.UID), pod.Namespace, pod.Name, c.Name)
		}
	}
}
