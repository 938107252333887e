package stats

import (
	"context"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// addStorage adds what pods have on disk: logs, volumes, and all that counts as
// their ephemeral storage. fs is the file system of pods and logs.
func (s *Stats) addStorage(ctx context.Context, list []statsapi.PodStats, sandboxes []sandbox, fs *statsapi.FsStats) {
	pods := map[types.UID]*v1.Pod{}
	for _, pod := range s.Pods.List() {
		pods[pod.UID] = pod
	}
	s.volumes.forget(pods)
	sizes := s.sizes(ctx, pods, isMeasured)
	for i := range list {
		pod := pods[sandboxes[i].uid()]
		if pod == nil { // the runtime alone knows it
			pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: list[i].PodRef.Name, Namespace: list[i].PodRef.Namespace, UID: sandboxes[i].uid(),
			}}
		}
		s.addPodStorage(&list[i], pod, fs, sizes[pod.UID])
	}
}

func (s *Stats) addPodStorage(stats *statsapi.PodStats, pod *v1.Pod, fs *statsapi.FsStats, volumes []sizedVolume) {
	var all space
	for i := range stats.Containers {
		c := &stats.Containers[i]
		logs := filesIn(filepath.Join(s.Pods.LogDir(pod), c.Name))
		c.Logs = on(fs, logs.at, logs.bytes, logs.inodes)
		all.add(logs)
		if c.Rootfs != nil {
			all.add(space{at: c.Rootfs.Time.Time, bytes: deref(c.Rootfs.UsedBytes), inodes: deref(c.Rootfs.InodesUsed)})
		}
	}
	all.add(filesIn(s.Pods.LogDir(pod)))
	all.add(file(filepath.Join(s.Pods.Dir, string(pod.UID), "etc-hosts")))
	for _, v := range volumes {
		stats.VolumeStats = append(stats.VolumeStats, v.stats)
		if v.ephemeral {
			all.add(space{at: v.stats.Time.Time, bytes: deref(v.stats.UsedBytes), inodes: deref(v.stats.InodesUsed)})
		}
	}
	stats.EphemeralStorage = on(fs, all.at, all.bytes, all.inodes)
}

// space is what something takes on disk, as seen at a time.
type space struct {
	at            time.Time
	bytes, inodes uint64
}

func (s *space) add(more space) {
	s.bytes += more.bytes
	s.inodes += more.inodes
	if more.at.After(s.at) {
		s.at = more.at
	}
}

// filesIn are the files of a folder, without folders; none if it isn't there.
func filesIn(dir string) space {
	all := space{at: time.Now()}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			all.add(file(filepath.Join(dir, entry.Name())))
		}
	}
	return all
}

func deref(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}
