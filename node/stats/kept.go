package stats

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/lifecycle"
)

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
